"""Tracking of trainings and evaluations with MLflow.

The pipeline only writes: no stage's output depends on the store, and everything in `mlruns/` can be made again. A run
is found again by its fingerprint (see `twicetold.fingerprint`), so no file holds a run id. If the store is broken or
cannot be reached, there is one warning, and the work goes on untracked.

Only this package imports MLflow, and only when something is tracked.
"""

import getpass
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from twicetold_lab.tracking.notes import COMMAND, command
from twicetold_lab.tracking.pages import DESCRIPTION, PARENT, runs_page, sweep_page, view_of
from twicetold_lab.tracking.repository import commit_now
from twicetold_lab.tracking.run import ERROR, MAX_TAG, TrackedRun, shorten
from twicetold_lab.tracking.store import Settings, Store, existing, insist, open_store, tracking
from twicetold_lab.tracking.sweep import describe_sweep, end_lost_runs, end_sweep, sweep_parent

FAMILY = "model"  # a tag, and a parameter, since charts of several runs have parameters alone for their axes

__all__ = [
    "Settings",
    "TrackedRun",
    "address_of_sweep",
    "addresses",
    "describe_sweep",
    "end_lost_runs",
    "end_sweep",
    "reopen",
    "start",
    "sweep_parent",
]


@contextmanager
def start(
    settings: Settings,
    *,
    experiment: str,
    name: str,
    tags: Mapping[str, str],
    params: Mapping[str, Any],
    parent: str | None = None,
    resumed: bool = False,
) -> Iterator[TrackedRun]:
    """Start a run, which is closed when the block ends: FINISHED, FAILED after an error, KILLED after Ctrl-C.

    Args:
        settings: whether and where.
        experiment: the dataset's name; created if it does not exist.
        name: the run's name, `<model>-<seed>`.
        tags: data, model, seed, fingerprint. `origin` and `git` are added.
        params: the learning keys, nested.
        parent: id of the sweep's parent run, see `sweep_parent`.
        resumed: whether training resumes from a checkpoint; then its unfinished run is continued, if there is one.
    """
    run = _unfinished(settings, experiment, tags["fingerprint"], parent) if resumed and settings.enabled else None
    tags = {COMMAND: command(), **tags}
    run = run or _create(settings, experiment=experiment, name=name, tags=tags, params=params, parent=parent)
    with run.ending():
        yield run


@contextmanager
def reopen(
    settings: Settings, *, experiment: str, name: str, tags: Mapping[str, str], params: Mapping[str, Any]
) -> Iterator[TrackedRun]:
    """The run with the same fingerprint, or a new one if the store has none (it was deleted, or off in training).

    Of several, those of the pipeline are preferred, then finished ones, then the newest. The status of a run that is
    found does not change, even if the evaluation fails.

    Args:
        settings: whether and where.
        experiment: the dataset's name.
        name: the run's name.
        tags: must hold `fingerprint`.
        params: the learning keys; logged only for a new run.

    Raises:
        ValueError: if `tags` has no fingerprint.
    """
    if "fingerprint" not in tags:
        raise ValueError(f"a run is found again by its tag `fingerprint`, but only {sorted(tags)} are given")
    known = _find(settings, experiment, tags["fingerprint"]) if settings.enabled else TrackedRun(None, None, name=name)
    if known is not None:
        yield known
        return
    with _create(settings, experiment=experiment, name=name, tags=tags, params=params, parent=None).ending() as run:
        yield run


def addresses(settings: Settings, experiments: Iterable[str] | None = None) -> dict[str, str]:
    """Return the pages of experiments, by name; those that the store does not have, or all if it fails, are left out.

    A page opens on the leaderboard, or on the sweeps where there is no other run.

    Args:
        settings: whether and where.
        experiments: their names; None for all that trainings have described.
    """
    if not settings.enabled:
        return {}
    with suppress(Exception):  # of every kind, see `warn_untracked`; nothing is lost
        client = existing(settings)
        if experiments is None:
            described = [one for one in client.search_experiments() if DESCRIPTION in one.tags]
            stored = {one.name: one for one in sorted(described, key=lambda one: one.name)}
        else:
            stored = {name: client.get_experiment_by_name(name) for name in experiments}
        ids = {name: one.experiment_id for name, one in stored.items() if one is not None}
        views = {name: view_of(client, each) for name, each in ids.items()}
        return {name: runs_page(settings, each, view=views[name]) for name, each in ids.items()}
    return {}


def address_of_sweep(
    settings: Settings, parent: str | None, *, experiment: str, primary: str, params: Sequence[str]
) -> str | None:
    """Return the page of a sweep's runs, the best on validation first; None where nothing is tracked.

    Args:
        settings: whether and where.
        parent: what `sweep_parent` returned.
        experiment: the dataset's name.
        primary: the primary metric's name.
        params: the keys that were swept, which are the columns.
    """
    if not settings.enabled or parent is None:
        return None
    with tracking(f"make a page of the sweep {parent}"):
        return sweep_page(settings, open_store(settings, experiment), parent, primary=primary, params=params)
    return None


def _create(
    settings: Settings,
    *,
    experiment: str,
    name: str,
    tags: Mapping[str, str],
    params: Mapping[str, Any],
    parent: str | None,
) -> TrackedRun:
    if not settings.enabled:
        return TrackedRun(None, None, name=name)
    every = {"origin": settings.origin, **_provenance(), **tags}
    if parent is not None:
        every[PARENT] = parent
    every = {key: shorten(str(value), MAX_TAG) for key, value in every.items()}
    run = TrackedRun(None, None, name=name)
    with tracking(f"start the run {name}"):
        store = open_store(settings, experiment)
        made = insist(lambda: store.client.create_run(store.experiment_id, tags=every, run_name=name))
        run = TrackedRun(store, made.info.run_id, name=name)
    run.log_params({FAMILY: tags[FAMILY], **params} if FAMILY in tags else params)
    return run


def _find(settings: Settings, experiment: str, fingerprint: str) -> TrackedRun | None:
    """Return the run to reopen; an untracked one if the store fails; None if the store has no such run."""
    with tracking(f"find the run with fingerprint {fingerprint}"):
        store, runs = _runs_of(settings, experiment, fingerprint)
        # min() keeps the first of equals, and the newest come first
        best = min(
            runs, key=lambda run: (run.data.tags.get("origin") != "dvc", run.info.status != "FINISHED"), default=None
        )
        return None if best is None else _reopened(store, best)
    return TrackedRun(None, None)


def _unfinished(settings: Settings, experiment: str, fingerprint: str, parent: str | None) -> TrackedRun | None:
    """The newest unfinished run of a training, set to running, as a child of this sweep; None if there is none."""
    with tracking(f"go on with the run with fingerprint {fingerprint}"):
        store, runs = _runs_of(settings, experiment, fingerprint)
        cut = [run for run in runs if run.info.status != "FINISHED" and run.data.tags.get("origin") == settings.origin]
        if not cut:
            return None
        store.client.update_run(cut[0].info.run_id, status="RUNNING")
        if ERROR in cut[0].data.tags:
            store.client.delete_tag(cut[0].info.run_id, ERROR)
        if parent is not None:
            store.client.set_tag(cut[0].info.run_id, PARENT, parent)
        return _reopened(store, cut[0], params=cut[0].data.params)
    return TrackedRun(None, None)


def _reopened(store: Store, run: Any, params: Mapping[str, str] | None = None) -> TrackedRun:
    """Return a run of MLflow that is written to again."""
    models = run.outputs.model_outputs if run.outputs else []
    return TrackedRun(
        store,
        run.info.run_id,
        name=run.info.run_name,
        model_id=models[-1].model_id if models else None,
        earlier=frozenset(run.data.metrics),
        params=params,
    )


def _runs_of(settings: Settings, experiment: str, fingerprint: str) -> tuple[Store, list[Any]]:
    """Return the open store and its runs with this fingerprint, newest first."""
    store = open_store(settings, experiment)
    runs = store.client.search_runs(
        [store.experiment_id], f"tags.fingerprint = '{fingerprint}'", order_by=["attributes.start_time DESC"]
    )
    return store, list(runs)


def _provenance() -> dict[str, str]:
    """Return tags for the commit, and for the source and user that MLflow's pages show."""
    tags = {"mlflow.source.type": "LOCAL", "mlflow.source.name": Path(sys.argv[0]).name}
    with suppress(OSError, KeyError):  # a container without a user entry
        tags["mlflow.user"] = getpass.getuser()
    commit, changed = commit_now()
    if commit:
        tags |= {"git": commit + ("+dirty" if changed else ""), "mlflow.source.git.commit": commit}
    return tags
