"""Pages and figures from the templates in `templates`.

Templates escape every value that is not itself made by a template, and an unknown name in one is an error.
"""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from twicetold_lab.reporting import glossary

COLOURS = 8
"""Colours of models in the style sheet, `c0` to `c7`."""
_FOLDER = Path(__file__).parent / "templates"
_SHOWN_BY = (
    glossary.count,
    glossary.describe,
    glossary.magnitude,
    glossary.number,
    glossary.share,
    glossary.size,
    glossary.split_of,
)


def coordinate(value: float) -> str:
    """A coordinate with one decimal at most: a tenth of a unit is below what a screen shows."""
    return f"{float(value):.1f}".removesuffix(".0")


def content_of(file: str) -> Markup:
    """A style sheet or script, as it is."""
    return Markup((_FOLDER / file).read_text(encoding="utf-8"))


_templates = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_templates.globals |= {shown_by.__name__: shown_by for shown_by in _SHOWN_BY}
_templates.globals |= {"COLOURS": COLOURS, "content_of": content_of}


def render(template: str, **values: Any) -> str:
    """A page."""
    return _templates.get_template(template).render(values)


def part(template: str, macro: str, *values: Any) -> Markup:
    """What a macro of a template makes of some values."""
    return Markup(getattr(_templates.get_template(template).module, macro)(*values))


def standalone(figure: Markup) -> str:
    """A figure of the page as a file of its own, which brings the page's style sheet."""
    opening, _, rest = str(figure).partition(">")
    head = opening.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" style="background: var(--paper)" ', 1)
    return f"{head}><style>{content_of('style.css')}</style>{rest}\n"
