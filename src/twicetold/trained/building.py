"""The parts of a model that a recipe names, which may come from anywhere: what may be built, and nothing else."""

import importlib
import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from twicetold.features.rows import Parameters
from twicetold.trained.columns import FAMILIES

Kind: TypeAlias = Literal["features", "models"]
"""The package that a part of a model is defined in: a featuriser, or an encoder."""
TARGET = re.compile(r"twicetold\.(?P<kind>features|models)\.[a-z][a-z0-9_]*\.(?P<name>[A-Z][A-Za-z0-9]*)")


def construct(config: Mapping[str, Any], kind: Kind, /, **further: Any) -> Any:
    """Build the featuriser or the encoder that a recipe describes.

    What may be built are public classes of `twicetold.features` with `Parameters`, and public classes of
    `twicetold.models` that are modules with `encode`, each under the name of the module that defines it; of the latter,
    `FAMILIES` are built as what they are in use.
    `tests/contracts/test_model_folders.py` checks that these are the classes that `conf/` or `fit` names, and no
    others. Their constructors only keep or allocate. Settings are numbers, texts, lists, and parts of the same kind.

    Args:
        config: with `_target_`.
        kind: what is expected.
        further: settings that the recipe does not hold, such as the shape of the features; they win.

    Raises:
        ValueError: if another target or setting is named, at any depth.
    """
    made = _buildable(config.get("_target_"), kind)
    special = {"_target_", "_convert_"}
    settings = {name: _setting(value, kind) for name, value in config.items() if name not in special}
    if unknown := [name for name in settings if name.startswith("_")]:
        raise ValueError(f"expected settings of {made.__name__}, got {unknown[0]!r}, which a recipe cannot have")
    return made(**{**settings, **further})


def _buildable(target: Any, kind: Kind) -> type:
    """Return the class of a `_target_`, whose module is imported only if it may be built."""
    if kind == "models" and isinstance(target, str) and target in FAMILIES:
        return FAMILIES[target]
    found = TARGET.fullmatch(target) if isinstance(target, str) else None
    if found and found["kind"] == kind:
        module = found[0].rpartition(".")[0]
        made = getattr(importlib.import_module(module), found["name"], None) if find_spec(module) else None
        if isinstance(made, type) and made.__module__ == module and _is_part(made, kind):
            return made
    what = "featuriser" if kind == "features" else "family"
    raise ValueError(f"expected the class of a {what} in twicetold.{kind} as _target_, got {target!r}")


def _is_part(made: type, kind: Kind) -> bool:
    if kind == "features":
        return issubclass(made, Parameters) and is_dataclass(made)  # not `Parameters` itself
    import torch

    return issubclass(made, torch.nn.Module) and hasattr(made, "encode")


def _setting(value: Any, kind: Kind) -> Any:
    if isinstance(value, Mapping):
        return construct(value, kind)
    return [_setting(item, kind) for item in value] if isinstance(value, list) else value
