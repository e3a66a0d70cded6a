"""The stages of the grid as DVC knows them: which there are, what each waits for, and which are stale."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dvc.config import Config
from dvc.repo import Repo
from networkx import descendants, topological_sort


@contextmanager
def repository() -> Iterator[Repo]:
    """Provide the DVC project of this folder, which waits for its lock and logs to the standard error stream."""
    logger = logging.getLogger("dvc")
    logger.handlers = [logging.StreamHandler()]
    logger.setLevel(logging.INFO)
    with Repo(_wait_for_lock=True) as repo:
        yield repo


def do_without_git() -> bool:
    """Have DVC work in a folder that is in no Git repository, as an archive of a release is; it would refuse.

    Returns:
        Whether that had to be set, in `.dvc/config.local`.
    """
    here = Path.cwd()
    if any((folder / ".git").exists() for folder in (here, *here.parents)):
        return False
    config = Config(f"{here / '.dvc'}")
    if config["core"].get("no_scm"):
        return False
    with config.edit("local") as local:
        local.setdefault("core", {})["no_scm"] = True
    return True


def graph() -> tuple[dict[str, set[str]], set[str]]:
    """Every stage of the grid, with all that it waits for, directly or not; and those that are stale, as DVC says.

    Stages of other pipeline files run when they are called by name, by who has the data.
    A stage that always runs counts as current: whoever asks has just run `compose`, and its output says what changed.
    """
    before: dict[str, set[str]] = {}
    stale: set[str] = set()
    with repository() as repo, repo.lock:
        waits = repo.index.graph  # an edge leads to what a stage waits for
        for stage in reversed(list(topological_sort(waits))):
            name = stage.addressing
            if ":" in name:  # pipelines/matcher/dvc.yaml:learn_matcher
                continue
            before[name] = {other.addressing for other in descendants(waits, stage)}
            if before[name] & stale or (not stage.always_changed and stage.changed()):
                stale.add(name)
    return before, stale
