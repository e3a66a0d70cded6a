"""One parent run for all jobs of a sweep, which shows the best of them.

The parent is found by its tag `sweep`: the first job makes it and the others share it. It is closed after each job,
because no job knows whether it is the last.
"""

from math import isnan

from twicetold.tracking.run import Run
from twicetold.tracking.store import Settings, open_store, warn_untracked


def sweep_parent(settings: Settings, *, experiment: str, sweep_id: str, name: str) -> str | None:
    """The id of the sweep's parent run, made on the first call.

    Args:
        settings: whether and where.
        experiment: the dataset's name. A sweep over several datasets has one parent in each.
        sweep_id: the same for all jobs of the sweep, for example its folder.
        name: the parent's name.

    Returns:
        The id to give to `start(parent=…)`, or None where nothing is tracked.
    """
    if not settings.enabled:
        return None
    try:
        store = open_store(settings, experiment)
        found = store.client.search_runs([store.experiment_id], f'tags.sweep = "{sweep_id}"')
        if found:
            return str(found[0].info.run_id)
        tags = {"origin": settings.origin, "sweep": sweep_id}
        made = store.client.create_run(store.experiment_id, tags=tags, run_name=name)
        store.client.set_terminated(made.info.run_id)
    except Exception as error:
        warn_untracked(f"make the parent run of sweep {sweep_id}", error)
        return None
    return str(made.info.run_id)


def report_to_sweep(
    settings: Settings, parent: str | None, *, experiment: str, child: Run, primary: str, value: float
) -> None:
    """Log a job's result in the sweep's parent run, which shows the best value so far and its run.

    The parent's metric `best/<primary>` has one step for each job. Higher is better, as for every primary metric.

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
