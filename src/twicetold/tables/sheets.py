"""Sheets of spreadsheet programs: the first sheet of an .xlsx file, read and written.

A sheet is read as Parquet, with the types of its columns; its first row has their names. Texts are written as texts,
also those that a spreadsheet program would take for formulas or links.
"""

import io
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twicetold.packages import naming_the_extra
from twicetold.tables.blocks import Block, decoded
from twicetold.tables.cells import delimited_texts
from twicetold.tables.reading import Blocks, Parquet
from twicetold.tables.writing import Writer

logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it warns of empty columns

ROWS, LONGEST = (1 << 20) - 1, 32_767  # of a sheet without its header, and characters of a cell
DIGITS = 10**15
MADE = datetime(2000, 1, 1)  # the same rows give the same bytes
TEXT = {"strings_to_formulas": False, "strings_to_urls": False}
DATES = {"default_date_format": "yyyy-mm-dd hh:mm:ss"}


class Sheet(Parquet):
    """The first sheet of a file.

    Raises:
        ValueError: if the file is not .xlsx, or has no rows.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        with naming_the_extra("an .xlsx file"):
            import fastexcel
        try:
            sheet = fastexcel.read_excel(stream.read()).load_sheet(0).to_arrow()
        except (fastexcel.FastExcelError, pa.ArrowException) as error:
            raise ValueError(f"cannot be read as an .xlsx file: {error}".partition("\n")[0]) from error
        packed = io.BytesIO()
        pq.write_table(pa.Table.from_batches([sheet]), packed)
        super().__init__(packed)

    def blocks(self, texts: Sequence[str] = (), *, columns: Sequence[str] | None = None) -> Blocks:
        """See `Reader`; row 1 has the names of the columns."""
        for block, bad in super().blocks(texts, columns=columns):
            yield replace(block, lines=block.lines + 1), [each._replace(place=each.place + 1) for each in bad]


class SheetWriter(Writer):
    """A sheet with the columns of the first block."""

    def __init__(self, stream: IO[bytes]) -> None:
        with naming_the_extra("an .xlsx file"):
            from xlsxwriter import Workbook
        self.book = Workbook(stream, {"constant_memory": True, **TEXT, **DATES})
        self.book.set_properties({"created": MADE})
        self.sheet, self.rows = self.book.add_worksheet(), 0

    def write(self, block: Block) -> None:
        """See `Writer`."""
        if not self.rows:
            self._write_row(block.table.column_names)
        for row in zip(*map(_cells, block.table.columns), strict=True):
            if self.rows > ROWS:
                raise ValueError(f"a sheet has {ROWS:,} rows, and there are more: write .csv or .parquet")
            self._write_row(row)

    def _write_row(self, row: Any) -> None:
        for column, value in enumerate(row):
            if isinstance(value, str) and len(value) > LONGEST:
                raise ValueError(
                    f"row {self.rows}: a cell of a sheet has {LONGEST:,} characters: write .csv or .parquet"
                )
            if value is not None:
                self.sheet.write(self.rows, column, value)
        self.rows += 1

    def close(self) -> None:
        """See `Writer`."""
        self.book.close()


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return (R,) values as a sheet has them: numbers and times that it can keep as such, all else as text."""
    column = decoded(column)
    kind = column.type
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
    elif pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        column = column.cast(pa.timestamp("ms"), safe=False)
    elif not pa.types.is_boolean(kind) and not (pa.types.is_integer(kind) and _exact(column)):
        return list(delimited_texts(column))
    return list(column.to_pylist())


def _exact(column: pa.ChunkedArray) -> bool:
    """Return true if a sheet, whose numbers have 15 digits, keeps whole numbers."""
    return all(value is None or abs(value) < DIGITS for value in pc.min_max(column).as_py().values())
