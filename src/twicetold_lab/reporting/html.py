"""A report as one self-contained HTML page: no external resources, inline figures, a few lines of script.

The markup is in `templates`. They escape every value that is not itself made by a template, and an unknown name in one
is an error.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from twicetold_lab.reporting.tables import Section, Table, TableCell

_COLOURS = 8  # of models in the style sheet, `c0` to `c7`
_FOLDER = Path(__file__).parent / "templates"


def page(sections: Sequence[Section], *, lead: str, datasets: Sequence[str], models: Sequence[str], footer: str) -> str:
    """The whole report.

    Args:
        sections: in their order.
        lead: a sentence below the title.
        datasets: names of the datasets, of which one can be chosen.
        models: all models, in the order of their colours.
        footer: a sentence below all sections.
    """
    values = {"sections": sections, "lead": lead, "datasets": datasets, "models": models, "footer": footer}
    return _templates.get_template("page.html.j2").render(values)


def anchor_of(data: str) -> str:
    """The anchor of a dataset, for links."""
    return f"data-{data}".replace(" ", "-")


def part(template: str, macro: str, *values: Any) -> Markup:
    """The output of a macro of a template for some values."""
    return Markup(getattr(_templates.get_template(template).module, macro)(*values))


def coordinate(value: float) -> str:
    """A coordinate with one decimal at most: a tenth of a unit is below what a screen shows."""
    return f"{float(value):.1f}".removesuffix(".0")


def content_of(file: str) -> Markup:
    """A style sheet or script, as it is."""
    return Markup((_FOLDER / file).read_text(encoding="utf-8"))


def whisker(table: Table, cell: TableCell) -> Markup:
    """A value and its interval on the axis of its column; a dotted line marks the best baseline."""
    drawn, value = table.drawn, cell.value
    if drawn is None or cell.interval is None or value is None:
        return Markup("")
    ends = [end for _, cells in table.rows for end in cells[drawn.column].interval or ()]
    low, high = (min(ends), max(ends)) if max(ends) > min(ends) else (min(ends) - 0.5, max(ends) + 0.5)
    inside = None if drawn.mark is None else min(max(drawn.mark, low), high)
    at = [None if x is None else coordinate(3 + 66 * (x - low) / (high - low)) for x in (value, *cell.interval, inside)]
    return part("figures.html.j2", "whisker", at[0], at[1:3], at[3])


_templates = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_templates.globals |= {"COLOURS": _COLOURS, "anchor_of": anchor_of, "content_of": content_of, "whisker": whisker}
