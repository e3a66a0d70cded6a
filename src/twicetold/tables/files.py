"""Files of rows with texts: read in blocks, and written with further columns, in constant memory.

    with open_rows("questions.csv") as rows, write_rows("out.csv") as write:
        column = choose_text(rows)
        for block in rows.blocks([column]):
            write(block.with_columns({"length": [len(text) for text in block.texts(column)]}))

Formats are CSV and TSV (a header, quotes as in RFC 4180, separators as in `tables.separators`), JSON lines, Parquet and
the first sheet of .xlsx, by the suffix of the file, and `.gz` or `.zst` may follow it; `-` is standard input or output.
All other columns stay as they are: those of text formats are texts, and an object of JSON lines that goes to JSON lines
keeps its spelling. Every bad row is named.
"""

import difflib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.files import csv_text
from twicetold.tables import reading, streams, writing
from twicetold.tables.bad_rows import BadRow, BadRows, shown
from twicetold.tables.blocks import Block, decoded
from twicetold.tables.cells import delimited_texts
from twicetold.tables.separators import SEPARATORS, USUAL, separator_of

TEXT_COLUMNS = ("text", "title", "question")
PAIR_COLUMNS = (
    ("left_text", "right_text"),  # beside left and right, which name their rows
    ("question1", "question2"),
    ("left", "right"),
    ("sentence1", "sentence2"),
    ("text_a", "text_b"),
)
SHOWN_COLUMNS = 30  # in a message
FORMAT = f"say --format {' or '.join(streams.FORMATS)}"
SHEET = "save the sheet as .xlsx or CSV (UTF-8) in the spreadsheet program, and give that file"
INSTEAD = {
    **dict.fromkeys((".xls", ".ods"), SHEET),
    ".json": f"{FORMAT}, with an object a line; `jq -c '.[]' in.json > in.jsonl` makes lines of one array",
    ".txt": f"{FORMAT}; if each line is a text, `(echo text; cat in.txt) > in.tsv` puts a column's name above them",
}
"""What to do with files of other kinds, by their suffix."""

Write: TypeAlias = Callable[[Block], None]


@dataclass
class Rows:
    """An open file.

    Args:
        name: of the file, for messages.
        format: one of `streams.FORMATS`.
        reader: of the format.
        delimiter: between fields of a .csv file that is written of its rows; None: a comma.
    """

    name: str
    format: str
    reader: reading.Reader
    delimiter: str | None = None
    count: int = 0
    """Rows that were read, without the bad ones."""
    bad: BadRows = field(init=False)

    def __post_init__(self) -> None:
        self.bad = BadRows(self.unit)

    @property
    def columns(self) -> list[str]:
        """Names of the columns; of JSON lines, the keys of the first rows."""
        return self.reader.columns

    @property
    def unit(self) -> str:
        """Unit of the places of rows: `line` or, in Parquet, `row`."""
        return "row" if self.format in streams.WHOLE else "line"

    def blocks(self, texts: Sequence[str], *, skip_bad: bool = False) -> Iterator[Block]:
        """Yield all rows, once; at least one block, which may have no rows.

        Args:
            texts: see `sound`.
            skip_bad: leave bad rows out; `bad` has them.

        Raises:
            ValueError: unless `skip_bad`, if there are bad rows; after the whole file was read, so that it names them.
        """
        for block, bad in self.sound(texts):
            self.bad.add(bad)
            if skip_bad or not self.bad.count:
                self.count += len(block)
                yield block
        if self.bad.count and not skip_bad:
            raise self.bad.error(self.name, "--skip-bad")

    def sound(self, texts: Sequence[str], *, columns: Sequence[str] | None = None) -> reading.Blocks:
        """Yield the rows that can be used and those that cannot, block by block, each row once.

        Args:
            texts: columns with texts. A row is bad if one of them is missing, empty or white space alone.
            columns: all that are needed; None: those of the file.

        Raises:
            ValueError: if there is no such column, or the file cannot be read.
        """
        for column in [*texts, *(columns or [])]:
            self.require(column)
        with streams.naming(self.name):
            for block, malformed in self.reader.blocks(texts, columns=columns):
                empty = _empty(block, texts)
                sound = np.ones(len(block), bool)
                sound[list(empty)] = False
                yield block if sound.all() else block.where(sound), sorted([*malformed, *empty.values()])

    def require(self, column: str) -> None:
        """Check that there is a column of this name.

        Raises:
            ValueError: if there is none, or several.
        """
        if self.columns.count(column) > 1:
            raise ValueError(f"{self.name}: the column {column!r} is there {self.columns.count(column)} times")
        if column not in self.columns:
            close = difflib.get_close_matches(column, self.columns, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{self.name}: there is no column {column!r}.{hint} {self._listed()}")

    def _listed(self) -> str:
        names = ", ".join(repr(name[:60]) for name in self.columns[:SHOWN_COLUMNS])
        listed = f"Columns there are: {names}{', …' if len(self.columns) > SHOWN_COLUMNS else ''}"
        if len(self.columns) != 1 or not isinstance(self.reader, reading.Delimited):
            return listed
        other = next((name for name, each in SEPARATORS.items() if each in self.columns[0]), None)
        if other is None:
            return listed
        return f"{listed}. That is one column. If fields are separated by a {other}: --format csv:{other}"


def choose_text(rows: Rows, asked: str | None = None) -> str:
    """Return the column with the texts: the one asked for, or the first of the usual names that is there.

    Raises:
        ValueError: if there is none.
    """
    if asked is not None:
        rows.require(asked)
        return asked
    for name in TEXT_COLUMNS:
        if name in rows.columns:
            return name
    raise ValueError(
        f"{rows.name}: which column has the texts? Name it with --text, as it is none of {', '.join(TEXT_COLUMNS)}. "
        f"{rows._listed()}"
    )


def choose_pair(rows: Rows, left: str | None = None, right: str | None = None) -> tuple[str, str]:
    """Return the columns with the two texts of a pair: those asked for, or the first of the usual names that are there.

    Raises:
        ValueError: if there are none, or one alone is asked for.
    """
    if left is not None and right is not None:
        rows.require(left)
        rows.require(right)
        return left, right
    if left is not None or right is not None:
        raise ValueError("name both columns of a pair, with --left and --right, or none")
    for pair in PAIR_COLUMNS:
        if set(pair) <= set(rows.columns):
            return pair
    usual = "; ".join(" and ".join(pair) for pair in PAIR_COLUMNS)
    raise ValueError(
        f"{rows.name}: which columns have the two texts? Name them with --left and --right, as they are none of "
        f"{usual}. {rows._listed()}"
    )


@contextmanager
def open_rows(file: str | Path, *, format: str | None = None, delimiter: str | None = None) -> Iterator[Rows]:
    """Open a file of rows.

    Args:
        file: its path, or `-` for standard input.
        format: one of `streams.FORMATS`, for a file without a known suffix.
        delimiter: between fields of .csv and .tsv, by name or itself (`tables.separators`); None: detected.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the format or the delimiter is not known, or the file has no columns.
    """
    streams.require_file(file)  # before its name is found to say no format
    asked = separator_of(delimiter)
    format = streams.format_of(file, format, way=INSTEAD.get(Path(file).suffix.lower(), FORMAT))
    with streams.reading(file, whole=format in streams.WHOLE) as stream:
        with streams.naming(file):
            if format == "parquet":
                reader: reading.Reader = reading.Parquet(stream)
            elif format == "xlsx":
                from twicetold.tables.sheets import Sheet

                reader = Sheet(stream)
            elif format in USUAL:
                reader = reading.Delimited(stream, asked or USUAL[format], recognise=asked is None)
            else:
                reader = reading.JsonLines(stream)
        taken = reader.delimiter if isinstance(reader, reading.Delimited) and format == "csv" else asked
        yield Rows(streams.name_of(file), format, reader, taken)


def require_table(file: str | Path) -> None:
    """Check that the suffix of a file to write is not that of another kind of file, which nothing here writes.

    Raises:
        ValueError: if it is, such as .xls; `.txt` and unknown ones may have any format.
    """
    suffix = Path(file).suffix.lower()
    if suffix in INSTEAD.keys() - {".txt"}:
        usable = ", ".join(streams.SUFFIXES)
        raise ValueError(f"{file}: expected a file to write that ends in {usable}; got {suffix!r}")


@contextmanager
def write_rows(
    file: str | Path, *, format: str | None = None, delimiter: str | None = None, at_once: bool = True
) -> Iterator[Write]:
    """Yield a function that writes blocks. A file is there only once all of it is written; an error leaves none.

    Args:
        file: its path, or `-` for standard output.
        format: one of `streams.FORMATS`, for a file without a known suffix.
        delimiter: between fields of .csv, such as that of the `Rows`; None: a comma. Those of .tsv have tabs.
        at_once: to standard output or a pipe, write nothing before all is done, from a temporary file; if False,
            each block as it comes.

    Raises:
        ValueError: if the format is not known, or is Parquet and the file a terminal.
    """
    require_table(file)
    format = streams.format_of(file, format)
    if format in streams.WHOLE and str(file) == streams.STANDARD and sys.stdout.isatty():
        raise ValueError(f"a terminal cannot show {format}: name a file with -o, or say --format csv")
    with streams.writing(file, at_once=at_once or format in streams.WHOLE) as stream:
        if format == "parquet":
            writer: writing.Writer = writing.ParquetWriter(stream)
        elif format == "xlsx":
            from twicetold.tables.sheets import SheetWriter

            writer = SheetWriter(stream)
        elif format in USUAL:
            taken = separator_of(delimiter) if format == "csv" else None
            writer = writing.DelimitedWriter(stream, taken or USUAL[format])
        else:
            writer = writing.JsonLinesWriter(stream)
        yield writer.write
        writer.close()


def _empty(block: Block, texts: Sequence[str]) -> dict[int, BadRow]:
    """Return the rows with a missing or empty text, by their number in the block."""
    bad: dict[int, BadRow] = {}
    for column in texts:
        values = pc.utf8_trim_whitespace(pc.cast(decoded(block.table[column]), pa.string()))
        empty = np.asarray(pc.fill_null(pc.equal(values, ""), True))
        for row in np.flatnonzero(empty).tolist():
            what = f"expected a text, not an empty one; got {shown(values[row].as_py())}"
            if block.objects is None:
                content = csv_text([delimited_texts(each)[0] or "" for each in block.table.slice(row, 1).columns], [])
            else:
                content = block.objects[row].as_py()
            bad.setdefault(row, BadRow(int(block.lines[row]), "empty", what, column, content))
    return bad
