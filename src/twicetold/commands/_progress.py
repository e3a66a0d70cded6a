"""Words for a person who waits at a terminal, and models that are checked before they are waited for.

Where stderr is no terminal nothing is said, so that logs and scripts get the same lines on every machine.
"""

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
    from twicetold.packages import require_package
    from twicetold.trained.columns import FAMILIES
    from twicetold.trained.folder_files import folder_of, recipes

    encoders = (recipe.get("encoder") for recipe in recipes(folder_of(model)))  # an ensemble itself has none
    families = {str(each.get("_target_")) for each in encoders if isinstance(each, dict)}
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
