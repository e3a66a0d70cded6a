"""Two files that are compared with each other, as `link` and `assign` read them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twicetold.commands._options import LETTERS, ON, SAME, WITHIN, Reading
from twicetold.commands._progress import progress

if TYPE_CHECKING:
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.dedupe.link import Answers, TwoTables

FILE = "CSV, TSV, JSON lines, Parquet or .xlsx; - for stdin, or a folder of such parts."
Repeated = list[str] | None
SEVERAL = "COLUMN,… or LEFT=RIGHT,…"


def _column(name: str, help: str, *, default: bool | str = True, metavar: str = "COLUMN or LEFT=RIGHT") -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=default)


@dataclass(frozen=True)
class Columns(Reading):
    """Options by which two files are read; a column has one name in both, or two as in LEFT=RIGHT."""

    text: Annotated[str | None, _column("--text", "Column with the texts.", default="by its name")] = None
    id_column: Annotated[str | None, _column("--id", "Column with the ids.", default="row numbers, from 1")] = None
    same: Annotated[Repeated, _column("--same", SAME, metavar=SEVERAL)] = None
    within: Annotated[Repeated, _column("--within", WITHIN, metavar="COLUMN:SIZE")] = None
    on: Annotated[Repeated, _column("--on", ON, metavar=SEVERAL)] = None

    def read(
        self, file: str, side: int, *, needed: Sequence[str] = (), added: Sequence[str] = ()
    ) -> "tuple[TextFile, dict[str, Any]]":
        """Read a file, and the values of the columns that options name, by option.

        Args:
            file: its path, or `-`.
            side: 0 for the left file, 1 for the right one.
            needed: further columns that must be there.
            added: columns that are added to its rows, so that no column may have their names.
        """
        from twicetold.commands._columns import split, text_among, values_of, window
        from twicetold.commands._dedupe_file import TextFile

        limits, on = (
            [names_of(name) for each in asked or [] for name in split(each, ",")] for asked in (self.same, self.on)
        )
        text, ids = (None if asked is None else names_of(asked) for asked in (self.text, self.id_column))
        if text is None and on:
            text = text_among(on)
        same, also = [names[side] for names in limits], [names[side] for names in on if names != text]
        sizes = [(names_of(column)[side], size) for column, size in map(window, self.within or [])]
        needed = [*needed, *same, *also, *(column for column, _ in sizes)]
        reading = replace(self, text=None if text is None else text[side])
        id_column = None if ids is None else ids[side]
        read = TextFile.read(file, reading, id_column=id_column, needed=needed, added=added)
        return read, {**values_of(read, same, [f"{column}:{size}" for column, size in sizes], also), "names": also}


CompareTwo = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar=f"{LETTERS}|VECTORS or LEFT=RIGHT",
        help=f"{LETTERS} and words only, or your vectors as well: .npy files, columns, a folder of model2vec.",
        show_default="letters and words, and vectors if the extra static is installed",
    ),
]


@dataclass(frozen=True)
class TwoFiles:
    """Two files, compared once.

    Args:
        files: the left one and the right one.
        values: of the columns that options name, by option, of either file.
        options: of `TwoTables.of`.
        tables: their texts.
    """

    files: "tuple[TextFile, TextFile]"
    values: tuple[dict[str, Any], dict[str, Any]]
    options: dict[str, Any]
    tables: "TwoTables"

    @classmethod
    def read(
        cls,
        left: str,
        right: str,
        columns: Columns,
        compare: str | None,
        *,
        needed: Sequence[str] = (),
        added: Sequence[str] = (),
    ) -> "TwoFiles":
        """Read and compare two files.

        Args:
            left: its path, or `-`.
            right: likewise.
            columns: options by which both are read.
            compare: the option --compare.
            needed: further columns of the right file that must be there.
            added: columns that are added to the rows of the left file, so that no column may have their names.
        """
        from twicetold.commands._columns import vectors_of
        from twicetold.dedupe.link import TwoTables

        one, of_left = columns.read(left, 0, added=added)
        other, of_right = columns.read(right, 1, needed=needed)
        same, also = (list(zip(of_left[name], of_right[name], strict=True)) for name in ("same", "also"))
        within = [(a, b, size) for (a, size), (b, _) in zip(of_left["within"], of_right["within"], strict=True)]
        options: dict[str, Any] = {"same": same, "within": within, "also": also, "lexical": compare == LETTERS}
        named = vectors_named(compare)
        if named[0] is not None:
            found = [vectors_of(file, str(name)) for file, name in zip((one, other), named, strict=True)]
            options["vectors"] = found[0] if named[0] == named[1] and Path(named[0]).is_dir() else found
        with progress("comparing the texts"):
            tables = TwoTables.of(one.texts, other.texts, **options)
        return cls((one, other), (of_left, of_right), options, tables)

    def ask(self, count: int, answers: Path, known: Any = None) -> "Answers":
        """Ask until the file of answers has `count` pairs, or the person stops; arguments: `ask.ask_about`."""
        from twicetold.commands.ask import ask_about

        counts, limits = self.tables.counts, self.tables.limits
        beside = _beside(self.values, counts)
        rows, others, answer = ask_about(
            self.tables.questions, self.files, answers, count=count, known=known, limits=limits, beside=beside
        )
        return rows, [row - counts[0] for row in others], answer


def vectors_named(compare: str | None) -> tuple[str | None, str | None]:
    """Return the vectors of either file that --compare names; None where it names none."""
    return (None, None) if compare in (None, LETTERS) else names_of(str(compare))


def answers_of_two(left: str, right: str) -> Path:
    """Return the file of answers about two files."""
    from twicetold.commands.ask import answers_beside
    from twicetold.tables.streams import STANDARD

    return answers_beside(STANDARD if STANDARD in (left, right) else f"{Path(left)}-{Path(right).name}")


def names_of(asked: str) -> tuple[str, str]:
    """Return the names of a column in the left file and in the right one.

    Raises:
        typer.BadParameter: if there are more than two, or one is empty.
    """
    from twicetold.commands._columns import split, unquoted

    names = [*map(unquoted, split(asked, "="))]
    if len(names) > 2 or not all(names):
        raise typer.BadParameter(f"expected a column of both files, or LEFT=RIGHT, got {asked!r}")
    return names[0], names[-1]


def _beside(sides: Sequence[dict[str, Any]], counts: tuple[int, int]) -> dict[str, list[str]]:
    """Further columns to show beside the n + m texts, each under the name that it has in its own file."""
    shown: dict[str, list[str]] = {}
    for start, options, count in zip((0, counts[0]), sides, counts, strict=True):
        for name, values in zip(options["names"], options["also"], strict=True):
            shown.setdefault(name, [""] * sum(counts))[start : start + count] = values
    return shown
