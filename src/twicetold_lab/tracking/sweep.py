"""One parent run for all jobs of a sweep, which shows the best of them.

It is made before the first job and found again by its tag `sweep`, also by a later call of the same sweep. It is closed
after each job, because no job knows whether it is the last.

Jobs that end at the same time take turns: each reads what the others have reported before it writes.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from math import isnan
from pathlib import Path

from twicetold.files import one_at_a_time
from twicetold.printable import without_passwords
from twicetold_lab.tracking.pages import PARENT
from twicetold_lab.tracking.run import ERROR, TrackedRun
from twicetold_lab.tracking.store import Settings, Store, insist, open_store, tracking


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
    with tracking(f"make the parent run of sweep {sweep_id}"):
        store = open_store(settings, experiment)
        with _turn(settings):
            return insist(lambda: _find_or_make(store, {"origin": settings.origin, "sweep": sweep_id}, name))
    return None


def report_to_sweep(
    settings: Settings, parent: str | None, *, experiment: str, child: TrackedRun, primary: str, value: float
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
    with tracking(f"report to the sweep's parent run {parent}"):
        store = open_store(settings, experiment)
        with _turn(settings):
            insist(lambda: _report(store, parent, name, child.id, value))


def end_lost_runs(settings: Settings, parent: str | None, *, experiment: str) -> None:
    """End the runs of a sweep that no process works on any more, as KILLED: their processes were.

    Args:
        settings: whether and where.
        parent: what `sweep_parent` returned.
        experiment: the dataset's name.
    """
    if not settings.enabled or parent is None:
        return
    with tracking(f"end the lost runs of the sweep {parent}"):
        store = open_store(settings, experiment)
        of_sweep = f"tags.`{PARENT}` = '{parent}' AND attributes.status = 'RUNNING'"
        for run in store.client.search_runs([store.experiment_id], of_sweep):
            store.client.set_tag(run.info.run_id, ERROR, "its process was killed")
            store.client.set_terminated(run.info.run_id, "KILLED")


def describe_sweep(
    settings: Settings,
    parent: str | None,
    *,
    experiment: str,
    best: str,
    texts: Mapping[str, str],
    figures: Sequence[Path],
) -> None:
    """Log what came out of a sweep in its parent run; a later call replaces it.

    Args:
        settings: whether and where.
        parent: what `sweep_parent` returned.
        experiment: the dataset's name.
        best: what differs in the best run, for the tag `best`.
        texts: file name -> content.
        figures: files for the folder `figures`.
    """
    if not settings.enabled or parent is None:
        return
    with tracking(f"describe the sweep in its parent run {parent}"):
        store = open_store(settings, experiment)
        store.client.set_tag(parent, "best", best)
        for name, text in texts.items():
            store.client.log_text(parent, without_passwords(text), name)
        for figure in figures:
            store.client.log_artifact(parent, str(figure), "figures")


def _turn(settings: Settings) -> AbstractContextManager[None]:
    """One process at a time, among those that share the project's folder, as the jobs of a sweep do."""
    return one_at_a_time(settings.root / "mlruns" / ".sweeps.lock")


def _find_or_make(store: Store, tags: Mapping[str, str], name: str) -> str:
    found = store.client.search_runs([store.experiment_id], f'tags.sweep = "{tags["sweep"]}"')
    if found:
        return str(found[0].info.run_id)
    made = store.client.create_run(store.experiment_id, tags=tags, run_name=name)
    store.client.set_terminated(made.info.run_id)
    return str(made.info.run_id)


def _report(store: Store, parent: str, name: str, child: str | None, value: float) -> None:
    earlier = [metric.value for metric in store.client.get_metric_history(parent, name)]
    best = max((v for v in earlier if not isnan(v)), default=float("-inf"))
    if value > best:
        store.client.set_tag(parent, "best_run", child)
    if not isnan(value) or earlier:
        store.client.log_metric(parent, name, value if value > best else best, step=len(earlier))
    store.client.set_terminated(parent)
