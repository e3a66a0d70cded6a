"""Words for a person who waits: what takes longer than a moment is named while it goes on.

Where stderr is no terminal nothing is said, so that logs and scripts get the same lines on every machine.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from twicetold.printable import print

if TYPE_CHECKING:
    from twicetold.tables.bad_rows import BadRows
    from twicetold.use.model import Model

SOON = 1.0
"""Seconds after which a person is told. Importing PyTorch takes about two."""


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on stderr what goes on, if the block takes longer than `SOON` and stderr is a terminal.

    Args:
        what: such as `loading a model`.
    """
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(SOON, print, [f"{what} ..."], {"file": sys.stderr})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def require_usable(model: str) -> None:
    """Check that there is a trained model, and that what it needs is installed, before any work and any import.

    Errors: as of `twicetold.load`.
    """
    from twicetold import layout
    from twicetold.packages import require_package
    from twicetold.trained.locate import model_folder, require_model

    require_model(model)
    from twicetold.trained.columns import FAMILIES

    families = set()
    for recipe in model_folder(Path(model)).rglob(layout.RECIPE):  # of an ensemble, those of its members as well
        with suppress(OSError, ValueError, TypeError, KeyError):  # loading says what is wrong
            families.add(str(json.loads(recipe.read_bytes())["encoder"]["_target_"]))
    if families - FAMILIES.keys():
        require_package("torch", "a model of this family")


def load_model(model: str) -> "Model":
    """`twicetold.load`, with a word to those who wait. Errors: as of `twicetold.load`."""
    require_usable(model)
    with progress(f"loading {model}"):
        from twicetold.use.model import load

        return load(model)


def tell_left_out(bad: "BadRows") -> None:
    """Say on stderr which rows were left out, if any were."""
    if bad.count:
        print(f"bad rows left out: {bad.count:,}\n{bad}", file=sys.stderr)
