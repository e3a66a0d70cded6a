"""Rich's console for text from files and other people."""

from typing import Any

import rich.console
from rich.text import Text

from twicetold.printable import printable


class Console(rich.console.Console):
    """A console that shows a string as it stands: no markup, no emoji names, nothing that could change the terminal."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, **options}, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Rich calls this for each string that it is given, also for the cells of tables."""
        return super().render_str(printable(text), **options)
