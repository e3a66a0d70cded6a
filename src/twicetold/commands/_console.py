"""Rich's console for text from files and other people, and lines on stderr."""

import sys
from collections.abc import Sequence
from typing import Any

import rich.console
from rich.text import Text

from twicetold.printable import print, printable


class Console(rich.console.Console):
    """A console that shows a string as it stands: no markup, no emoji names, nothing that could change the terminal."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, **options}, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a string; Rich calls this for each that it is given, also for the cells of tables."""
        return super().render_str(printable(text), **options)


def tell(*lines: str) -> None:
    """Print lines to stderr."""
    print(*lines, sep="\n", file=sys.stderr)


def flush_right(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line a row of a table, with columns flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [" ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
