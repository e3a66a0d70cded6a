"""What is checked of the built site: every link, anchor and picture is there, and every page can be reached.

No sign of Markdown is left, such as that of a list which GitHub reads and Zensical does not.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

START, NOT_LINKED = "index.html", {"404.html"}
REFERENCES = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "src", "iframe": "src"}
VERBATIM = {"code", "pre", "script", "style"}
LEFT_OVER = re.compile(r"```|\*\*|\]\(|^ *- |^\|.*\|$|^:::", re.MULTILINE)


@dataclass
class Page(HTMLParser):
    """The anchors of a page, what it refers to, as (tag, address), and its text without code."""

    anchors: set[str] = field(default_factory=set)
    references: list[tuple[str, str]] = field(default_factory=list)
    prose: str = ""
    depth: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchor of an element, and what it refers to."""
        self.depth += tag in VERBATIM
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        address = values.get(REFERENCES.get(tag, ""))
        if address and values.get("rel") != "canonical":
            self.references.append((tag, address))

    def handle_endtag(self, tag: str) -> None:
        """Note the end of code."""
        self.depth -= tag in VERBATIM

    def handle_data(self, data: str) -> None:
        """Keep text that is no code."""
        if not self.depth:
            self.prose += data


def read(folder: Path) -> dict[str, Page]:
    """The pages of a built site by their path in it."""
    pages = {}
    for file in sorted(folder.rglob("*.html")):
        page = pages[file.relative_to(folder).as_posix()] = Page()
        page.feed(file.read_text(encoding="utf-8"))
    return pages


def faults(folder: Path, *, base: str = "/", named: Iterable[tuple[str, str]] = ()) -> list[str]:
    """What is wrong with a built site, one line each; in order.

    Args:
        folder: of the built site.
        base: the path at which it is served, which addresses that begin with `/` begin with.
        named: (page, anchor) that must be there.
    """
    pages = read(folder)
    found = [line for path in pages for line in _broken(path, pages, folder, base)]
    found += [f"{path}: no page leads here" for path in sorted(set(pages) - NOT_LINKED - _reached(pages, base))]
    found += [
        f"{path}: {sign[0]!r} is left of Markdown" for path in pages if (sign := LEFT_OVER.search(pages[path].prose))
    ]
    for path, anchor in named:
        if path not in pages or anchor not in pages[path].anchors:
            found.append(f"{path}: {anchor} is not there")
    return found


def _broken(path: str, pages: dict[str, Page], folder: Path, base: str) -> Iterator[str]:
    for tag, address in pages[path].references:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            if tag != "a" and parts.scheme != "data":
                yield f"{path}: {address} is fetched from elsewhere"
            continue
        target = _target(path, parts.path, base)
        if not (folder / target).is_file():
            yield f"{path}: {address} leads nowhere"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{path}: {address} has no such anchor"


def _target(path: str, address: str, base: str = "/") -> str:
    """The file in the site that an address on a page leads to."""
    if not address:
        return path
    if address.startswith(base) and base != "/":
        address = address[len(base) - 1 :]
    start = "" if address.startswith("/") else path.rpartition("/")[0]
    steps: list[str] = [step for step in start.split("/") if step]
    for step in unquote(address).split("/"):
        if step == ".." and steps:
            steps.pop()
        elif step not in ("", ".", ".."):
            steps.append(step)
    return "/".join([*steps, *(["index.html"] if address.endswith(("/", ".")) or not steps else [])])


def _reached(pages: dict[str, Page], base: str) -> set[str]:
    reached, ahead = set(), [START]
    while ahead:
        path = ahead.pop()
        if path in reached or path not in pages:
            continue
        reached.add(path)
        for tag, address in pages[path].references:
            parts = urlsplit(address)
            if tag == "a" and not parts.scheme and not parts.netloc:
                ahead.append(_target(path, parts.path, base))
    return reached
