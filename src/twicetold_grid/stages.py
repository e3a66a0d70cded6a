"""The stages of the pipeline as DVC knows them: which wait for which, and which are stale."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dvc.repo import Repo


@contextmanager
def repository() -> Iterator[Repo]:
    """The DVC project of this folder, which waits for its lock and logs to the standard error stream."""
    logger = logging.getLogger("dvc")
    logger.handlers = [logging.StreamHandler()]
    logger.setLevel(logging.INFO)
    with Repo(_wait_for_lock=True) as repo:
        yield repo


def graph() -> tuple[dict[str, set[str]], set[str]]:
    """Every stage after those that it waits for, with these; and those that are stale, by what DVC says of each."""
    before: dict[str, set[str]] = {}
    stale: set[str] = set()
    with repository() as repo, repo.lock:
        waiting = {stage: list(repo.index.graph.successors(stage)) for stage in repo.index.graph}
        for stage in _in_order(waiting):
            before[stage.addressing] = {other.addressing for other in waiting[stage]}
            if before[stage.addressing] & stale or stage.changed():
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
