"""Groups of texts as a table in HTML, for a notebook or as a page of its own: what differs in a group is marked.

The table needs no script and nothing from elsewhere, and its size is bounded, whatever the texts hold and however many
groups there are. Everything that comes from a file is escaped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from twicetold.printable import counted, differing, printable, word_changes
from twicetold.tables.streams import writing

IN_NOTEBOOK, ON_PAGE = 25, 250  # groups that are shown
MEMBERS = 10  # of a group that are shown
NAMES = 5  # of equal texts that are shown
WIDTH, NAME_WIDTH, NOTE_WIDTH = 240, 40, 400  # characters of a text, a name and a sentence that are shown
NOT_MATHS = "tex2jax_ignore mathjax_ignore"  # classes by which a notebook leaves text between two dollars as it is
_LEGEND = (
    "<p>Words not in the first text of a {noun} are <mark>highlighted</mark>, missing ones are "
    "<del>struck out</del>. The least certain {noun}s come first.</p>"
)
_STYLE = (
    "<style>.twicetold{max-width:75em}.twicetold table{border-collapse:collapse;width:100%}"
    ".twicetold :is(td,th){padding:.2em .6em;text-align:left;vertical-align:top;white-space:normal}"
    ".twicetold td+td{overflow-wrap:anywhere}.twicetold td:last-child{text-align:right;overflow-wrap:normal}"
    ".twicetold tbody{border-top:1px solid #8886}.twicetold tbody th{font-weight:normal;opacity:.7}"
    ".twicetold mark{background:#fc08;color:inherit}.twicetold del{opacity:.6}"
    ".twicetold del+mark{margin-left:.2em}</style>"
)
_PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>twicetold: {title}</title>'
    '<meta name="viewport" content="width=device-width">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    "<style>:root{{color-scheme:light dark}}body{{font:15px/1.4 system-ui,sans-serif;margin:1.5em}}</style></head>\n"
    "<body>{table}</body></html>\n"
)


@dataclass(frozen=True)
class Member:
    """A text of a group, once however many rows have it.

    Args:
        names: of its rows.
        text: of the first row.
        probability: that it says the same as the first text of the group; None of that one.
    """

    names: Sequence[Any]
    text: str
    probability: float | None = None


@dataclass(frozen=True)
class ShownGroup:
    """A group of texts.

    Args:
        members: the first stands for the group.
        heading: a line about it.
        count: of what the table counts; several, if equal groups are shown as one.
    """

    members: Sequence[Member]
    heading: str = ""
    count: int = 1


@dataclass(frozen=True)
class HtmlTable:
    """A table of groups.

    Args:
        noun: a word for one of the groups, such as "pair".
        notes: sentences above it.
        count: of all groups.
        groups: the doubtful first; no more are taken than are shown.
    """

    noun: str
    notes: Sequence[str]
    count: int
    groups: Iterable[ShownGroup]

    def fragment(self, most: int = IN_NOTEBOOK) -> str:
        """Return the table as an element of a page.

        Args:
            most: groups that are shown.
        """
        shown = list(islice(self.groups, most))
        notes = "".join(f"<p>{_plain(note, NOTE_WIDTH)}</p>" for note in self.notes)
        parts = [f'<div class="twicetold {NOT_MATHS}">', _STYLE, notes]
        if shown:
            head = "<thead><tr><th>row<th>text<th>probability</thead>"
            parts += [_LEGEND.format(noun=self.noun), "<table>", head, *map(_body, shown), "</table>"]
        if more := self.count - sum(group.count for group in shown):
            parts.append(f"<p>Not shown: {counted(more, self.noun)}.</p>")
        return "\n".join([*parts, "</div>"])

    def write(self, file: str | Path) -> None:
        """Write the table as a page of its own, whole or not at all; to standard output if the file is `-`."""
        page = _PAGE.format(title=f"{self.noun}s", table=self.fragment(ON_PAGE))
        with writing(file, at_once=True) as stream:
            stream.write(page.encode())


def _body(group: ShownGroup) -> str:
    """Return a group as rows of the table."""
    first, *others = group.members[:MEMBERS]
    lines = [f"<tr><th colspan=3>{_plain(group.heading, NOTE_WIDTH)}"] if group.heading else []
    text = differing(printable(first.text), printable(others[0].text if others else ""), width=WIDTH)[0]
    lines.append(_line(first, escape(text)))
    for member in others:
        changes = word_changes(*differing(printable(first.text), printable(member.text), width=WIDTH))
        lines.append(_line(member, "".join(_marked(*change) for change in changes)))
    if (more := len(group.members) - MEMBERS) > 0:
        lines.append(f"<tr><td><td>not shown: {counted(more, 'text')}<td>")
    return f"<tbody>{''.join(lines)}</tbody>"


def _line(member: Member, text: str) -> str:
    names = ", ".join(_plain(name, NAME_WIDTH) for name in member.names[:NAMES])
    more = f" and {len(member.names) - NAMES:,} more" if len(member.names) > NAMES else ""
    probability = "" if member.probability is None else f"{member.probability:.3f}"
    return f'<tr><td>{names}{more}<td dir="auto">{text}<td>{probability}'


def _marked(lacking: str, added: str, same: bool) -> str:
    if same:
        return escape(added)
    return "".join(_element(element, words) for element, words in (("del", lacking), ("mark", added)) if words)


def _element(name: str, words: str) -> str:
    blank = " " * words.startswith(" ")
    return f"{blank}<{name}>{escape(words.removeprefix(' '))}</{name}>"


def _plain(value: object, width: int) -> str:
    """Return a value on one line, cut and escaped."""
    return escape(differing(printable(value), "", width=width)[0])
