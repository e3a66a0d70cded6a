"""Tags and parameters of a run in MLflow: its command, and the few settings that matter.

The artifact `config.yaml` of the run has all settings.
"""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from twicetold.printable import without_passwords

COMMAND = "command"  # tag: what trained the run
TARGET = "_target_"
OF_TRAINING = ("optimizer", "trainer", "examples")  # say nothing of a family that has no objective
ALWAYS = ("seed", "optimizer.lr", "trainer.batch_size", "trainer.epochs")
NEVER = ("name",)  # is a tag
_MISSING = object()


def command() -> str:
    """Return the command of this process, as a person would repeat it in the project's folder."""
    script = os.path.relpath(sys.argv[0]) if os.path.exists(sys.argv[0]) else sys.argv[0]  # noqa: PTH110
    return without_passwords(shlex.join(["python", script, *sys.argv[1:]]))


def parameters_to_show(
    learning: Mapping[str, Any], defaults: Mapping[str, Any], named: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the parameters to show, by their dotted keys.

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
    """Return nested settings as `{"a.b.c": value}`."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        flat |= dotted(inner, f"{name}.") if isinstance(inner, Mapping) and inner else {name: inner}
    return flat
