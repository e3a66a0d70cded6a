"""A user's own table, whose rows are checked one by one.

A bad row is an error that names it, as you can correct your own file. On request bad rows are left out instead: each is
counted, and listed with its line and what is wrong with it.

Shape letters: R rows of the file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.tables.files import open_rows
from twicetold.tables.streams import format_of
from twicetold_lab.data.sources.source_table import SourceTable
from twicetold_lab.data.splits import TEST, TRAIN, VAL, Side

LARGEST_GRADE = 1e6  # 32-bit floats, which grades become, tell numbers up to here apart by less than 0.1
SIDE_NAMES = {"train": TRAIN, "val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}
NUMBER = r"^[+-]?([0-9]{1,30}\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$"


class BadRowsError(ValueError):
    """Rows that fail a check.

    Args:
        rows: (R,) whether each row fails.
        fault: its `reason`, the `column` and what was `expected` there.
    """

    def __init__(self, rows: NDArray[np.bool_], **fault: str) -> None:
        super().__init__(f"column {fault['column']!r}: expected {fault['expected']}")
        self.rows, self.fault = rows, fault


@dataclass(frozen=True)
class UserTable(SourceTable):
    """Columns of text from a user's own file, with checks that name the bad row."""

    @classmethod
    def read(cls, path: Path, columns: Sequence[str], *, texts: Sequence[str] = ()) -> Self:
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
            try:
                table = cls.of(path, rows.sound(texts, columns=names), names)
            except pa.ArrowException as error:
                raise ValueError(f"{path}: expected columns of texts or numbers; {error}") from error
            table = replace(table, unit=rows.unit, several=rows.reader.several)
        if not len(table) and not table.bad:
            raise ValueError(f"{path} has no rows: expected at least one for each of train, val and test")
        return table

    def passing(self, *checks: Callable[[Self], object]) -> Self:
        """The table without the rows that fail a check.

        Args:
            checks: readings of columns, such as `lambda table: table.labels("same")`.
        """
        table = self
        for check in checks:
            while len(table):  # a reading checks one thing after another
                try:
                    check(table)
                    break
                except BadRowsError as error:
                    table = table.without(error.rows, **error.fault)
        return table

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
        number = pc.match_substring_regex(values, NUMBER)
        self._check(column, number, expected=expected, reason="bad_grade")
        grades = np.asarray(pc.cast(pc.utf8_ltrim(values, "+"), pa.float64()))
        self._check(column, pa.array(np.abs(grades) <= LARGEST_GRADE), expected=expected, reason="bad_grade")
        return grades.astype(np.float32)

    def _check(self, column: str, good: pa.BooleanArray, *, expected: str, reason: str) -> None:
        bad = ~np.asarray(good)
        if bad.any():
            raise BadRowsError(bad, reason=reason, column=column, expected=expected)
