"""Words for a person who waits at a terminal, and models that are checked before they are waited for.

Where stderr is no terminal nothing is said, so that logs and scripts get the same lines on every machine.
"""

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.status import Status
from rich.text import Text

from twicetold.commands._console import Console, tell
from twicetold.printable import printable

if TYPE_CHECKING:
    from twicetold.tables.bad_rows import BadRows
    from twicetold.use.model import Model


def progress(what: str) -> Status:
    """Show words on stderr while a block runs, such as `loading a model`, if it is a terminal."""
    return Console(stderr=True).status(Text(printable(what)))  # a string would be read as markup


def require_usable(model: str) -> None:
    """Check that there is a trained model, and that what it needs is installed, before any work and any import.

    Errors: as of `twicetold.load`.
    """
    from twicetold import layout
    from twicetold.packages import require_package
    from twicetold.trained.locate import folder_of

    folder = folder_of(model)
    from twicetold.trained.columns import FAMILIES

    families = set()
    for recipe in folder.rglob(layout.RECIPE):  # of an ensemble, those of its members as well
        with suppress(OSError, ValueError, TypeError, KeyError):  # loading says what is wrong
            families.add(str(json.loads(recipe.read_bytes())["encoder"]["_target_"]))
    if families - FAMILIES.keys():
        require_package("torch", "a model of this family")


def load_model(model: str) -> "Model":
    """Call `twicetold.load`, with a word to those who wait. Errors: as of `twicetold.load`."""
    require_usable(model)
    with progress(f"loading {model}"):
        from twicetold.use.model import load

        return load(model)


def tell_left_out(bad: "BadRows") -> None:
    """Say on stderr which rows were left out, if any were."""
    if bad.count:
        tell(f"bad rows left out: {bad.count:,}", f"{bad}")
