"""How many public names have no docstring, no example or no place in the reference? Expected: 0.

    python tools/documentation/public_names.py      # the number, and the names that lack something

Public are the names of the library that `names` describes, every command with its options, and the groups of settings
with their files. An example is a fenced block of README, a tutorial, a guide or the page of settings, or one of a
docstring. Of what settings build it is the file that builds it, which the reference shows; members of the classes that
one builds on, such as `Corpus`, need none.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))  # this checkout's library

import command_pages
import griffe
import library_pages
import names
import setting_pages

DOCSTRING, EXAMPLE, PAGE = "docstring", "example", "reference page"


def main() -> None:
    """Print what lacks something; the exit code is 1 if something does."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = list(lacking())
    for kind, name, lacks in found:
        print(f"{kind} {name}: no {lacks}")
    print(f"{len(found)} of {len(list(public()))} public names lack a docstring, an example or a reference page")
    sys.exit(bool(found))


def public() -> Iterator[tuple[str, str]]:
    """Each public name: its kind, and the name."""
    for name in library():
        yield "library", name
    for words, command in names.commands().items():
        yield "command", words
        for parameter in command.params:
            yield "option", f"{words} {parameter.opts[0]}"
    for folder in names.groups():
        yield "group", folder.name
        for leaf in sorted(folder.glob("*.yaml")):
            yield "setting", f"{folder.name}/{leaf.stem}"


def lacking() -> Iterator[tuple[str, str, str]]:
    """Each public name that lacks something: its kind, the name, and what it lacks."""
    yield from _of_library()
    yield from _of_commands()
    yield from _of_settings()


def library() -> dict[str, griffe.Object]:
    """The public names of the library by their dotted paths."""
    paths = dict.fromkeys([*names.exported(), *names.imported(), *names.built()])
    return {each.path: each for path in paths for each in names.with_members(path)}


def anchors() -> list[tuple[str, str]]:
    """(page, anchor) of each public name of the library in the built site."""
    return [
        (f"{library_pages.page_of(_owner(each)).removesuffix('.md')}/index.html", path)
        for path, each in library().items()
    ]


def _owner(each: griffe.Object) -> str:
    return each.parent.path if each.parent is not None and each.parent.is_class else each.path


def _of_library() -> Iterator[tuple[str, str, str]]:
    documented, built, exported = library_pages.documented(), names.built(), names.exported()
    for path, each in library().items():
        if each.docstring is None:
            yield "library", path, DOCSTRING
        owner = _owner(each)
        if not ({owner, owner.rpartition(".")[0]} & documented):
            yield "library", path, PAGE
        beyond = owner != path and owner not in exported  # a member of what guides build on: the class has an example
        if owner not in built and not beyond and not _shown(each):
            yield "library", path, EXAMPLE


def _shown(each: griffe.Object) -> bool:
    """Whether an example uses a name."""
    before = r"\." if each.parent is not None and each.parent.is_class else r"\b"
    return bool(re.search(rf"{before}{each.name}\b", names.examples()))


def _of_commands() -> Iterator[tuple[str, str, str]]:
    documented = command_pages.documented()
    for words, command in names.commands().items():
        if not command.help:
            yield "command", words, DOCSTRING
        if words not in documented:
            yield "command", words, PAGE
        if not re.search(rf"^\$? ?{words}\b", names.examples(), re.MULTILINE):
            yield "command", words, EXAMPLE
        for parameter in command.params:
            if not parameter.help:
                yield "option", f"{words} {parameter.opts[0]}", DOCSTRING


def _of_settings() -> Iterator[tuple[str, str, str]]:
    pages = setting_pages.pages()
    for folder in names.groups():
        group = folder.name
        if group not in setting_pages.sentences():
            yield "group", group, DOCSTRING
        if f"{setting_pages.FOLDER}/{group}.md" not in pages:
            yield "group", group, PAGE
        if not re.search(rf"\b{group}=\w|/{group}: \w", names.examples()):
            yield "group", group, EXAMPLE
        for leaf in sorted(folder.glob("*.yaml")):
            if not setting_pages.commented(leaf):
                yield "setting", f"{group}/{leaf.stem}", DOCSTRING


if __name__ == "__main__":
    main()
