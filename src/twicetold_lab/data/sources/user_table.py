"""A user's own table, whose rows are checked one by one.

A bad row is an error that names it, as you can correct your own file. On request bad rows are left out instead: each is
counted, and listed with its line and what is wrong with it.

Shape letters: R rows of the file.
"""

from collections.abc import Sequence
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

    def with_filled(self, column: str, expected: str = "a text", *, reason: str = "empty") -> Self:
        """Return the rows that are not empty in a column."""
        empty = pc.equal(self.column(column), "").fill_null(True)
        return self.without(empty, reason, column=column, expected=f"{expected}, not an empty one")

    def with_unique(self, column: str) -> Self:
        """Return the rows with a value in a column that no earlier row has."""
        rows = self.with_filled(column)
        repeated = np.ones(len(rows), bool)
        repeated[np.unique(np.asarray(rows.column(column).dictionary_encode().indices), return_index=True)[1]] = False
        return rows.without(repeated, "repeated_id", column=column, expected="an id that no earlier row has")

    def with_sides(self, column: str) -> Self:
        """Return the rows that name a side of the split in a column."""
        rows = self.with_filled(column, reason="bad_split")
        other = ~np.asarray(pc.is_in(pc.utf8_lower(rows.column(column)), pa.array(list(SIDE_NAMES))))
        return rows.without(other, "bad_split", column=column, expected=f"one of {', '.join(SIDE_NAMES)}")

    def with_labels(self, column: str) -> Self:
        """Return the rows with 1, 0, true or false in a column."""
        expected = "0, 1, true or false"
        rows = self.with_filled(column, expected, reason="bad_label")
        other = ~np.asarray(pc.is_in(pc.utf8_lower(rows.column(column)), pa.array(["0", "1", "true", "false"])))
        return rows.without(other, "bad_label", column=column, expected=expected)

    def with_grades(self, column: str) -> Self:
        """Return the rows with a number in a column that is not larger than `LARGEST_GRADE` in either direction."""
        fault = {"column": column, "expected": f"a number from {-LARGEST_GRADE:,.0f} to {LARGEST_GRADE:,.0f}"}
        rows = self.with_filled(**fault, reason="bad_grade")
        rows = rows.without(pc.invert(pc.match_substring_regex(rows.column(column), NUMBER)), "bad_grade", **fault)
        return rows.without(~(np.abs(rows.grades(column)) <= LARGEST_GRADE), "bad_grade", **fault)

    def or_null(self, column: str) -> pa.StringArray:
        """Return (R,) a column in which an empty value means that it is not known."""
        values = self.column(column)
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
        if values.null_count == len(values):
            raise ValueError(f"{self.path}: column {column!r} is empty in every row")
        return values

    def sides(self, column: str) -> Side:
        """Return (R,) side of the split that each row names."""
        places = pc.index_in(pc.utf8_lower(self.column(column)), pa.array(list(SIDE_NAMES)))
        return np.array(list(SIDE_NAMES.values()), np.int8).take(np.asarray(places))

    def labels(self, column: str) -> NDArray[np.float32]:
        """Return (R,) 1 or 0, from 1, 0, true or false."""
        return np.asarray(pc.is_in(pc.utf8_lower(self.column(column)), pa.array(["1", "true"]))).astype(np.float32)

    def grades(self, column: str) -> NDArray[np.float64]:
        """Return (R,) numbers."""
        return np.asarray(pc.cast(pc.utf8_ltrim(self.column(column), "+"), pa.float64()))
