"""A user's own table, whose rows are checked one by one.

A bad row is an error that names it, as you can correct your own file. On request bad rows are left out instead: each is
counted, and listed with its line and what is wrong with it.

Shape letters: R rows of the file.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.data.sources.public_table import MAX_BAD_ROWS, card_of, trimmed
from twicetold.data.splits import TEST, TRAIN, VAL, Side
from twicetold.tables.bad_rows import BadRow, BadRows, shown
from twicetold.tables.blocks import as_text, one_piece
from twicetold.tables.files import open_rows
from twicetold.tables.streams import format_of

LARGEST_GRADE = 1e6  # 32-bit floats, which grades become, tell numbers up to here apart by less than 0.1
SIDE_NAMES = {"train": TRAIN, "val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}

OnBadRow = Literal["error", "skip"]


class BadRowsError(ValueError):
    """Rows that fail a check.

    Args:
        rows: (R,) whether each row fails.
        bad: one entry for each row that fails, in their order.
    """

    def __init__(self, rows: NDArray[np.bool_], bad: Sequence[BadRow]) -> None:
        super().__init__(bad[0].why)
        self.rows, self.bad = rows, bad


@dataclass(frozen=True)
class UserTable:
    """Columns of text from a user's own file, with checks that name the bad row."""

    path: Path
    table: pa.Table
    places: NDArray[np.int64]
    """(R,) line on which each row begins; in a Parquet file the number of the row. From 1."""
    unit: str
    """What places count, `line` or `row`."""
    bad: tuple[BadRow, ...] = ()
    """Rows that are left out, in the order in which they were found."""
    several: int = 0
    """Of CSV and TSV: rows that go on over further lines."""

    @classmethod
    def read(cls, path: Path, columns: Sequence[str], *, texts: Sequence[str] = ()) -> "UserTable":
        """Read the given columns as text.

        Args:
            path: the file.
            columns: by name.
            texts: those of them that must be texts, in every row.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the suffix is unknown, a column is missing, the file has no rows or cannot be read.
        """
        format_of(path)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path.absolute()}: check data.source.path")
        names = list(dict.fromkeys(columns))
        with open_rows(path) as rows:
            parts = [(block.table.select(names), block.lines, bad) for block, bad in rows.sound(texts, columns=names)]
            unit, several = rows.unit, rows.reader.several
        tables, places, bad = zip(*parts, strict=True)
        table = pa.concat_tables(tables)
        found = tuple(chain.from_iterable(bad))
        if not table.num_rows and not found:
            raise ValueError(f"{path} has no rows: expected at least one for each of train, val and test")
        try:
            table = trimmed(pa.table({name: as_text(table[name]) for name in names}))
        except pa.ArrowException as error:
            raise ValueError(f"{path}: expected columns of texts or numbers; {error}") from error
        return cls(path, table.combine_chunks(), np.concatenate(places), unit, found, several)

    def sound(
        self,
        *checks: Callable[["UserTable"], object],
        bad_rows: OnBadRow = "error",
        max_bad_rows: float = MAX_BAD_ROWS,
    ) -> "UserTable":
        """The table without the rows that fail a check, if they may be left out.

        Args:
            checks: readings of columns, such as `lambda table: table.labels("same")`.
            bad_rows: `skip` leaves the rows out that fail, or could not be read; `error`: such a row is an error.
            max_bad_rows: share of the rows of the file that may be left out.

        Raises:
            ValueError: if a row fails and none may be left out, or more than may be, or all.
        """
        if not 0 <= max_bad_rows <= 1:
            raise ValueError(f"data.source.max_bad_rows is a share from 0 to 1; got {max_bad_rows}")
        table = self
        for check in checks:
            table = table._passing(check)
        if table.bad and bad_rows == "error":
            found = BadRows(self.unit)
            found.add(sorted(table.bad))
            raise found.error(str(self.path), "data.source.bad_rows=skip")
        bad, rows = len(table.bad), len(table.places) + len(table.bad)
        if bad > max_bad_rows * rows or bad == rows:
            first = min(table.bad)
            ways = "" if bad == rows else ", or leave more out with data.source.max_bad_rows=<share>"
            reasons = Counter(row.reason for row in table.bad)
            raise ValueError(
                f"{self.path}: {bad:,} of {rows:,} rows are bad "
                f"({', '.join(f'{reason} {count:,}' for reason, count in reasons.items())}), and at most "
                f"{max_bad_rows:.1%} are left out. The first one is {self.unit} {first.place}: {first.why}. "
                f"Check that the file is whole and its columns are the right ones{ways}"
            )
        return table

    @property
    def card(self) -> dict[str, Any]:
        """For the card: `rows` of the file, those left out by reason and the first lines of each."""
        places: dict[str, list[int]] = {row.reason: [] for row in self.bad}
        for row in sorted(self.bad):
            places[row.reason].append(row.place)
        card = card_of(len(self.places), places)
        return {**card, "rows_over_several_lines": self.several} if self.several else card

    @property
    def left_out(self) -> tuple[tuple[str, int, str], ...]:
        """File, line and what is wrong, of each row that is left out, in the order of the file."""
        return tuple((self.path.name, row.place, row.why) for row in sorted(self.bad))

    def column(self, name: str) -> pa.StringArray:
        """(R,) one column."""
        return one_piece(self.table[name])

    def filled(self, column: str, expected: str = "a text", *, reason: str = "empty") -> pa.StringArray:
        """(R,) a column in which no row may be empty."""
        values = self.column(column)
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
        values = self.column(column)
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
            BadRow(int(place), reason, f"expected {expected}; got {shown(value)}", column)
            for place, value in zip(self.places[rows], got, strict=True)
        ]
        raise BadRowsError(wrong, bad)

    def _passing(self, check: Callable[["UserTable"], object]) -> "UserTable":
        """The table without the rows that fail a check; a reading checks one thing after another."""
        table = self
        while len(table.places):
            try:
                check(table)
            except BadRowsError as error:
                kept = ~error.rows
                filtered = table.table.filter(pa.array(kept))
                table = replace(table, table=filtered, places=table.places[kept], bad=(*table.bad, *error.bad))
            else:
                break
        return table
