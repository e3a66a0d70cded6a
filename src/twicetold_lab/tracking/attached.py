"""What is made of many runs at once, such as the report, as artifacts of each of them. No run is made for it.

A run is found by its name and a metric of test: of trainings of one name, it is the one that was reported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from twicetold_lab.tracking.store import Settings, existing, insist, warn_untracked

MARK = "attached"  # tag: hash of what was attached last, so that the same is written once
MOST_RUNS = 1000  # of an experiment, the newest


@dataclass(frozen=True)
class Attachment:
    """Texts for one run.

    Args:
        run: its name, `<model>-<seed>`.
        metric: of test.
        value: of the metric, which the run has if it is the one.
        files: path among its artifacts -> content.
    """

    run: str
    metric: str
    value: float
    files: Mapping[str, str]

    @property
    def mark(self) -> str:
        """Hash of the files."""
        return sha256(repr(sorted(self.files.items())).encode()).hexdigest()[:16]


def attach(settings: Settings, experiment: str, wanted: Sequence[Attachment]) -> bool:
    """Write texts to runs of an experiment; those that the store does not have are left out.

    Args:
        settings: whether and where.
        experiment: the dataset's name.
        wanted: what to write to which run.

    Returns:
        Whether the store can be written to: False where nothing is tracked, there is no store, or it failed.
    """
    if not settings.enabled:
        return False
    try:
        client = existing(settings)
    except FileNotFoundError:
        return False
    try:
        known = client.get_experiment_by_name(experiment)
        runs = client.search_runs([known.experiment_id], max_results=MOST_RUNS) if known is not None else []
        for each in wanted:
            found = [run for run in runs if _is(run, each)]
            # min() keeps the first of equals, and the newest come first
            run = min(found, key=lambda run: run.data.tags.get("origin") != "dvc", default=None)
            if run is not None and run.data.tags.get(MARK) != each.mark:
                _write(client, run.info.run_id, each)
    except Exception as error:  # of every kind, see `warn_untracked`
        warn_untracked(f"attach the report to runs of {experiment}", error)
        return False
    return True


def _is(run: Any, wanted: Attachment) -> bool:
    return bool(run.info.run_name == wanted.run and run.data.metrics.get(f"test/{wanted.metric}") == wanted.value)


def _write(client: Any, run_id: str, wanted: Attachment) -> None:
    for path, text in wanted.files.items():
        client.log_text(run_id, text, path)
    insist(lambda: client.set_tag(run_id, MARK, wanted.mark))
