"""Delimited text files, read so that every line is accounted for.

In a file with quotes, a field that begins with a double quote must end with one, before a separator or the end of the
line, and quotes inside it are doubled (RFC 4180); only such a field may hold separators and line ends. A quote that is
not closed would swallow the rows up to the next quote. So a line is malformed, and reading goes on with the next
line, when the record that begins on it breaks this rule, or goes on over further lines and then has the wrong number
of fields or seems to have swallowed rows:

- tab-separated: a field holds both a tab and a line end;
- otherwise: the record is ten lines long or more, and each line would be a row by itself.

A record that is not UTF-8 cannot be told from one that has swallowed rows: each of its lines is malformed.

Shape letters: R rows of a file.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MAX_BAD_ROWS = 0.01
"""Share of the rows of a public file that may be malformed."""
LISTED = 10  # lines that a card names for each reason
SWALLOWED_LINES = 10
SEPARATORS = {"\t": "tab", ",": "comma"}
_INVALID = re.compile("[\udc80-\udcff]")  # what errors="surrogateescape" makes of bytes that are no UTF-8

Malformed = Mapping[str, NDArray[np.int64]]
"""Reason -> lines (from 1) that were left out for it."""


@dataclass(frozen=True)
class Rows:
    """The sound rows of a file as columns of text, and the lines of the others by reason."""

    table: pa.Table
    lines: NDArray[np.int64]
    """(R,) line of the file, from 1, on which each row begins."""
    malformed: Malformed = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.StringArray:
        """One column, in one piece."""
        return one_piece(self.table[name])

    def without(self, bad: pa.BooleanArray | pa.ChunkedArray | NDArray[np.bool_], reason: str) -> "Rows":
        """The rows that are not bad, with the lines of the bad ones listed under `reason`."""
        mask: NDArray[np.bool_] = np.asarray(bad)
        if not mask.any():
            return self
        lines = np.concatenate([self.malformed.get(reason, np.empty(0, np.int64)), self.lines[mask]])
        return replace(
            self,
            table=self.table.filter(pa.array(~mask)),
            lines=self.lines[~mask],
            malformed={**self.malformed, reason: np.sort(lines)},
        )

    def account(self, file: str, *, max_bad_rows: float = MAX_BAD_ROWS) -> dict[str, Any]:
        """What a card says about the rows: how many there were, how many were left out for what, and where.

        Args:
            file: its name, for the message.
            max_bad_rows: share of the rows that may be malformed.

        Raises:
            ValueError: if more rows are malformed, or none is sound.
        """
        if not 0 <= max_bad_rows <= 1:
            raise ValueError(f"max_bad_rows is a share from 0 to 1, got {max_bad_rows}")
        counts = {reason: len(lines) for reason, lines in self.malformed.items()}
        bad, rows = sum(counts.values()), len(self) + sum(counts.values())
        first = {reason: lines[:LISTED].tolist() for reason, lines in self.malformed.items()}
        if not len(self) or bad > max_bad_rows * rows:
            what = "has no sound row" if not len(self) else f"has more malformed rows than {max_bad_rows:.1%}"
            ways = "" if not len(self) else ", or allow more with +data.source.max_bad_rows=<share>"
            raise ValueError(
                f"{file} {what}: {bad:,} of {rows:,} are malformed, {_reasons(counts, first)}. Check that the file is "
                f"whole and of this dataset{ways}"
            )
        card: dict[str, Any] = {"rows": rows, "malformed": counts}
        return {**card, "malformed_lines": first} if counts else card


@dataclass(frozen=True)
class Records:
    """The sound records of a file with quotes, and the malformed lines."""

    values: list[str]
    """The fields of all rows, one after another: few objects, as a list for each of 400,000 rows costs seconds."""
    width: int
    lines: list[int]
    """(R,) line on which each row begins."""
    malformed: list[tuple[int, str]]
    """Line and reason, in the order of the file."""
    several: int
    """How many rows go on over further lines."""

    def column(self, place: int) -> pa.StringArray:
        """(R,) the values of one column, by its number from 0."""
        return pa.array(self.values[place :: self.width], pa.string())


def read_quoted(path: Path, columns: Sequence[str], *, delimiter: str = "\t") -> Rows:
    """Read a delimited file with a header, whose fields may be in double quotes (and then hold line ends).

    Fields are trimmed, and nothing counts as a missing value: "n/a" and "NA" are texts.

    Args:
        path: the file.
        columns: its header.
        delimiter: between fields.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty or its header is another one.
    """
    lines = lines_of(bytes_of(path).decode("utf-8-sig", errors="surrogateescape"))
    invalid = not_utf8(lines)
    header = lines[0].rstrip("\r\n").split(delimiter)
    if header != list(columns):
        raise ValueError(
            f"{path.name}: expected the {SEPARATORS.get(delimiter, delimiter)}-separated header {list(columns)}, "
            f"got {header}"
        )
    found = records(lines, delimiter=delimiter, width=len(columns), start=1, invalid=invalid)
    malformed: dict[str, list[int]] = {}
    for line, reason in found.malformed:
        malformed.setdefault(reason, []).append(line)
    table = pa.table({name: found.column(place) for place, name in enumerate(columns)})
    return Rows(
        trimmed(table),
        np.array(found.lines, np.int64),
        {reason: np.array(lines, np.int64) for reason, lines in malformed.items()},
    )


def read_unquoted(path: Path, columns: Sequence[str], *, optional: int = 0) -> Rows:
    """Read a tab-separated file without header, in which quotes are literal text and every line is a row.

    Args:
        path: the file.
        columns: names of the fields of a row. A line with another number of fields is malformed.
        optional: number of further fields that a row may have, all or none; they are dropped.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty.
    """
    raw = pa.array(bytes_of(path).removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n"), pa.binary())
    lines = raw.view(pa.string())
    rows = Rows(pa.table({"line": lines}), np.arange(1, len(lines) + 1)).without(~is_utf8(lines), "not_utf8")
    parts = pc.split_pattern(pc.utf8_rtrim(rows.column("line"), "\r"), "\t")
    rows = replace(rows, table=pa.table({"parts": parts}))
    widths = np.asarray(pc.list_value_length(parts))
    rows = rows.without((widths != len(columns)) & (widths != len(columns) + optional), "wrong_column_count")
    parts = one_piece(rows.table["parts"])
    return replace(
        rows, table=trimmed(pa.table({name: pc.list_element(parts, place) for place, name in enumerate(columns)}))
    )


def records(
    lines: Sequence[str], *, delimiter: str, width: int, start: int, invalid: Set[int] = frozenset()
) -> Records:
    """Split the lines of a file with quotes into records; empty lines are none.

    Args:
        lines: of the whole file, with their ends.
        delimiter: between fields.
        width: fields of a record.
        start: number of lines to pass over, the header's.
        invalid: lines, from 1, that are not UTF-8.
    """
    found = Records([], width, [], [], 0)
    several = 0
    while start < len(lines):
        begin = start
        reader = csv.reader(map(lines.__getitem__, range(start, len(lines))), delimiter=delimiter, strict=True)
        try:
            for row in reader:
                end = start + reader.line_num
                if end - begin > 1:
                    _check_that_nothing_was_swallowed(row, lines[begin:end], delimiter=delimiter, width=width)
                if invalid and not invalid.isdisjoint(range(begin + 1, end + 1)):
                    full = [number for number in range(begin, end) if lines[number].strip("\r\n")]
                    found.malformed.extend((number + 1, "not_utf8") for number in full)
                elif len(row) == width:
                    found.values.extend(row)
                    found.lines.append(begin + 1)
                    several += end - begin > 1
                elif row:
                    found.malformed.append((begin + 1, "wrong_column_count"))
                begin = end
            break
        except csv.Error:
            too_long = len(lines[begin]) > csv.field_size_limit()
            found.malformed.append((begin + 1, "field_too_long" if too_long else "unclosed_quote"))
            start = begin + 1
    return replace(found, several=several)


def _check_that_nothing_was_swallowed(row: list[str], lines: Sequence[str], *, delimiter: str, width: int) -> None:
    if delimiter == "\t":
        swallowed = any(delimiter in value and ("\n" in value or "\r" in value) for value in row)
    else:
        swallowed = len(lines) >= SWALLOWED_LINES and all(line.count(delimiter) == width - 1 for line in lines)
    if swallowed or len(row) != width:
        raise csv.Error("a quote is not closed where it should be")


def not_utf8(lines: Sequence[str]) -> set[int]:
    """Numbers, from 1, of the lines with bytes that are no UTF-8, of a text that was read with surrogateescape."""
    return {number for number, line in enumerate(lines, 1) if not line.isascii() and _INVALID.search(line)}


def lines_of(text: str) -> list[str]:
    r"""The lines of a text with their ends, which are \n, \r\n or \r and nothing else."""
    return io.StringIO(text, newline="").readlines()


def bytes_of(path: Path) -> bytes:
    """The content of a file.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.name} is not in {path.parent}. Run `dvc repro download@{path.parent.name}`, which fetches it"
        )
    data = path.read_bytes()
    if not data.strip():
        raise ValueError(f"{path} is empty: expected rows of data")
    return data


def one_piece(column: pa.ChunkedArray) -> pa.Array:
    """A column of a table as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def trimmed(table: pa.Table) -> pa.Table:
    """The table with no white space around its texts."""
    return pa.table({name: pc.utf8_trim_whitespace(table[name]) for name in table.column_names})


def is_utf8(values: pa.StringArray) -> NDArray[np.bool_]:
    """(R,) whether each value is valid UTF-8. Rows are looked at one by one only when some row is not."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([_decodes(value) for value in values.view(pa.binary()).to_pylist()])
    return np.ones(len(values), bool)


def left_out(card: Mapping[str, Any]) -> str:
    """A sentence with the rows of a card that were left out, and the first lines of each reason."""
    counts, lines = card.get("malformed", {}), card.get("malformed_lines", {})
    if any(isinstance(part, Mapping) for part in counts.values()):  # file -> reason -> count
        text = "; ".join(f"{file}: {_reasons(part, lines[file])}" for file, part in counts.items())
    else:
        text = _reasons(counts, lines)
    return f"{card['rows']:,} rows, left out: {text or 'none'}"


def _reasons(counts: Mapping[str, int], lines: Mapping[str, Sequence[int]]) -> str:
    return ", ".join(
        f"{reason} {count:,} (line {', '.join(map(str, lines[reason]))}{', …' if count > len(lines[reason]) else ''})"
        for reason, count in counts.items()
    )


def _decodes(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
