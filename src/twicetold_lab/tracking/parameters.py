"""Which settings of a training are shown as parameters of its run: the few that matter.

The artifact `config.yaml` has all of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

TARGET = "_target_"
OF_TRAINING = ("optimizer", "trainer", "examples")  # say nothing of a family that has no objective
ALWAYS = ("seed", "optimizer.lr", "trainer.batch_size", "trainer.epochs")
NEVER = ("name",)  # is a tag
_MISSING = object()


def telling(learning: Mapping[str, Any], defaults: Mapping[str, Any], named: Iterable[str] = ()) -> dict[str, Any]:
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
