"""twicetold: which cheap model tells me that two texts say the same thing, and how far can I trust it?

model = twicetold.load("runs/quora_wang-static-0")
model.predict(["How do I learn Python?"], ["What is the best way to learn Python?"])

twicetold.fit(texts).dedupe(texts)  # without a trained model
twicetold.link(old, new)  # rows of two tables
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twicetold.use import Model as Model
    from twicetold.use import TextEncoder as TextEncoder
    from twicetold.use import TextsLike as TextsLike
    from twicetold.use import fit as fit
    from twicetold.use import link as link
    from twicetold.use import load as load

    __version__: str

__all__ = ["Model", "TextEncoder", "TextsLike", "fit", "link", "load"]

# Must be set before torch loads. Idle OpenMP threads otherwise spin: on shared cores that makes a training of small
# steps several times slower. An OMP_WAIT_POLICY of the user's own wins.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def __getattr__(name: str) -> Any:
    """Import a name when it is used: with most come NumPy, SciPy and Arrow."""
    if name in __all__:
        return getattr(importlib.import_module("twicetold.use"), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("twicetold")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, also those not imported yet."""
    return sorted({*__all__, "__version__", *(name for name in globals() if name.startswith("__"))})
