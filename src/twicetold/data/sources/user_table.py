"""A user's own table, whose rows are checked one by one.

A bad row is an error that names it, as you can correct your own file. On request bad rows are left out instead: each is
counted, and listed with its line and what is wrong with it.

Shape letters: R rows of the file.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.data.splits import TEST, TRAIN, VAL, Side
from twicetold.tables.delimited import LISTED, MAX_BAD_ROWS, one_piece, trimmed
from twicetold.tables.user_file import SUFFIXES, TO_SKIP, BadRow, OnBadRow, read_columns, shown, unit

LARGEST_GRADE = 1e6  # 32-bit floats, which grades become, tell numbers up to here apart by less than 0.1
SIDE_NAMES = {"train": TRAIN, "val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}


class BadRowsError(ValueError):
    """Rows that fail a check.

    Args:
        message: about the first of them.
        rows: (R,) whether each row fails.
        bad: one entry for each row that fails, in their order.
    """

    def __init__(self, message: str, rows: NDArray[np.bool_], bad: Sequence[BadRow]) -> None:
        super().__init__(message)
        self.rows, self.bad = rows, bad


@dataclass(frozen=True)
class UserTable:
    """Columns of text from a user's own file, with checks that name the bad row."""

    path: Path
    table: pa.Table
    places: NDArray[np.int64]
    """(R,) line on which each row begins; in a Parquet file the number of the row. From 1."""
    bad: tuple[BadRow, ...] = ()
    """Rows that are left out, in the order in which they were found."""
    several: int = 0
    """Of CSV and TSV: rows that go on over further lines."""

    @classmethod
    def read(cls, path: Path, columns: Sequence[str], *, bad_rows: OnBadRow = "error") -> "UserTable":
        """Read the given columns as text.

        Args:
            path: the file.
            columns: by name.
            bad_rows: `skip` leaves rows out that cannot be read; `error`: such a row is an error.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the suffix is unknown, a column is missing, the file has no rows or cannot be read.
        """
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}; got {suffix!r}")
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path.absolute()}: check data.source.path")
        rows = read_columns(path, list(dict.fromkeys(columns)), bad_rows)
        if not rows.table.num_rows and not rows.bad:
            raise ValueError(f"{path} has no rows: expected at least one for each of train, val and test")
        return cls(path, trimmed(rows.table), rows.places, rows.bad, rows.several)

    def sound(
        self,
        *checks: Callable[["UserTable"], object],
        bad_rows: OnBadRow = "error",
        max_bad_rows: float = MAX_BAD_ROWS,
    ) -> "UserTable":
        """The table without the rows that fail a check, if they may be left out.

        Args:
            checks: readings of columns, such as `lambda table: table.labels("same")`.
            bad_rows: `skip` leaves the rows out that fail; `error`: such a row is an error.
            max_bad_rows: share of the rows of the file that may be left out.

        Raises:
            ValueError: if a row fails and none may be left out, or more than may be, or all.
        """
        if not 0 <= max_bad_rows <= 1:
            raise ValueError(f"data.source.max_bad_rows is a share from 0 to 1; got {max_bad_rows}")
        table = self
        for check in checks:
            table = table._passing(check, bad_rows)
        bad, rows = len(table.bad), len(table.places) + len(table.bad)
        if bad > max_bad_rows * rows or bad == rows:
            first = min(table.bad)
            ways = "" if bad == rows else ", or leave more out with data.source.max_bad_rows=<share>"
            raise ValueError(
                f"{self.path}: {bad:,} of {rows:,} rows are bad "
                f"({', '.join(f'{reason} {count:,}' for reason, count in table._reasons().items())}), and at most "
                f"{max_bad_rows:.1%} are left out. The first one is {unit(self.path)} {first.place}: {first.why}. "
                f"Check that the file is whole and its columns are the right ones{ways}"
            )
        return table

    @property
    def card(self) -> dict[str, Any]:
        """For the card: `rows` of the file, those left out by reason and the first lines of each."""
        reasons = self._reasons()
        first = {reason: sorted(row.place for row in self.bad if row.reason == reason)[:LISTED] for reason in reasons}
        card: dict[str, Any] = {"rows": len(self.places) + len(self.bad), "malformed": reasons}
        if reasons:
            card["malformed_lines"] = first
        if self.several:
            card["rows_over_several_lines"] = self.several
        return card

    @property
    def left_out(self) -> tuple[tuple[str, int, str], ...]:
        """File, line and what is wrong, of each row that is left out, in the order of the file."""
        return tuple((self.path.name, row.place, row.why) for row in sorted(self.bad))

    def filled(self, column: str, expected: str = "a text", *, reason: str = "empty") -> pa.StringArray:
        """(R,) a column in which no row may be empty."""
        values = one_piece(self.table[column])
        good = pc.not_equal(values, "").fill_null(False)
        self._check(column, good, expected=f"{expected}, not an empty one", reason=reason)
        return values

    def unique(self, column: str) -> pa.StringArray:
        """(R,) a column in which no value may be empty or repeated."""
        values = self.filled(column)
        _, first = np.unique(np.asarray(values.dictionary_encode().indices), return_index=True)
        new = np.zeros(len(values), bool)
        new[first] = True
        self._check(column, pa.array(new), expected="an id that no earlier row has", reason="repeated_id")
        return values

    def or_null(self, column: str) -> pa.StringArray:
        """(R,) a column in which an empty value means that it is not known."""
        values = one_piece(self.table[column])
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
        if values.null_count == len(values):
            raise ValueError(f"{self.path}: column {column!r} is empty in every row")
        return values

    def sides(self, column: str) -> Side:
        """(R,) side of the split that each row names."""
        names = pc.utf8_lower(self.filled(column, reason="bad_split"))
        places = pc.index_in(names, pa.array(list(SIDE_NAMES)))
        self._check(column, places.is_valid(), expected=f"one of {', '.join(SIDE_NAMES)}", reason="bad_split")
        sides = np.array(list(SIDE_NAMES.values()), np.int8)
        return sides.take(np.asarray(places))

    def labels(self, column: str) -> NDArray[np.float32]:
        """(R,) 1 or 0, from 1, 0, true or false."""
        names = pc.utf8_lower(self.filled(column, expected := "0, 1, true or false", reason="bad_label"))
        good = pc.is_in(names, pa.array(["0", "1", "true", "false"]))
        self._check(column, good, expected=expected, reason="bad_label")
        return np.asarray(pc.is_in(names, pa.array(["1", "true"]))).astype(np.float32)

    def grades(self, column: str) -> NDArray[np.float32]:
        """(R,) numbers, none larger than `LARGEST_GRADE` in either direction."""
        expected = f"a number from {-LARGEST_GRADE:,.0f} to {LARGEST_GRADE:,.0f}"
        values = self.filled(column, expected, reason="bad_grade")
        number = pc.match_substring_regex(values, r"^[+-]?([0-9]{1,30}\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$")
        self._check(column, number, expected=expected, reason="bad_grade")
        grades = np.asarray(pc.cast(pc.utf8_ltrim(values, "+"), pa.float64()))
        self._check(column, pa.array(np.abs(grades) <= LARGEST_GRADE), expected=expected, reason="bad_grade")
        return grades.astype(np.float32)

    def _check(self, column: str, good: pa.BooleanArray, *, expected: str, reason: str) -> None:
        wrong = ~np.asarray(good)
        rows = np.flatnonzero(wrong)
        if not len(rows):
            return
        got = self.table[column].take(pa.array(rows)).to_pylist()
        bad = [
            BadRow(int(place), reason, f"column {column!r}: expected {expected}; got {shown(value)}")
            for place, value in zip(self.places[rows], got, strict=True)
        ]
        more = f" ({len(bad):,} rows are like this)" if len(bad) > 1 else ""
        where = f"{self.path}, {unit(self.path)} {bad[0].place}"
        raise BadRowsError(f"{where}, {bad[0].why}{more}. Correct it; {TO_SKIP}", wrong, bad)

    def _passing(self, check: Callable[["UserTable"], object], bad_rows: OnBadRow) -> "UserTable":
        """The table without the rows that fail a check; a reading checks one thing after another."""
        table = self
        while len(table.places):
            try:
                check(table)
            except BadRowsError as error:
                if bad_rows == "error":
                    raise
                table = table._without(error.rows, error.bad)
            else:
                break
        return table

    def _without(self, rows: NDArray[np.bool_], bad: Sequence[BadRow]) -> "UserTable":
        kept = self.table.filter(pa.array(~rows))
        return replace(self, table=kept, places=self.places[~rows], bad=(*self.bad, *bad))

    def _reasons(self) -> dict[str, int]:
        return dict(Counter(row.reason for row in self.bad))
