"""The description that MLflow's page of a run shows: what came out, of which command and data, and where it is.

Made from what was logged with the run, so that no stage has to say it: the metric that its training chose by, its
value on test with the interval that the evaluation wrote, and the folder that the files were logged from.

The parameters of a run are the few settings that matter; the artifact `config.yaml` has all of them.
"""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.printable import without_passwords

BEST, TEST = "best/", "test/"
COMMAND = "command"  # tag: what trained the run
OURS = "**`"  # what these descriptions begin with
TARGET = "_target_"
OF_TRAINING = ("optimizer", "trainer", "examples")  # say nothing of a family that has no objective
ALWAYS = ("seed", "optimizer.lr", "trainer.batch_size", "trainer.epochs")
NEVER = ("name",)  # is a tag
_MISSING = object()


@dataclass(frozen=True)
class Note:
    """The facts of a run when it ends."""

    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    folder: Path | None
    """The folder that its files were logged from."""
    intervals: Mapping[str, tuple[float, float]]
    """Metric of test -> ends of its 95 % interval."""

    def text(self) -> str:
        """The note as Markdown; empty if nothing came out."""
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


def parameters_to_show(
    learning: Mapping[str, Any], defaults: Mapping[str, Any], named: Iterable[str] = ()
) -> dict[str, Any]:
    """The parameters to show, by their dotted keys.

    They are those that differ from the family's defaults, those that the command names, and learning rate, batch size,
    epochs and seed. A part that was exchanged is shown by the name of its class: `objective = Triplet`. Null stands for
    the absence of a setting, so it is not shown.

    Args:
        learning: the learning keys, nested.
        defaults: the learning keys of the family on the same data without tuned values; empty if unknown.
        named: keys or parts, say `objective.alpha` or `objective`, to be shown in any case.
    """
    flat, usual, shown = dotted(learning), dotted(defaults), {*ALWAYS, *named}
    if flat.get(f"objective.{TARGET}", _MISSING) is None:
        flat = {key: value for key, value in flat.items() if key.partition(".")[0] not in OF_TRAINING}
    found = {}
    for key, value in flat.items():
        part, _, last = key.rpartition(".")
        name = part if last == TARGET else key
        is_setting = last == TARGET or not last.startswith("_")  # _partial_ and _convert_ are none
        if value is None or name in NEVER or not is_setting:
            continue
        if name in shown or value != usual.get(key, _MISSING):
            found[name] = str(value).rpartition(".")[2] if last == TARGET else value
    return found


def dotted(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as `{"a.b.c": value}`."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        flat |= dotted(inner, f"{name}.") if isinstance(inner, Mapping) and inner else {name: inner}
    return flat
