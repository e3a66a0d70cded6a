"""Tables of sources: columns of text, checked row by row, with an account of the rows that are left out.

Rows of public datasets are left out and counted, as nobody can correct them. Those of a file of one's own are errors,
unless they may be left out.

Shape letters: R rows of a file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.tables.bad_rows import LISTED, BadRow, BadRows, shown
from twicetold.tables.blocks import as_text, is_utf8, one_piece
from twicetold.tables.reading import Blocks, Delimited
from twicetold.tables.streams import naming

MAX_BAD_ROWS = 0.01
"""Share of the rows of a file that may be left out."""
SEPARATORS = {"\t": "tab", ",": "comma"}

OnBadRow = Literal["error", "skip"]


@dataclass(frozen=True)
class SourceTable:
    """The sound rows of a file as columns of text, and the rows that are left out."""

    path: Path
    table: pa.Table
    lines: NDArray[np.int64]
    """(R,) line of the file on which each row begins; in a Parquet file the number of the row. From 1."""
    bad: tuple[BadRow, ...] = ()
    """Rows that are left out, in the order in which they were found."""
    unit: str = "line"
    """Unit of `lines`."""
    several: int = 0
    """Rows that go on over further lines."""

    @classmethod
    def of(cls, path: Path, blocks: Blocks, columns: Sequence[str]) -> Self:
        """Return the table of some columns of text, which are trimmed."""
        parts = [(block.table.select(columns), block.lines, bad) for block, bad in blocks]
        tables, lines, bad = zip(*parts, strict=True)
        return cls(path, trimmed(pa.concat_tables(tables)), np.concatenate(lines), tuple(chain.from_iterable(bad)))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.StringArray:
        """Return (R,) one column."""
        return one_piece(self.table[name])

    def without(
        self,
        bad: pa.BooleanArray | pa.ChunkedArray | NDArray[np.bool_],
        reason: str,
        *,
        column: str | None = None,
        expected: str = "a sound row",
    ) -> Self:
        """Return the rows that are not bad.

        Args:
            bad: (R,) mask.
            reason: under which the bad rows are counted.
            column: where their fault is.
            expected: there, for messages.
        """
        mask: NDArray[np.bool_] = np.asarray(bad)
        rows = np.flatnonzero(mask)
        if not len(rows):
            return self
        got = self.table[column].take(pa.array(rows)).to_pylist() if column else [reason] * len(rows)
        faults = (
            BadRow(line, reason, f"expected {expected}; got {shown(value)}", column)
            for line, value in zip(self.lines[rows].tolist(), got, strict=True)
        )
        table = self.table.filter(pa.array(~mask))
        return replace(self, table=table, lines=self.lines[~mask], bad=(*self.bad, *faults))

    def with_texts(self, *columns: str, reason: str) -> Self:
        """Return the rows with a text in each of some columns.

        Args:
            columns: that must not be empty.
            reason: under which the other rows are counted.
        """
        empty = [np.asarray(pc.equal(self.table[column], "").fill_null(True)) for column in columns]
        return self.without(np.logical_or.reduce(empty), reason)

    def with_one_of(self, column: str, values: Iterable[str], reason: str) -> Self:
        """Return the rows whose value in a column is one of those that are allowed there."""
        return self.without(pc.invert(pc.is_in(self.table[column], pa.array(list(values)))), reason)

    def account(self, *, bad_rows: OnBadRow = "skip", max_bad_rows: float = MAX_BAD_ROWS) -> dict[str, Any]:
        """Return counts for the card: rows, rows left out by reason, and the first lines of these.

        Args:
            bad_rows: `error`: a bad row is one.
            max_bad_rows: share of the rows that may be left out.

        Raises:
            ValueError: if a row is bad and none may be left out, or more are than may be, or all.
        """
        if not 0 <= max_bad_rows <= 1:
            raise ValueError(f"data.source.max_bad_rows is a share from 0 to 1; got {max_bad_rows}")
        if self.bad and bad_rows == "error":
            named = BadRows(self.unit)
            named.add(sorted(self.bad))
            raise named.error(str(self.path), "data.source.bad_rows=skip")
        lines: dict[str, list[int]] = {row.reason: [] for row in self.bad}
        for row in sorted(self.bad):
            lines[row.reason].append(row.place)
        counts = {reason: len(places) for reason, places in lines.items()}
        first = {reason: places[:LISTED] for reason, places in lines.items()}
        bad, rows = len(self.bad), len(self) + len(self.bad)
        if bad == rows or bad > max_bad_rows * rows:
            limit = "none is sound" if bad == rows else f"at most {max_bad_rows:.1%} are left out"
            ways = "" if bad == rows else ", or leave more out with ++data.source.max_bad_rows=<share>"
            raise ValueError(
                f"{self.path}: {bad:,} of {rows:,} rows are bad ({_reasons(counts, first)}), and {limit}. The first "
                f"one is {min(self.bad).at(self.unit)}. Check that the file is whole and its columns are the right "
                f"ones{ways}"
            )
        card: dict[str, Any] = {"rows": rows, "malformed": counts}
        if counts:
            card["malformed_lines"] = first
        if self.several:
            card["rows_over_several_lines"] = self.several
        return card

    @property
    def left_out(self) -> tuple[tuple[str, int, str], ...]:
        """File, line and what is wrong, of each row that is left out, in the order of the file."""
        return tuple((self.path.name, row.place, row.why) for row in sorted(self.bad))


def left_out(card: Mapping[str, Any]) -> str:
    """Return a sentence with the rows of a card that were left out, and the first lines of each reason."""
    counts, lines = card.get("malformed", {}), card.get("malformed_lines", {})
    if any(isinstance(part, Mapping) for part in counts.values()):  # file -> reason -> count
        text = "; ".join(f"{file}: {_reasons(part, lines[file])}" for file, part in counts.items())
    else:
        text = _reasons(counts, lines)
    return f"{card['rows']:,} rows, left out: {text or 'none'}"


def read_quoted(path: Path, columns: Sequence[str], *, delimiter: str = "\t", header: bool = True) -> SourceTable:
    """Read a delimited file, whose fields may be in double quotes (and then hold line ends).

    Fields are trimmed, and nothing counts as a missing value: "n/a" and "NA" are texts.

    Args:
        path: the file.
        columns: its header, or names of its fields.
        delimiter: between fields.
        header: whether the first row names the columns.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty or its header is another one.
    """
    with _opened(path) as stream:
        named = stream if header else BytesIO(f"{delimiter.join(columns)}\n".encode() + stream.read())
        reader = Delimited(named, delimiter)
        if reader.columns != list(columns):
            raise ValueError(
                f"expected the {SEPARATORS.get(delimiter, delimiter)}-separated header {list(columns)}, "
                f"got {reader.columns}"
            )
        rows = SourceTable.of(path, reader.blocks(), columns)
    if header:
        return rows
    return replace(rows, lines=rows.lines - 1, bad=tuple(row._replace(place=row.place - 1) for row in rows.bad))


def read_unquoted(path: Path, columns: Sequence[str], *, optional: int = 0, header: bool = False) -> SourceTable:
    """Read a tab-separated file in which quotes are literal text and every line is a row.

    Args:
        path: the file.
        columns: names of the fields of a row. A line with another number of fields is malformed.
        optional: number of further fields that a row may have, all or none; they are dropped.
        header: the first row names the columns.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty, or has another header.
    """
    with _opened(path) as stream:
        data = stream.read()
        if not data.strip():
            raise ValueError("is empty: expected rows")
    raw = pa.array(data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n"), pa.binary())
    lines = raw.view(pa.string())
    rows = SourceTable(path, pa.table({"line": lines}), np.arange(1, len(lines) + 1))
    rows = rows.without(~is_utf8(lines), "not_utf8")
    parts = pc.split_pattern(pc.utf8_rtrim(rows.column("line"), "\r"), "\t")
    rows = replace(rows, table=pa.table({"parts": parts}))
    widths = np.asarray(pc.list_value_length(parts))
    rows = rows.without((widths != len(columns)) & (widths != len(columns) + optional), "wrong_column_count")
    parts = one_piece(rows.table["parts"])
    table = trimmed(pa.table({name: pc.list_element(parts, place) for place, name in enumerate(columns)}))
    if not header:
        return replace(rows, table=table)
    names = [values[0].as_py() for values in table.columns] if len(table) else []
    if names != [*columns]:
        raise ValueError(f"{path.name}: expected the tab-separated header {[*columns]}, got {names}")
    return replace(rows, table=table.slice(1), lines=rows.lines[1:])


def trimmed(table: pa.Table) -> pa.Table:
    """Return the table of texts with no white space around them."""
    columns = {name: pc.utf8_trim_whitespace(as_text(table[name])) for name in table.column_names}
    return pa.table(columns).combine_chunks()


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.name} is not in {path.parent}. Run `dvc repro download@{path.parent.name}`, which fetches it"
        )
    with path.open("rb") as stream, naming(path):
        yield stream


def _reasons(counts: Mapping[str, int], lines: Mapping[str, Sequence[int]]) -> str:
    return ", ".join(
        f"{reason} {count:,} (line {', '.join(map(str, lines[reason]))}{', …' if count > len(lines[reason]) else ''})"
        for reason, count in counts.items()
    )
