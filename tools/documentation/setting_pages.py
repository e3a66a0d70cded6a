"""Reference pages of the settings: every file of `conf/` as it is, with its comments, by group."""

import os
import re
from pathlib import Path

import library_pages
import names

FOLDER = "reference/settings"
GROUPS = names.TOP / "docs/reference/settings/index.md"
"""The page by hand: a row with a sentence for each group."""
COMMENT = re.compile(r"(?:^|\s)# (?!@package)\S")


def pages() -> dict[str, str]:
    """Path of each page in the site -> its Markdown."""
    made = {f"{FOLDER}/primary.md": _page("Primary configs", "What a script begins with.", _primary(), group=None)}
    for folder in names.groups():
        sentence = sentences().get(folder.name, "")
        text = f"{sentence[:1].upper()}{sentence[1:]}."
        made[f"{FOLDER}/{folder.name}.md"] = _page(folder.name, text, sorted(folder.glob("*.yaml")), group=folder.name)
    return made


def sentences() -> dict[str, str]:
    """What the page by hand says of each group."""
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", GROUPS.read_text(encoding="utf-8"), re.MULTILINE))


def commented(leaf: Path) -> bool:
    """Whether a file of `conf/` has a comment."""
    return bool(COMMENT.search(leaf.read_text(encoding="utf-8")))


def _primary() -> list[Path]:
    return sorted(names.CONF.glob("*.yaml"))


def _page(title: str, text: str, leaves: list[Path], *, group: str | None) -> str:
    code = f"`{title}`" if group else title
    return f"# {code}\n\n{text}\n\n" + "\n".join(_leaf(leaf, group) for leaf in leaves)


def _leaf(leaf: Path, group: str | None) -> str:
    content = leaf.read_text(encoding="utf-8").rstrip()
    says = [f"`{group}={leaf.stem}`" if group else f"`conf/{leaf.name}`"]
    links = [_link(path) for path in dict.fromkeys(names.TARGET.findall(content))]
    if links:
        says.append("builds " + ", ".join(links))
    return f"## {leaf.stem}\n\n{'; '.join(says)}\n\n```yaml\n{content}\n```\n"


def _link(path: str) -> str:
    page = os.path.relpath(library_pages.page_of(path), FOLDER)
    return f"[`{path.removeprefix('twicetold.')}`]({page}#{path})"
