"""Words for a person who waits: what takes longer than a moment is named while it goes on.

Where stderr is no terminal nothing is said, so that logs and scripts get the same lines on every machine.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from twicetold.printable import print

if TYPE_CHECKING:
    from twicetold.index.text_index import TextIndex
    from twicetold.use.model import Model

SOON = 1.0
"""Seconds after which a person is told. Importing PyTorch takes about two."""


@contextmanager
def waiting(what: str) -> Iterator[None]:
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


def load_model(model: str) -> "Model":
    """`twicetold.load`, with a word to those who wait; a folder without a model is told before PyTorch is imported.

    Errors: as of `twicetold.load`.
    """
    from twicetold.tracking.locate import require_model

    require_model(model)
    with waiting(f"loading {model}"):
        from twicetold.use.model import load

        return load(model)


def open_index(folder: str, model: str | None) -> "TextIndex":
    """`twicetold.index.opening.open_index`, with a word to those who wait."""
    with waiting(f"loading {folder} and its model"):
        from twicetold.index.opening import open_index

        return open_index(folder, model)


@contextmanager
def changing(folder: str, model: str | None) -> Iterator["TextIndex"]:
    """`twicetold.index.opening.changing`, with a word to those who wait."""
    with waiting(f"changing {folder}"):
        from twicetold.index.opening import changing

        with changing(folder, model) as opened:
            yield opened
