"""One parent run for all jobs of a sweep, which shows the best of them when the sweep has ended.

It is made before the first job and found again by its tag `sweep`, by a later call of the same sweep. It runs as long
as a call does.
"""

from collections.abc import Mapping

from twicetold.printable import without_passwords
from twicetold_lab.tracking.pages import PARENT
from twicetold_lab.tracking.run import ERROR
from twicetold_lab.tracking.store import Settings, Store, insist, open_store, tracking


def sweep_parent(settings: Settings, *, experiment: str, sweep_id: str, name: str) -> str | None:
    """Return the id of the sweep's parent run, made on the first call, and set to running on each.

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
        return insist(lambda: _find_or_make(store, {"origin": settings.origin, "sweep": sweep_id}, name))
    return None


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


def end_sweep(settings: Settings, parent: str | None, *, experiment: str, status: str) -> None:
    """End the sweep's parent run, unless it has ended.

    Args:
        settings: whether and where.
        parent: what `sweep_parent` returned.
        experiment: the dataset's name.
        status: `FINISHED`, `FAILED` or `KILLED`.
    """
    if not settings.enabled or parent is None:
        return
    with tracking(f"end the parent run {parent}"):
        store = open_store(settings, experiment)
        if store.client.get_run(parent).info.status == "RUNNING":
            store.client.set_terminated(parent, status)


def describe_sweep(
    settings: Settings,
    parent: str | None,
    *,
    experiment: str,
    primary: str,
    best: str,
    texts: Mapping[str, str],
) -> None:
    """Log what came out of a sweep in its parent run; a later call replaces it.

    Args:
        settings: whether and where.
        parent: what `sweep_parent` returned.
        experiment: the dataset's name.
        primary: the primary metric's name; the highest is the best.
        best: what differs in the best run, for the tag `best`.
        texts: file name -> content.
    """
    if not settings.enabled or parent is None:
        return
    with tracking(f"describe the sweep in its parent run {parent}"):
        store = open_store(settings, experiment)
        store.client.set_tag(parent, "best", best)
        of_sweep, metric = f"tags.`{PARENT}` = '{parent}'", f"best/{primary}"
        ranked = store.client.search_runs([store.experiment_id], of_sweep, order_by=[f"metrics.`{metric}` DESC"])
        if ranked and metric in ranked[0].data.metrics:
            store.client.set_tag(parent, "best_run", ranked[0].info.run_id)
            store.client.log_metric(parent, metric, ranked[0].data.metrics[metric])
        for name, text in texts.items():
            store.client.log_text(parent, without_passwords(text), name)


def _find_or_make(store: Store, tags: Mapping[str, str], name: str) -> str:
    found = store.client.search_runs([store.experiment_id], f'tags.sweep = "{tags["sweep"]}"')
    if found:
        store.client.update_run(found[0].info.run_id, status="RUNNING")
        return str(found[0].info.run_id)
    return str(store.client.create_run(store.experiment_id, tags=tags, run_name=name).info.run_id)
