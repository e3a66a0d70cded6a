"""One parent run for all jobs of a sweep, with the best of them at a glance.

The parent is found by its tag `sweep`, so the first job makes it and the others share it. It is closed between jobs,
because no job knows whether it is the last.
"""

from collections.abc import Mapping
from math import isnan
from typing import Any

from twicetold.tracking.run import Run
from twicetold.tracking.store import Settings, Store, open_store, warn_untracked


def sweep_parent(
    settings: Settings, *, experiment: str, sweep_id: str, name: str, tags: Mapping[str, str] | None = None
) -> str | None:
    """The id of the sweep's parent run, made on the first call.

    Args:
        settings: whether and where.
        experiment: the dataset's name. A sweep over several datasets has one parent in each.
        sweep_id: what all jobs of the sweep share, say the name of its folder.
        name: the parent's name.
        tags: further tags.

    Returns:
        The id to give to `start(parent=…)`, or None where nothing is tracked.
    """
    if not settings.enabled:
        return None
    try:
        store = open_store(settings, experiment)
        found = _parents(store, sweep_id)
        if found:
            return str(found[0].info.run_id)
        every = {"origin": settings.origin, **(tags or {}), "sweep": sweep_id}
        made = store.client.create_run(store.experiment_id, tags=every, run_name=name)
        store.client.set_terminated(made.info.run_id)
    except Exception as error:
        warn_untracked(f"make the parent run of sweep {sweep_id}", error)
        return None
    return str(made.info.run_id)


def report_to_sweep(
    settings: Settings, parent: str | None, *, experiment: str, child: Run, primary: str, value: float
) -> None:
    """Tell the sweep's parent how a job did: it shows the best value so far and the run that has it.

    The parent's metric `best/<primary>` has one step for each job, so that its curve shows how the sweep went. Higher
    is better, as for every primary metric.

    Args:
        settings: whether and where.
        parent: what `sweep_parent` returned.
        experiment: the dataset's name.
        child: the job's run.
        primary: the primary metric's name.
        value: its value on validation; NaN is never best.
    """
    if not settings.enabled or parent is None or child.id is None:
        return
    name = f"best/{primary}"
    try:
        store = open_store(settings, experiment)
        earlier = [metric.value for metric in store.client.get_metric_history(parent, name)]
        best = max((v for v in earlier if not isnan(v)), default=float("-inf"))
        if value > best:
            store.client.set_tag(parent, "best_run", child.id)
        if not isnan(value) or earlier:
            store.client.log_metric(parent, name, value if value > best else best, step=len(earlier))
        store.client.set_terminated(parent)
    except Exception as error:
        warn_untracked(f"report to the sweep's parent run {parent}", error)


def _parents(store: Store, sweep_id: str) -> list[Any]:
    return list(store.client.search_runs([store.experiment_id], f'tags.sweep = "{sweep_id}"'))
