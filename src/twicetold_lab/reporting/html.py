"""A report as self-contained HTML pages: no external resources, inline figures, a few lines of script.

The markup is in `templates`. They escape every value that is not itself made by a template, and an unknown name in one
is an error. Choices on the first page are radio inputs and style sheet alone; without either, all answers stand below
each other.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = Path(__file__).parent / "templates"


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Return a page: `front.html.j2` or `dataset.html.j2` with its values."""
    return _templates.get_template(template).render(values)


def part(template: str, macro: str, *values: Any) -> Markup:
    """Return the output of a macro of a template for some values."""
    return Markup(getattr(_templates.get_template(template).module, macro)(*values))


def coordinate(value: float) -> str:
    """Return a coordinate with one decimal at most: a tenth of a unit is below what a screen shows."""
    return f"{float(value):.1f}".removesuffix(".0")


def content_of(file: str) -> Markup:
    """Return a style sheet or script, as it is."""
    return Markup((_FOLDER / file).read_text(encoding="utf-8"))


_templates = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_templates.globals |= {"content_of": content_of}
_templates.filters |= {"coordinate": coordinate}
