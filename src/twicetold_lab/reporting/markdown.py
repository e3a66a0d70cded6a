"""Sections as Markdown: RESULTS.md and a page for each dataset."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from twicetold_lab.reporting.answers import ANY
from twicetold_lab.reporting.report import Report
from twicetold_lab.reporting.tables import Section, Table, TableCell

_LINE_ENDS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")  # and other characters without a shape
_BLOCK = re.compile(r"^(\s*\d*)(?=[#>=]|[+-](?:[\s-]|$)|(?<=\d)[.)](?:\s|$))")  # where a heading or a list begins
_ADDRESS = re.compile(r"(\b(?:https?|ftp|mailto|xmpp)(?=:)|\bwww(?=\.))", re.IGNORECASE)  # that GFM makes a link of
_MAIL = re.compile(r"(?<=[\w.+-])@(?=[\w-]+\.)")


PAGES = "docs/results"
"""Folder of the pages of datasets, from RESULTS.md."""


def results_of(report: Report) -> str:
    """Return the tables of RESULTS.md: the answers at any speed, and what stands below them."""
    parts: list[str] = []
    for answer in report.answers:
        if any(speed == ANY for _, speed in answer.cases):
            parts += _section(answer.section, 2)
            if answer.section.data:
                parts.append(f"[All models]({PAGES}/{answer.section.data}.md).\n")
    return "\n".join([*parts, *(part for section in report.below for part in _section(section, 2))])


def page_of(page: Section) -> str:
    """Return the page of a dataset."""
    return "\n".join(_section(page, 1))


def _section(section: Section, level: int) -> Iterator[str]:
    if section.is_detail:
        return
    title = escaped(section.title)
    yield f"<details><summary>{title}</summary>\n" if section.is_folded else f"{'#' * level} {title}\n"
    yield from within(section, level)
    if section.is_folded:
        yield "</details>\n"


def within(section: Section, level: int) -> Iterator[str]:
    """Yield the content of a section without its title, whose parts have headings one level below this one."""
    yield from (f"{escaped(text)}\n" for text in section.sentences)
    yield from map(table_of, section.tables)
    yield from (f"{escaped(note)}\n" for note in section.notes)
    if section.facts:
        yield "\n".join(f"- {escaped(fact)}" for fact in section.facts) + "\n"
    for part in section.parts:
        yield from _section(part, level + 1)


def table_of(shown: Table) -> str:
    """Return a table of cells, with their intervals and notes in brackets."""
    heads = [shown.of, *(escaped(", ".join(filter(None, (head.text, head.note)))) for head in shown.columns)]
    rows = ([cell_of(name), *map(cell_of, cells)] for name, cells in shown.rows)
    return table(heads, rows, words=[i for i, head in enumerate(shown.columns, start=1) if head.value is None])


def cell_of(cell: TableCell) -> str:
    """Return a cell with its interval and note in brackets."""
    text = code(cell.text) if cell.is_code else escaped(cell.text)
    text = f"**{text}**" if cell.strong and text else text
    text = f"[{text}]({PAGES}/{cell.page}.md)" if cell.page else text
    if not cell.text:
        return escaped(cell.remark)
    return text + (f" ({escaped(cell.remark)})" if cell.remark else "")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, words: Collection[int] = ()) -> str:
    """A Markdown table; the first column and those of `words` are aligned to the left, the others to the right."""
    lines = [heads, ["---" if not i or i in words else "---:" for i in range(len(heads))], *rows]
    return "\n".join("| " + " | ".join(map(_bar, line)) + " |" for line in lines) + "\n"


def _bar(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", _LINE_ENDS.sub(" ", text))


def escaped(text: str) -> str:
    """Return text with Markdown and HTML escaped, on one line.

    An underscore within a word, as in `quora_wang`, is no emphasis and stays as it is. Bare addresses are no links: GFM
    looks for those of mail once escapes are gone, so a comment stands in them.
    """
    text = _LINE_ENDS.sub(" ", text.replace("&", "&amp;").replace("<", "&lt;"))
    text = re.sub(r"[\\`*~\[\]|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", text)
    text = _MAIL.sub("@<!-- -->", _ADDRESS.sub(r"\1\\", text))
    return _BLOCK.sub(r"\1\\", text)


def code(text: str) -> str:
    """Return text as code, between more backticks than it has in a row."""
    text = _LINE_ENDS.sub(" ", text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"
