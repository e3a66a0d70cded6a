"""Rows of a file that cannot be used: where they are, and what is wrong with them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from twicetold.tables.blocks import Block

LISTED = 10  # bad rows that are named
INVALID = re.compile("[\udc80-\udcff]")  # what errors="surrogateescape" makes of bytes that are no UTF-8
CONVERT = "If the file is of another encoding, convert it, say with `iconv -f WINDOWS-1252 -t UTF-8`"


class BadRow(NamedTuple):
    """A row that cannot be used."""

    place: int
    """Line on which it begins; in a Parquet file the number of the row. From 1."""
    reason: str
    """Kind by which bad rows are counted: `bad_label`."""
    what: str
    """Expected and actual value: `expected 0, 1, true or false; got 'maybe'`."""
    column: str | None = None
    """The column, if one alone is at fault."""
    content: str = ""
    """The line, or the fields of a row without a text; empty of a row of Parquet that is not UTF-8."""

    @property
    def why(self) -> str:
        """The column, if it is one, and what is wrong."""
        return self.what if self.column is None else f"column {self.column!r}: {self.what}"

    def at(self, unit: str) -> str:
        """Return the reason with the place, which is a `line` or a `row`."""
        return f"{unit} {self.place}{': ' if self.column is None else ', '}{self.why}"


@dataclass
class BadRows:
    """The bad rows of a file: the first ones, and how many there are.

    Args:
        unit: what places count, `line` or `row`.
        rows: all bad rows; None: they are not kept.
    """

    unit: str = "line"
    count: int = 0
    listed: list[str] = field(default_factory=list)
    rows: list[BadRow] | None = None

    def add(self, rows: Sequence[BadRow]) -> None:
        """Note rows, in the order of the file."""
        self.count += len(rows)
        if self.rows is not None:
            self.rows += rows
        self.listed += [row.at(self.unit) for row in rows[: LISTED - len(self.listed)]]

    def __str__(self) -> str:
        more = [f"and {self.count - len(self.listed):,} more"] if self.count > len(self.listed) else []
        return "\n".join(f"  {line}" for line in [*self.listed, *more])

    def error(self, file: str, way: str) -> ValueError:
        """Return the error that names them.

        Args:
            file: its name.
            way: how they are left out.
        """
        rows, them = ("1 row", "it") if self.count == 1 else (f"{self.count:,} rows", "them")
        return ValueError(f"{file}: {rows} cannot be used. Correct {them}, or leave {them} out with {way}:\n{self}")


def table_of(bad: Sequence[BadRow], unit: str) -> Block:
    """Return bad rows as rows: where they are, why, and their content, with escapes for invalid bytes.

    Args:
        bad: the rows.
        unit: what their places count.
    """
    places = np.array([row.place for row in bad], np.int64)
    content = (row.content.rstrip("\r\n").encode("utf-8", "surrogateescape") for row in bad)
    columns = {
        unit: pa.array(places),
        "why": pa.array([row.why for row in bad], pa.string()),
        "content": pa.array([each.decode("utf-8", "backslashreplace") for each in content], pa.string()),
    }
    return Block(pa.table(columns), places)


def shown(value: str | None) -> str:
    """Return a value for a message, cut where it is long."""
    return repr(value) if value is None or len(value) <= 60 else f"{value[:60]!r}…"


def not_utf8(text: str) -> str:
    """Describe the fault of a line that was read with `surrogateescape`, or with another line of its record."""
    invalid = INVALID.search(text)
    byte = f"got the byte 0x{ord(invalid[0]) - 0xDC00:02x}" if invalid else "which another line of this row is not"
    return f"expected UTF-8, {byte}. {CONVERT}"


def invalid_lines(lines: Sequence[str]) -> set[int]:
    """Return numbers, from 1, of the lines with bytes that are no UTF-8."""
    return {number for number, line in enumerate(lines, 1) if not line.isascii() and INVALID.search(line)}
