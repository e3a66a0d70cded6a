"""The folder of the stages as whoever runs them sees it: what is done, what is to be done, what was found."""

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twicetold.files import TEMPORARY
from twicetold.staged.launch import Launch
from twicetold.staged.plan import DROPPED, Plan
from twicetold.staged.tasks import Done, Task, done

EVERY = 10.0  # seconds between two lines on progress
PAUSES = (0.1, 1.0, 5.0)  # seconds
Tell = Callable[[str], None]


@dataclass
class Work:
    """Runs stages.

    Args:
        launch: does tasks.
        tell: is called with a line on progress.
    """

    launch: Launch
    tell: Tell
    used: dict[str, dict[str, float]] = field(default_factory=dict)
    """By stage: tasks, seconds of processor time, peak bytes of a process, bytes that were written."""

    def run(self, plan: Plan, tasks: Sequence[Task]) -> dict[str, dict[str, Any]]:
        """Do what is to be done of a stage.

        Returns:
            What each task found, by its name.
        """
        stage = tasks[0].stage if tasks else ""
        marks = {task.name: done(plan, task) for task in tasks}
        waiting = [task for task in tasks if marks[task.name] is None]
        began = last = time.monotonic()
        if waiting:
            before = f", {len(tasks) - len(waiting)} of {len(tasks)} done before" if len(waiting) < len(tasks) else ""
            self.tell(f"{stage}: {len(waiting)} task{'s' if len(waiting) > 1 else ''}{before}")
            written = plan.write()
            waiting = [task._replace(plan=written) for task in waiting]
        for count, task in enumerate(self.launch(plan.folder, waiting) if waiting else (), 1):
            marks[task.name] = _mark(plan, task)
            now = time.monotonic()
            if now - last > EVERY and count < len(waiting):
                left = (now - began) / count * (len(waiting) - count)
                self.tell(f"{stage}: {count} of {len(waiting)}, {now - began:.0f} s, {left:.0f} s left")
                last = now
        found = {}
        for name, mark in marks.items():
            if mark is None:
                raise OSError(f"{stage}: the files of the task {name} are not there: run the same command again")
            found[name] = mark.found
        self._note(stage, [mark for mark in marks.values() if mark])
        return found

    def finished(self, plan: Plan, tasks: Iterable[Task]) -> bool:
        """Whether nothing is to be done."""
        return all(done(plan, task) for task in tasks)

    def _note(self, stage: str, marks: Sequence[Done]) -> None:
        if marks:
            self.used[stage] = {
                "tasks": len(marks),
                "cpu": round(sum(mark.cpu for mark in marks), 2),
                "peak": max(mark.peak for mark in marks),
                "bytes": sum(sum(mark.sizes.values()) for mark in marks),
            }


def _mark(plan: Plan, task: Task) -> Done | None:
    """What the mark of a task says that has just ended; other machines may see it a moment later."""
    for pause in PAUSES:
        if (mark := done(plan, task)) is not None:
            return mark
        time.sleep(pause)
    return done(plan, task)


def remove(plan: Plan, stage: str) -> None:
    """Delete the files of a stage that no later task needs."""
    shutil.rmtree(plan.folder / stage, ignore_errors=True)


def tidy(out: Path, stages: Path) -> None:
    """Delete what a kill left half written, and plans of earlier calls."""
    folders = (out, out / DROPPED, *stages.glob("*/"))
    leftovers = [path for folder in folders for path in folder.glob(f"{TEMPORARY}*")]
    for path in [*leftovers, *stages.glob("plan-*.json")]:
        path.unlink(missing_ok=True)
