"""The pages of the site in one folder: docs/, the pages at the top of the repository, and the generated reference.

Pages in Git link to each other as they lie there, so that they can be read without the site. Here each link is turned
to the place that its page has in the site, or to the repository where the site has no page for a file.
"""

import os
import posixpath
import re
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import command_pages
import library_pages
import names
import script_pages
import setting_pages

from twicetold.files import write_text

TOP = names.TOP
DOCS = TOP / "docs"
CONFIG, STYLE = DOCS / "zensical.toml", DOCS / "site.css"
RESULTS = "results.md"
ROOT_PAGES = {
    "README.md": "index.md",
    "RESULTS.md": RESULTS,
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
LISTS = {"explanation/decisions": "Each page has the context of a choice, the choice, and its consequences."}
"""Folders of docs/ whose index is a list of their pages."""
BY_LINKS = ("explanation/decisions/", "explanation/experiments")
"""Pages that other pages lead to, and that are not in the navigation."""
NOT_PAGES = {"docs/results-preface.md"}  # a part of RESULTS.md
LINK = re.compile(r"""((?<=\]\()[^)\s]+(?=\))|(?<=\bsrc=")[^"]+(?=")|(?<=\bhref=")[^"]+(?="))""")
FOLDED = '<details markdown="1">'  # what is in it is Markdown, as it is to GitHub
PICTURES = (".png", ".svg")
CODE = re.compile(r"(^ *```.*?^ *```$|``.+?``|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
NAV = re.compile(r"^nav = \[\n.*?^\]\n", re.MULTILINE | re.DOTALL)


class Broken(ValueError):
    """A link or an entry of the navigation that leads nowhere, or a page that nothing leads to."""


def stage(folder: Path, *, report: Path | None) -> None:
    """Write pages, pictures and the configuration of the site to a folder, which is emptied before.

    Args:
        folder: `zensical.toml` and `pages/` are written there.
        report: the page of `pipelines/report.py`, which results lead to, if it was made.

    Raises:
        Broken: if a link or the navigation leads nowhere, or a page that is not `BY_LINKS` is not in the navigation.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = written() | generated()
    if report is not None:
        title, _, rest = pages[RESULTS].partition("\n\n")
        pages[RESULTS] = f"{title}\n\n[The report](report/index.html) has the same as figures, and more.\n\n{rest}"
    for path, text in pages.items():
        write_text(folder / "pages" / path, text)
    shutil.copytree(DOCS / "images", folder / "pages/images")
    shutil.copy(STYLE, folder / "pages")
    config = CONFIG.read_text(encoding="utf-8")
    handwritten = tomllib.loads(config)["project"]["nav"]
    nav = list(expanded(handwritten, sorted(set(pages) - set(paths_in(handwritten)))))
    named = list(paths_in(nav))
    if missing := sorted(set(named) - set(pages)):
        raise Broken(f"nav of {CONFIG.relative_to(TOP)} names what is not there: {', '.join(missing)}")
    if orphans := sorted(page for page in set(pages) - set(named) if not page.startswith(BY_LINKS)):
        raise Broken(f"expected every page in nav of {CONFIG.relative_to(TOP)}, missing: {', '.join(orphans)}")
    write_text(folder / "zensical.toml", NAV.sub(lambda _: f"nav = {in_toml(nav)}\n", config, count=1))


def written() -> dict[str, str]:
    """Path of each page in the site that is in Git -> its Markdown, with links of the site."""
    sources = [*ROOT_PAGES, *(str(page.relative_to(TOP)) for page in sorted(DOCS.rglob("*.md")))]
    pages = {source: (TOP / source).read_text(encoding="utf-8") for source in sources if source not in NOT_PAGES}
    return {place_of(source): relinked(text, source) for source, text in pages.items()}


def generated() -> dict[str, str]:
    """Path of each page in the site that is made here -> its Markdown."""
    lists = {f"{folder}/index.md": _list(folder, text) for folder, text in LISTS.items()}
    return library_pages.pages() | command_pages.pages() | setting_pages.pages() | script_pages.pages() | lists


def place_of(source: str) -> str:
    """Where the site has a file of the repository: `""` if nowhere."""
    if source in ROOT_PAGES:
        return ROOT_PAGES[source]
    inside = source.removeprefix("docs/")
    if inside in LISTS:
        return f"{inside}/index.md"
    pages = source.startswith("docs/") and source not in NOT_PAGES and source.endswith((".md", *PICTURES))
    return inside if pages else ""


def relinked(text: str, source: str) -> str:
    """The Markdown of a page with its links as they are in the site; code stays as it is.

    Raises:
        Broken: if a link leads nowhere.
    """
    place = place_of(source)

    def turned(match: re.Match[str]) -> str:
        path, mark, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", path) or not path:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if not (TOP / target).exists():
            raise Broken(f"{source}: {match[1]} leads nowhere")
        inside = place_of(target)
        if not inside:
            kind = "tree" if (TOP / target).is_dir() else "blob"
            return f"{repository()}/{kind}/main/{target}{mark}{anchor}"
        return f"{os.path.relpath(inside, posixpath.dirname(place) or '.')}{mark}{anchor}"

    def named(code: str, before: str) -> str:
        """A page that is named by its path in the repository, as a link."""
        page = code.strip("`")
        if not page.startswith("docs/") or before.endswith("[") or not place_of(page) or not (TOP / page).is_file():
            return code
        return f"[{title_of(page)}]({os.path.relpath(place_of(page), posixpath.dirname(place) or '.')})"

    parts = CODE.split(text)  # text and code in turns
    # Code within the text of a link, as in [`a`](b.md), parts the link; its address begins the next text.
    parts[::2] = [LINK.sub(turned, part.replace("<details>", FOLDED)) for part in parts[::2]]
    parts[1::2] = [named(code, before) for before, code in zip(parts[::2], parts[1::2], strict=False)]
    return "".join(parts)


def title_of(source: str) -> str:
    """The title of a page in Git."""
    return (TOP / source).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def repository() -> str:
    """The address of the repository."""
    return str(_project()["repo_url"])


def base() -> str:
    """The path at which the site is served."""
    return urlsplit(str(_project()["site_url"])).path


@cache
def _project() -> dict[str, object]:
    project = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]
    assert isinstance(project, dict)
    return project


def expanded(nav: list[object], pages: list[str]) -> Iterator[object]:
    """The navigation with each folder, such as `reference/library/`, as those of its pages that have no entry.

    A section that is left without pages is left out.
    """
    for entry in nav:
        if isinstance(entry, dict):
            for title, inside in entry.items():
                found = list(expanded(inside, pages)) if isinstance(inside, list) else inside
                if found:
                    yield {title: found}
        elif str(entry).endswith("/"):
            yield from (page for page in pages if page.startswith(str(entry)))
        else:
            yield entry


def paths_in(nav: object) -> Iterator[str]:
    """The pages that a navigation names."""
    if isinstance(nav, dict):
        for inside in nav.values():
            yield from paths_in(inside)
    elif isinstance(nav, list):
        for entry in nav:
            yield from paths_in(entry)
    else:
        yield str(nav)


def in_toml(nav: object) -> str:
    """A navigation as TOML: arrays, inline tables of one entry, and strings."""
    if isinstance(nav, dict):
        return "{ " + ", ".join(f'"{title}" = {in_toml(inside)}' for title, inside in nav.items()) + " }"
    if isinstance(nav, list):
        return "[" + ", ".join(map(in_toml, nav)) + "]"
    return f'"{nav}"'


def _list(folder: str, text: str) -> str:
    pages = sorted((DOCS / folder).glob("*.md"))
    titles = {page.name: title_of(str(page.relative_to(TOP))) for page in pages}
    lines = [f"- [{title}]({name})" for name, title in titles.items()]
    return f"# {folder.rpartition('/')[2].capitalize()}\n\n{text}\n\n" + "\n".join(lines) + "\n"
