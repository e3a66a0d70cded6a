"""The stages of the pipeline as DVC knows them: which wait for which, and which are stale."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dvc.config import Config
from dvc.repo import Repo


@contextmanager
def repository() -> Iterator[Repo]:
    """The DVC project of this folder, which waits for its lock and logs to the standard error stream."""
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
    """Every stage after those that it waits for, with these; and those that are stale, by what DVC says of each.

    A stage that always runs counts as current: whoever asks has just run `compose`, and its output says what changed.
    """
    before: dict[str, set[str]] = {}
    stale: set[str] = set()
    with repository() as repo, repo.lock:
        waiting = {stage: list(repo.index.graph.successors(stage)) for stage in repo.index.graph}
        for stage in _in_order(waiting):
            before[stage.addressing] = {other.addressing for other in waiting[stage]}
            if before[stage.addressing] & stale or (not stage.always_changed and stage.changed()):
                stale.add(stage.addressing)
    return before, stale


def all_before(stages: Iterable[str], before: Mapping[str, set[str]]) -> set[str]:
    """The stages that some stages wait for, directly or not."""
    found: set[str] = set()
    todo = [*stages]
    while todo:
        new = before[todo.pop()] - found
        found |= new
        todo += new
    return found


def _in_order(waiting: Mapping[Any, list[Any]]) -> Iterator[Any]:
    """Every key after those it waits for."""
    seen: set[Any] = set()

    def visit(key: Any) -> Iterator[Any]:
        if key not in seen:
            seen.add(key)
            for before in waiting[key]:
                yield from visit(before)
            yield key

    for key in waiting:
        yield from visit(key)
