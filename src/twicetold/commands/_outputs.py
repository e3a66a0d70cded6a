"""Files that commands write: none may be one that is read, or one of the others."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import typer

TABLES = ("rows", "dropped rows", "links", "pairs", "review", "answers")  # whose format is that of a table
PROSE = ".md"  # in a folder that is read: model cards go there
Files = Mapping[str, str | Path | None]
"""By what is read or written; None: nothing is."""


def require_apart(written: Files, read: Files) -> None:
    """Refuse files that cannot all be written, or that would replace what is read, however their paths are spelt.

    Args:
        written: files, `-` is standard output; and folders, which are replaced with all that is in them.
        read: files and folders; `-` is standard input.

    Raises:
        typer.BadParameter: if there are such.
        ValueError: if a table would go to a file with the suffix of something else.
    """
    from twicetold.tables.files import require_table
    from twicetold.tables.streams import is_one_file

    given = {what: file for what, file in written.items() if file is not None}
    for (what, file), (other, another) in combinations(given.items(), 2):
        if is_one_file(file, another):
            raise typer.BadParameter(f"the {what} and the {other} would both go to {file}: name another file")
    for source, place in read.items():
        for what, file in given.items():
            if place is not None and any(_is_one(file, each) for each in _files(place)):
                raise typer.BadParameter(
                    f"the {what} would replace {file}, from which the {source} are read: name another file"
                )
    for what in given.keys() & TABLES:
        require_table(given[what])


def dropped_beside(out: str) -> str | None:
    """The file of dropped rows beside an output, such as `unique.dropped.csv.gz` beside `unique.csv.gz`.

    Args:
        out: the output; beside standard output, a pipe or a device there is none.
    """
    from twicetold.tables.streams import STANDARD, compression_of

    path = Path(out)
    device = path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",))  # also where /dev/stdout leads to a file
    if out == STANDARD or device or (path.exists() and not path.is_file()):
        return None
    stem = (Path(path.stem) if compression_of(out) else path).stem
    return str(path.with_name(f"{stem}.dropped{path.name[len(stem) :]}"))


def _files(place: str | Path) -> Iterator[str | Path]:
    """A file, or the files of a folder."""
    if not Path(place).is_dir():
        yield place
        return
    for folder, _, names in os.walk(place):
        yield from (Path(folder, name) for name in names if not name.endswith(PROSE))


def _is_one(written: str | Path, read: str | Path) -> bool:
    """True if a file to write is one that is read: the same file, not the same name; or a folder that it is in."""
    if Path(written).is_dir():
        return str(read) != "-" and Path(read).resolve().is_relative_to(Path(written).resolve())
    try:
        target = os.fstat(sys.stdout.fileno()) if str(written) == "-" else Path(written).stat()
        other = os.fstat(sys.stdin.fileno()) if str(read) == "-" else Path(read).stat()
    except (OSError, ValueError):  # it is not there, or a stream is no file
        return False
    return stat.S_ISREG(target.st_mode) and os.path.samestat(target, other)
