"""Tables of the page as HTML. Cells are HTML, so callers escape what came from configuration or data."""

from collections.abc import Iterable


def table(columns: Iterable[str], rows: Iterable[str], *, kind: str = "") -> str:
    """A table that scrolls sideways where it is too wide.

    Args:
        columns: heads, from `column`.
        rows: from `row`.
        kind: classes of the table.
    """
    classes = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll"><table{classes}><thead><tr>{"".join(columns)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def column(label: str, note: str = "", *, text: bool = False) -> str:
    """The head of a column, with a small note below; columns of text are aligned to the left."""
    classes, below = ' class="text"' if text else "", f"<small>{note}</small>" if note else ""
    return f'<th scope="col"{classes}>{label}{below}</th>'


def row(name: str, cells: Iterable[str]) -> str:
    """A row of plain cells."""
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
