"""Files of rows with texts: read in blocks, and written with further columns, in constant memory.

    with open_rows("questions.csv") as rows, write_rows("out.csv") as write:
        column = choose_text(rows)
        for block in rows.blocks([column]):
            write(block.with_columns({"length": [len(text) for text in block.texts(column)]}))

Formats are CSV and TSV (a header, quotes as in RFC 4180), JSON lines and Parquet, by the suffix of the file; `.gz`
after the suffix of a text format; `-` is standard input or output. All other columns stay as they are: those of text
formats are texts, and an object of JSON lines that goes to JSON lines keeps its spelling. Every bad row is named.
"""

import difflib
import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.files import write_file
from twicetold.tables import reading, writing
from twicetold.tables.blocks import Block

STANDARD = "-"  # input or output
DELIMITERS = {"csv": ",", "tsv": "\t"}
FORMATS = (*DELIMITERS, "jsonl", "parquet")
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
TEXT_COLUMNS = ("text", "title", "question")
PAIR_COLUMNS = (
    ("question1", "question2"),
    ("left", "right"),
    ("sentence1", "sentence2"),
    ("text_a", "text_b"),
)
LISTED = 10  # bad rows that are named

Write: TypeAlias = Callable[[Block], None]


@dataclass
class BadRows:
    """The rows of a file that cannot be used: the first ten, and how many there are."""

    count: int = 0
    listed: list[str] = field(default_factory=list)

    def add(self, found: reading.Bad, unit: str) -> None:
        """Note rows, in the order of the file."""
        self.count += len(found)
        self.listed += [f"{unit} {line}: {what}" for line, what in found[: LISTED - len(self.listed)]]

    def __str__(self) -> str:
        more = [f"and {self.count - len(self.listed):,} more"] if self.count > len(self.listed) else []
        return "\n".join(f"  {line}" for line in [*self.listed, *more])


@dataclass
class Rows:
    """An open file.

    Args:
        name: of the file, for messages.
        format: one of `FORMATS`.
        reader: of the format.
    """

    name: str
    format: str
    reader: reading.Reader
    count: int = 0
    """Rows that were read, without the bad ones."""
    bad: BadRows = field(default_factory=BadRows)

    @property
    def columns(self) -> list[str]:
        """Names of the columns; of JSON lines, the keys of the first rows."""
        return self.reader.columns

    def blocks(self, texts: Sequence[str], *, skip_bad: bool = False) -> Iterator[Block]:
        """All rows, once; at least one block, which may have no rows.

        Args:
            texts: columns with texts. A row is bad if one of them is missing, empty or white space alone.
            skip_bad: leave bad rows out; `bad` has them.

        Raises:
            ValueError: unless `skip_bad`, if there are bad rows; after the whole file was read, so that it names them.
        """
        for column in texts:
            self.require(column)
        unit = "row" if self.format == "parquet" else "line"
        with _naming(self.name):
            for block, malformed in self.reader.blocks(texts):
                empty = _empty(block, texts)
                kept = np.ones(len(block), bool)
                kept[list(empty)] = False
                places = [(int(block.lines[row]), what) for row, what in empty.items()]
                self.bad.add(sorted([*malformed, *places]), unit)
                if skip_bad or not self.bad.count:
                    self.count += int(kept.sum())
                    yield block if kept.all() else block.where(kept)
        if self.bad.count and not skip_bad:
            rows = "1 row" if self.bad.count == 1 else f"{self.bad.count:,} rows"
            raise ValueError(
                f"{self.name}: {rows} cannot be used. Correct them, or leave them out with --skip-bad:\n{self.bad}"
            )

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
        shown = ", ".join(repr(name[:60]) for name in self.columns[:30])
        return f"Columns there are: {shown}{', …' if len(self.columns) > 30 else ''}"


def choose_text(rows: Rows, asked: str | None = None) -> str:
    """The column with the texts: the one asked for, or the first of the usual names that is there.

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
    """The columns with the two texts of a pair: those asked for, or the first of the usual names that are there.

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
def open_rows(file: str | Path, *, format: str | None = None) -> Iterator[Rows]:
    """Open a file of rows.

    Args:
        file: its path, or `-` for standard input.
        format: one of `FORMATS`, for a file without a known suffix.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the format is not known, or the file has no columns.
    """
    name = "standard input" if str(file) == STANDARD else str(file)
    format = _format(file, format)
    if format is None:
        raise ValueError(f"{name}: the format is not known by the suffix; say --format {' or '.join(FORMATS)}")
    with ExitStack() as stack:
        stream = stack.enter_context(_input(file, whole=format == "parquet"))
        with _naming(name):
            if format == "parquet":
                reader: reading.Reader = reading.Parquet(stream)
            else:
                delimited = format in DELIMITERS
                reader = reading.Delimited(stream, DELIMITERS[format]) if delimited else reading.JsonLines(stream)
        yield Rows(name, format, reader)


@contextmanager
def write_rows(file: str | Path, *, format: str | None = None, at_once: bool = True) -> Iterator[Write]:
    """Yield a function that writes blocks. A file is there only once all of it is written; an error leaves none.

    Args:
        file: its path, or `-` for standard output.
        format: one of `FORMATS`, for a file without a known suffix.
        at_once: to standard output or a pipe, write nothing before all is done, from a temporary file; if False,
            each block as it comes.

    Raises:
        ValueError: if the format is not known.
    """
    format = _format(file, format)
    if format is None:
        raise ValueError(f"{file}: the format is not known by the suffix; use one of {', '.join(SUFFIXES)}")
    with _output(file, at_once=at_once or format == "parquet") as stream:
        if format == "parquet":
            writer: writing.Writer = writing.Parquet(stream)
        elif format in DELIMITERS:
            writer = writing.Delimited(stream, DELIMITERS[format])
        else:
            writer = writing.JsonLines(stream)
        yield writer.write
        writer.close()


def is_one_file(one: str | Path, other: str | Path) -> bool:
    """Whether two files to write are the same one, however they are spelt; devices such as /dev/null take both."""
    if str(one) == str(other) == STANDARD:
        return True
    try:
        found, further = _status(one), _status(other)
    except (FileNotFoundError, io.UnsupportedOperation):  # the latter: standard output is captured
        return Path(one).resolve() == Path(other).resolve()
    return os.path.samestat(found, further) and not stat.S_ISCHR(found.st_mode)


def _status(file: str | Path) -> os.stat_result:
    return os.fstat(sys.stdout.fileno()) if str(file) == STANDARD else Path(file).stat()


def _format(file: str | Path, asked: str | None) -> str | None:
    if asked is not None and asked not in FORMATS:
        raise ValueError(f"expected one of {', '.join(FORMATS)} as format, got {asked!r}")
    path = Path(file)
    return SUFFIXES.get(Path(path.stem).suffix.lower() if _is_gzip(path) else path.suffix.lower(), asked)


def _is_gzip(file: str | Path) -> bool:
    return Path(file).suffix.lower() == ".gz"


@contextmanager
def _input(file: str | Path, *, whole: bool) -> Iterator[IO[bytes]]:
    """A stream of bytes; one that can go back, if `whole`."""
    path = Path(file)
    with ExitStack() as stack:
        if str(file) == STANDARD:
            stream: IO[bytes] = sys.stdin.buffer
        elif path.is_dir():
            raise ValueError(f"{path} is a folder: expected a file")
        elif not path.exists():
            raise FileNotFoundError(f"there is no file {path.absolute()}")
        else:
            stream = stack.enter_context(path.open("rb"))
            if _is_gzip(path):
                stream = stack.enter_context(cast(IO[bytes], gzip.GzipFile(fileobj=stream)))
        if whole and not stream.seekable():
            spool = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(stream, spool)
            stream = spool
        yield stream


@contextmanager
def _output(file: str | Path, *, at_once: bool) -> Iterator[IO[bytes]]:
    path = Path(file)
    standard = str(file) == STANDARD
    if not standard and path.is_dir():
        raise ValueError(f"{path} is a folder: expected a file to write")
    if standard or (path.exists() and not path.is_file()):  # a pipe, /dev/null
        with ExitStack() as stack:
            stream: IO[bytes] = sys.stdout.buffer if standard else stack.enter_context(path.open("wb"))
            if isinstance(stream, io.RawIOBase):  # PYTHONUNBUFFERED: a write may write a part alone
                stream = stack.enter_context(os.fdopen(os.dup(stream.fileno()), "wb"))
            if not at_once:
                yield stream
                return
            with tempfile.TemporaryFile() as spool:
                yield spool
                spool.seek(0)
                shutil.copyfileobj(spool, stream)
                stream.flush()
        return
    with write_file(path.resolve()) as temporary, temporary.open("wb") as stream:
        if _is_gzip(path):
            with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield stream


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Put the name of the file before messages about its content."""
    try:
        yield
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        message = str(error)
        raise ValueError(message if message.startswith(name) else f"{name}: {message}") from error


def _empty(block: Block, texts: Sequence[str]) -> dict[int, str]:
    """The rows with a missing or empty text -> what is wrong with them."""
    found: dict[int, str] = {}
    for column in texts:
        values = pc.utf8_trim_whitespace(pc.cast(block.table[column], pa.string()))
        empty = np.asarray(pc.fill_null(pc.equal(values, ""), True))
        for row in np.flatnonzero(empty).tolist():
            found.setdefault(row, f"expected a text in column {column!r}, got {block.table[column][row].as_py()!r:.20}")
    return found
