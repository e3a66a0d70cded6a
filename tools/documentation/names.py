"""The public names of the project: those of the library, the commands, and the groups of settings.

A name is public if a front package exports it, if a call of those gives it back, if documentation imports
it, or if a file of `conf/` builds it. A class brings its public methods and properties.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe
import typer

TOP = Path(__file__).resolve().parents[2]
CONF = TOP / "conf"
PACKAGE, LAB = "twicetold", "twicetold_lab"
FRONT_PACKAGES = (PACKAGE, f"{PACKAGE}.use", f"{PACKAGE}.index")
GIVEN_BACK = (
    "twicetold.trained.loaded.LoadedModel",
    "twicetold.dedupe.options.DedupeOptions",
    "twicetold.dedupe.results.TextLinks",
    "twicetold.dedupe.results.GroupsOfTexts",
    "twicetold.dedupe.results.DedupeSummary",
    "twicetold.dedupe.results.DedupeCounts",
    "twicetold.dedupe.link_threshold.LinkThreshold",
    "twicetold.index.text_index.Match",
    "twicetold.index.growing.Added",
)
"""What calls of the front packages take as keywords, or give back, without exporting its name."""
WITH_EXAMPLES = ("tutorials", "guides", "reference/settings")
TARGET = re.compile(rf"\b_target_: ((?:{PACKAGE}|{LAB})(?:\.\w+)+)")
FENCED = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
DOCTEST = re.compile(r"^ *>>> .*\n(?:^ *[^\s\"].*\n)*", re.MULTILINE)
IMPORTED = re.compile(rf"^ *from ({PACKAGE}[\w.]*) import \(?([^)\n]+)", re.MULTILINE)


@cache
def library() -> griffe.ModulesCollection:
    """Both packages as their source says they are; nothing is imported."""
    loader = griffe.GriffeLoader(search_paths=[TOP / "src"], allow_inspection=False)
    for package in (PACKAGE, LAB):
        loader.load(package)
    return loader.modules_collection


def resolved(path: str) -> griffe.Object:
    """What a dotted path names, where it is defined.

    Raises:
        KeyError: if there is no such name.
    """
    found = library()[path]
    return found.final_target if isinstance(found, griffe.Alias) else found


@cache
def code_blocks() -> str:
    """The fenced blocks of README, tutorials, guides and the page of settings."""
    pages = [
        TOP / "README.md",
        *(page for package in WITH_EXAMPLES for page in sorted(TOP.glob(f"docs/{package}/*.md"))),
    ]
    return "\n".join(block for page in pages for _, block in FENCED.findall(page.read_text(encoding="utf-8")))


@cache
def examples() -> str:
    """Code that shows how names are used: fenced blocks of pages, and the examples of docstrings."""
    sources = (file.read_text(encoding="utf-8") for file in sorted((TOP / "src").glob(f"{PACKAGE}*/**/*.py")))
    return code_blocks() + "\n".join(block for source in sources for block in DOCTEST.findall(source))


def exported() -> list[str]:
    """The paths of what the front packages export, where it is defined, and of what their calls give back."""
    names = [f"{package}.{name}" for package in FRONT_PACKAGES for name in resolved(package).exports or ()]
    return list(dict.fromkeys([*(resolved(name).path for name in names), *GIVEN_BACK]))


def imported() -> list[str]:
    """The paths of what code in README, tutorials and guides imports from the library's modules."""
    found = [
        f"{module}.{name.split()[0]}" for module, names in IMPORTED.findall(code_blocks()) for name in names.split(",")
    ]
    return sorted({resolved(path).path for path in found if path.rpartition(".")[0] not in FRONT_PACKAGES})


def built() -> dict[str, list[Path]]:
    """What files of `conf/` build -> the files."""
    found: dict[str, list[Path]] = {}
    for leaf in sorted(CONF.rglob("*.yaml")):
        for path in dict.fromkeys(TARGET.findall(leaf.read_text(encoding="utf-8"))):
            found.setdefault(path, []).append(leaf)
    return found


def with_members(path: str) -> Iterator[griffe.Object]:
    """What a path names and, of a class, its public methods and properties."""
    named = resolved(path)
    yield named
    if named.is_class:
        for name, member in named.members.items():
            if not name.startswith("_") and not member.is_alias and (member.is_function or "property" in member.labels):
                yield member  # type: ignore[misc]


def commands() -> dict[str, typer.core.TyperCommand]:
    """Each command of `twicetold` by the words that call it."""
    from twicetold.commands import app

    def below(command: typer.core.TyperCommand, path: str) -> Iterator[tuple[str, typer.core.TyperCommand]]:
        yield path, command
        for name in getattr(command, "commands", ()):
            yield from below(command.get_command(None, name), f"{path} {name}")

    return dict(below(typer.main.get_command(app), PACKAGE))


def groups() -> list[Path]:
    """The folders of `conf/`, each a group of settings."""
    return sorted(folder for folder in CONF.iterdir() if folder.is_dir())
