"""Files that commands write: none may be one that is read, or one of the others."""

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

import typer

TABLES = ("rows", "dropped rows", "bad rows", "links", "pairs", "review", "answers")  # whose format is that of a table
PROSE = ".md"  # in a folder that is read: model cards go there
Files = Mapping[str, str | Path | None]
"""By what is read or written; None: nothing is."""


def require_apart(written: Files, read: Files, *, summary: bool = False) -> None:
    """Refuse files that cannot all be written, or that would replace what is read, however their paths are spelt.

    Args:
        written: files, `-` is standard output; and folders, which are replaced with all that is in them.
        read: files and folders; `-` is standard input.
        summary: whether a summary goes to standard output, as by --json.

    Raises:
        typer.BadParameter: if there are such.
        ValueError: if a table would go to a file with the suffix of something else.
    """
    from twicetold.tables.files import require_table
    from twicetold.tables.streams import STANDARD, is_one_file

    given = {what: file for what, file in written.items() if file is not None}
    if summary:
        given["summary of --json"] = STANDARD
    for (what, file), (other, another) in combinations(given.items(), 2):
        if is_one_file(file, another):
            both = "standard output" if str(file) == STANDARD else file
            raise typer.BadParameter(f"the {what} and the {other} would both go to {both}: name another file")
    for source, place in read.items():
        for what, file in given.items():
            if place is not None and any(_is_one(file, each) for each in _files(place)):
                raise typer.BadParameter(
                    f"the {what} would replace {file}, from which the {source} are read: name another file"
                )
    for what, file in given.items():
        folder = Path(file).parent
        if what != "model" and not folder.is_dir():
            raise typer.BadParameter(f"the {what} would go to {file}, and there is no folder {folder}: make it first")
        if what in TABLES:
            require_table(file)


def beside(out: str, what: str = "dropped") -> str | None:
    """Return the file of dropped rows beside an output, such as `unique.dropped.csv.gz` beside `unique.csv.gz`.

    Args:
        out: the output; beside standard output, a pipe or a device there is none.
        what: its rows are, `dropped` or `bad`.
    """
    from twicetold.tables.streams import STANDARD, compression_of

    path = Path(out)
    device = path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",))  # also where /dev/stdout leads to a file
    if out == STANDARD or device or (path.exists() and not path.is_file()):
        return None
    stem = (Path(path.stem) if compression_of(out) else path).stem
    return str(path.with_name(f"{stem}.{what}{path.name[len(stem) :]}"))


def _files(place: str | Path) -> Iterable[str | Path]:
    """Return a file, or the files of a folder."""
    folder = Path(place)
    return (each for each in folder.rglob("*") if each.suffix != PROSE) if folder.is_dir() else [place]


def _is_one(written: str | Path, read: str | Path) -> bool:
    """Return true if a file to write is one that is read: the same file under any name, or a folder that it is in."""
    if Path(written).is_dir():
        return str(read) != "-" and Path(read).resolve().is_relative_to(Path(written).resolve())
    try:
        target = os.fstat(sys.stdout.fileno()) if str(written) == "-" else Path(written).stat()
        other = os.fstat(sys.stdin.fileno()) if str(read) == "-" else Path(read).stat()
    except (OSError, ValueError):  # it is not there, or a stream is no file
        return False
    return stat.S_ISREG(target.st_mode) and os.path.samestat(target, other)
