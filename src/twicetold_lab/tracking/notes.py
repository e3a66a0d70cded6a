"""The description that MLflow's page of a run shows: what came out, of which command and data, and where it is.

Made from what was logged with the run, so that no stage has to say it: the metric that its training chose by, its
value on test with the interval that the evaluation wrote, and the folder that the files were logged from.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twicetold import layout
from twicetold.printable import without_passwords

BEST, TEST = "best/", "test/"
COMMAND = "command"  # tag: what trained the run
OURS = "**`"  # what these descriptions begin with


@dataclass(frozen=True)
class Note:
    """What is known of a run when it ends."""

    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    folder: Path | None
    """That its files were logged from."""
    intervals: Mapping[str, tuple[float, float]]
    """Metric of test -> ends of its 95 % interval."""

    def text(self) -> str:
        """As Markdown; empty if nothing came out."""
        primary = next((name.removeprefix(BEST) for name in self.metrics if name.startswith(BEST)), None)
        if primary is None:
            return ""
        rows = [
            self._measure(primary),
            f"- data: `{self.tags.get('data', 'unknown')}`",
            f"- trained by `{self.tags[COMMAND]}`" if COMMAND in self.tags else "",
            f"- folder: `{_from_here(self.folder)}`" if self.folder else "",
            "- model card: `evaluation/README.md` among the artifacts" if self.intervals else "",
        ]
        return "\n".join(row for row in rows if row) + "\n"

    def _measure(self, primary: str) -> str:
        validation = f"{self.metrics[BEST + primary]:.3f} on validation"
        if (value := self.metrics.get(TEST + primary)) is None:
            return f"{OURS}{primary}` {validation}**, not evaluated on test\n"
        ends = self.intervals.get(primary)
        interval = f" (95 % interval {ends[0]:.3f} to {ends[1]:.3f})" if ends else ""
        return f"{OURS}{primary}` {value:.3f} on test{interval}**, {validation}\n"


def command() -> str:
    """The command of this process, as a person would repeat it in the project's folder."""
    script = os.path.relpath(sys.argv[0]) if os.path.exists(sys.argv[0]) else sys.argv[0]  # noqa: PTH110
    return without_passwords(shlex.join(["python", script, *sys.argv[1:]]))


def _from_here(folder: Path) -> Path:
    """The path from the current folder, which the command is to be called in, where it lies below that."""
    folder, here = folder.resolve(), Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def intervals_in(folder: Path) -> Mapping[str, tuple[float, float]]:
    """The intervals that an evaluation wrote to a run folder; empty if it did not, or they cannot be read."""
    from twicetold_lab.runs.records import intervals_of, read_object  # imported here: it brings torch

    try:
        return intervals_of(read_object(folder / layout.SUMMARY))
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
