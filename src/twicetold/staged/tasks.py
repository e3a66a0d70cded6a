"""Tasks: each a function from files to files, with a mark that it is done; and `Work`, which does those that are not.

A mark says what the files were made of, by a digest of inputs and settings. So a task is done again only if something
that it depends on has changed, or if a file is not there. Files and marks are written under temporary names, then
renamed, the mark last: whatever is killed, what is marked is whole.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from twicetold.files import TEMPORARY
from twicetold.staged.plan import FOLDERS, Plan

EVERY = 10.0  # seconds between two lines on progress
PAUSES = (0.1, 1.0, 5.0)  # seconds
VERSION = 8  # of what the stages write: another one makes all of them anew
MARK = "done"  # suffix of marks


class Task(NamedTuple):
    """A task.

    Attributes:
        stage: one of `stages.STAGES`.
        name: within the stage.
        digest: of all that it depends on.
    """

    stage: str
    name: str
    digest: str


Progress: TypeAlias = Callable[[str], None]
Launch: TypeAlias = Callable[[Path, Sequence[Task]], Iterator[Task]]


@dataclass(frozen=True)
class Done:
    """Content of a mark.

    Args:
        digest: of all that the files depend on.
        result: in numbers and words.
        sizes: bytes of each file that was written, by its kind.
    """

    digest: str
    result: dict[str, Any]
    sizes: dict[str, int]


def marked(plan: Plan, stage: str, name: str) -> Done:
    """Return the content of the mark of a task.

    Raises:
        OSError: if there is none.
        ValueError or TypeError: if it is damaged.
    """
    return Done(**json.loads(plan.file(stage, name, MARK).read_text(encoding="utf-8")))


def done(plan: Plan, task: Task) -> Done | None:
    """Return the content of the mark of a task; None if the task is to be done."""
    with suppress(OSError, ValueError, TypeError):
        mark = marked(plan, task.stage, task.name)
        if mark.digest != task.digest:
            return None
        for kind, size in mark.sizes.items():
            if plan.file(task.stage, task.name, kind).stat().st_size != size:
                return None
        return mark
    return None


def digest(*parts: object) -> str:
    """Return the digest of the inputs of a task: numbers, texts, lists of them, digests of other tasks."""
    text = json.dumps([VERSION, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Work:
    """Runs stages.

    Args:
        launch: does tasks.
        progress: is called with a line on progress.
    """

    launch: Launch
    progress: Progress

    def run(self, plan: Plan, tasks: Sequence[Task]) -> dict[str, dict[str, Any]]:
        """Do what is to be done of a stage.

        Returns:
            What each task found, by its name.
        """
        stage = tasks[0].stage if tasks else ""
        marks = {task.name: done(plan, task) for task in tasks}
        pending = [task for task in tasks if marks[task.name] is None]
        began = last = time.monotonic()
        if pending:
            before = f", {len(tasks) - len(pending)} of {len(tasks)} done before" if len(pending) < len(tasks) else ""
            self.progress(f"{stage}: {len(pending)} task{'s' if len(pending) > 1 else ''}{before}")
            plan.write()
        for count, task in enumerate(self.launch(plan.folder, pending) if pending else (), 1):
            marks[task.name] = _mark(plan, task)
            now = time.monotonic()
            if now - last > EVERY and count < len(pending):
                left = (now - began) / count * (len(pending) - count)
                self.progress(f"{stage}: {count} of {len(pending)}, {now - began:.0f} s, {left:.0f} s left")
                last = now
        ended = {name: mark for name, mark in marks.items() if mark is not None}
        if missing := marks.keys() - ended.keys():
            raise OSError(f"{stage}: the files of the task {min(missing)} are not there: run the same command again")
        return {name: mark.result for name, mark in ended.items()}


def _mark(plan: Plan, task: Task) -> Done | None:
    """Return the content of the mark of a task that has just ended; other machines may see it a moment later."""
    for pause in PAUSES:
        if (mark := done(plan, task)) is not None:
            return mark
        time.sleep(pause)
    return done(plan, task)


def tidy(out: Path, stages: Path) -> None:
    """Delete what a kill left half written."""
    for folder in (*(out / each for each in FOLDERS.values()), *stages.glob("*/")):
        for path in folder.glob(f"{TEMPORARY}*"):
            path.unlink(missing_ok=True)
