"""Sheets of spreadsheet programs."""

import datetime
import sys

import numpy as np
import pyarrow as pa
import pytest

from twicetold.packages import PackageMissing
from twicetold.tables import sheets
from twicetold.tables.blocks import Block
from twicetold.tables.files import open_rows, write_rows

DAY = datetime.datetime(2024, 1, 2)
TABLE = {
    "name": ["=1+1", "http://x.y", None, "007"],
    "price": [0.5, float("nan"), None, 2.25],
    "day": [DAY.date(), None, datetime.date(1850, 1, 1), DAY.date()],
    "tags": [["a"], [], None, ["b", "c"]],
    "id": [12_345_678_901_234_567, 1, 2, None],
    "sold": [True, False, None, True],
}


def written(path, *tables):
    with write_rows(path) as write:
        for table in tables:
            write(Block(pa.table(table), np.arange(len(next(iter(table.values()))))))
    return path


def read(path, texts=(), **options):
    with open_rows(path) as rows:
        blocks = list(rows.blocks(texts, **options))
        return (
            {name: [value for block in blocks for value in block.table[name].to_pylist()] for name in rows.columns},
            rows,
            blocks,
        )


def test_values_come_back_as_they_were_and_texts_are_no_formulas(tmp_path):
    found, _, blocks = read(written(tmp_path / "a.xlsx", TABLE, TABLE))
    assert found["name"] == TABLE["name"] * 2
    assert found["price"] == [0.5, None, None, 2.25] * 2
    assert found["day"][0] == DAY
    assert found["tags"] == ['["a"]', "[]", None, '["b", "c"]'] * 2
    assert found["id"] == ["12345678901234567", "1", "2", None] * 2  # a sheet has fifteen digits of a number
    assert found["sold"] == TABLE["sold"] * 2
    assert blocks[0].lines.tolist() == list(range(2, 10))


def test_the_same_rows_give_the_same_bytes(tmp_path):
    one, other = (written(tmp_path / name, TABLE).read_bytes() for name in ("a.xlsx", "b.xlsx"))
    assert one == other


def test_a_row_without_a_text_is_named_by_its_row_in_the_sheet(tmp_path):
    path = written(tmp_path / "a.xlsx", TABLE)
    with pytest.raises(ValueError, match=r"row 4, column 'name': expected a text"):
        read(path, ["name"])
    found, rows, _ = read(path, ["name"], skip_bad=True)
    assert (found["name"], rows.bad.count) == (["=1+1", "http://x.y", "007"], 1)


@pytest.mark.parametrize(
    ("column", "message"),
    [(["a" * 32_768], "a cell of a sheet has 32,767 characters"), (["a"] * 5, "a sheet has 4 rows")],
)
def test_what_a_sheet_cannot_hold_is_refused_and_no_file_is_left(column, message, tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "ROWS", 4)
    with pytest.raises(ValueError, match=message):
        written(tmp_path / "a.xlsx", {"text": column})
    assert not any(tmp_path.iterdir())


def test_without_the_package_it_is_said_what_to_install(tmp_path, monkeypatch):
    path = written(tmp_path / "a.xlsx", TABLE)
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(PackageMissing, match=r"twicetold\[xlsx\]"), open_rows(path):
        pass
