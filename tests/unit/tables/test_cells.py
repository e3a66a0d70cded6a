"""Values of Parquet as text: in .csv and .jsonl, and inside lists and structs, by one rule."""

import base64
import csv
import datetime
import json
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twicetold.tables.files import open_rows, write_rows

FAR = 2**62  # milliseconds and microseconds: in years that neither Python nor Arrow can spell


def copy(source, target, added=None):
    with open_rows(source) as rows, write_rows(target) as write:
        for block in rows.blocks([]):
            write(block.with_columns(added or {}))
    return target


def copied(tmp_path, table, suffix):
    """The lines of a file that is written of a Parquet file with these columns."""
    pq.write_table(table, tmp_path / "rows.parquet")
    target = copy(tmp_path / "rows.parquet", tmp_path / f"rows{suffix}")
    if suffix == ".csv":
        with target.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    return [json.loads(line, parse_constant=pytest.fail) for line in target.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_a_time_in_any_year_is_spelt_the_same_in_every_format(tmp_path, unit, zone):
    per = {"ms": 10**3, "us": 10**6}[unit]
    numbers = [0, 253_402_300_800 * per, -62_135_596_801 * per, FAR, -FAR, None]
    kept = pa.array(numbers, pa.int64()).cast(pa.timestamp(unit, zone))
    table = pa.table({"at": kept, "all": pa.ListArray.from_arrays(np.arange(len(kept) + 1, dtype=np.int32), kept)})
    found = copied(tmp_path, table, ".jsonl")
    spelt = [row["at"] for row in found]
    assert [row["at"] or None for row in copied(tmp_path, table, ".csv")] == spelt
    assert [row["all"] for row in found] == [[each] for each in spelt]
    end = "Z" if zone else ""
    by_numpy = [str(each).replace("T", " ") + end for each in kept.to_numpy(zero_copy_only=False)]
    assert [text for text, number in zip(spelt, numbers, strict=True) if abs(number or 0) == FAR] == by_numpy[3:5]
    assert spelt[-1] is None
    if zone != "Europe/Berlin":
        assert spelt[:3] == by_numpy[:3]
    assert not [text for text in spelt if text and "out of range" in text]


def test_dates_and_times_of_day_that_arrow_cannot_spell_are_spelt(tmp_path):
    table = pa.table(
        {
            "day": pa.array([0, 2**31 - 1, None], pa.int32()).cast(pa.date32()),
            "time": pa.array([1, 86_400_000_001, None], pa.int64()).cast(pa.time64("us")),
            "lasted": pa.array([90, 2**62, None], pa.int64()).cast(pa.duration("s")),
        }
    )
    expected = [
        {"day": "1970-01-01", "time": "00:00:00.000001", "lasted": "90"},
        {"day": str(np.datetime64(2**31 - 1, "D")), "time": "86400000001", "lasted": str(2**62)},
    ]
    assert copied(tmp_path, table, ".jsonl") == [*expected, dict.fromkeys(expected[0])]
    assert copied(tmp_path, table, ".csv") == [*expected, dict.fromkeys(expected[0], "")]


def test_times_of_nanoseconds_need_no_pandas_to_be_written(tmp_path):
    table = pa.table({"at": pa.array([1_700_000_000_123_456_789]).cast(pa.timestamp("ns"))})
    for suffix in (".csv", ".jsonl"):
        assert copied(tmp_path, table, suffix) == [{"at": "2023-11-14 22:13:20.123456789"}]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_null_in_json_at_any_depth(tmp_path, bad):
    columns = {
        "list": pa.array([[1.5, bad], None, []]),
        "fixed": pa.array([[1.5, bad], [bad, 1.0], [2.0, 2.0]], pa.list_(pa.float32(), 2)),
        "struct": pa.array([{"a": bad, "b": [bad]}, None, {"a": 1.0, "b": None}]),
        "map": pa.array([[("k", bad)], None, []], pa.map_(pa.string(), pa.float64())),
    }
    found = copied(tmp_path, pa.table(columns), ".jsonl")
    assert found[0] == {
        "list": [1.5, None],
        "fixed": [1.5, None],
        "struct": {"a": None, "b": [None]},
        "map": [["k", None]],
    }
    assert found[1] == {**dict.fromkeys(columns), "fixed": [None, 1.0]}
    assert found[2] == {"list": [], "fixed": [2.0, 2.0], "struct": {"a": 1.0, "b": None}, "map": []}
    cells = copied(tmp_path, pa.table(columns), ".csv")
    assert [{name: json.loads(cell) if cell else None for name, cell in row.items()} for row in cells] == found


def test_json_lines_that_python_wrote_with_nan_come_out_as_json(tmp_path):
    """Other objects keep their spelling, to the byte."""
    (tmp_path / "in.jsonl").write_text('{"a": [NaN, {"b": -Infinity}], "t": "NaN"}\n{"a":  1e2, "t": "NaN"}\n')
    lines, table = (copy(tmp_path / "in.jsonl", tmp_path / name, {"n": [1, 2]}) for name in ("out.jsonl", "out.csv"))
    assert lines.read_text() == '{"a": [null, {"b": null}], "t": "NaN", "n": 1}\n{"a":  1e2, "t": "NaN", "n": 2}\n'
    assert table.read_text().splitlines()[1] == '"[null, {""b"": null}]",NaN,1'


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(3)])
def test_bytes_are_base64_in_every_text_format_at_any_depth(tmp_path, kind):
    values = [b"x\xff\x00", b"abc", None]
    table = pa.table({"raw": pa.array(values, kind), "list": pa.array([[each] for each in values], pa.list_(kind))})
    spelt = [None if each is None else base64.b64encode(each).decode() for each in values]
    assert copied(tmp_path, table, ".jsonl") == [{"raw": each, "list": [each]} for each in spelt]
    assert [row["raw"] or None for row in copied(tmp_path, table, ".csv")] == spelt
    assert pq.read_table(tmp_path / "rows.parquet")["raw"].to_pylist() == values


def test_an_identifier_is_spelt_without_quotes(tmp_path):
    made = uuid.UUID(int=7)
    table = pa.table({"id": pa.array([made.bytes, None], pa.uuid())})
    assert copied(tmp_path, table, ".csv") == [{"id": str(made)}, {"id": ""}]
    assert copied(tmp_path, table, ".jsonl") == [{"id": str(made)}, {"id": None}]


def test_two_columns_of_one_name_stay_where_a_format_has_room_for_them(tmp_path):
    table = pa.table([["a"], ["b"], ["c"]], names=["text", "note", "note"])
    pq.write_table(table, tmp_path / "in.parquet")
    (tmp_path / "in.csv").write_text("text,note,note\na,b,c\n")
    for source in ("in.parquet", "in.csv"):
        for target in ("out.csv", "out.parquet", "out.tsv"):
            copy(tmp_path / source, tmp_path / target, {"n": [1]})
        assert (tmp_path / "out.csv").read_text() == "text,note,note,n\na,b,c,1\n"
        assert pq.ParquetFile(tmp_path / "out.parquet").schema_arrow.names == ["text", "note", "note", "n"]
        message = r"two columns have the name 'note', and an object of JSON can have one: rename one of them, or write"
        with pytest.raises(ValueError, match=message):
            copy(tmp_path / source, tmp_path / "out.jsonl")
        with open_rows(tmp_path / source) as rows, pytest.raises(ValueError, match="column 'note' is there 2 times"):
            rows.require("note")


def test_an_index_of_pandas_without_a_name_is_no_column(tmp_path):
    """Parquet keeps it, so that pandas has it back; a named index is a column as any other."""
    frame = pd.DataFrame({"text": ["a", "b", "c"], "n": [1, 2, 3]}, index=[5, 9, 2])
    frame[frame["n"] != 2].to_parquet(tmp_path / "in.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "in.parquet").names
    with open_rows(tmp_path / "in.parquet") as rows:
        assert rows.columns == ["text", "n"]
    for target in ("out.csv", "out.jsonl", "out.parquet"):
        copy(tmp_path / "in.parquet", tmp_path / target, {"group": [0, 1]})
    assert (tmp_path / "out.csv").read_text() == "text,n,group\na,1,0\nc,3,1\n"
    assert (tmp_path / "out.jsonl").read_text().splitlines()[0] == '{"text": "a", "n": 1, "group": 0}'
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert (found.index.tolist(), list(found.columns)) == ([5, 2], ["text", "n", "group"])
    frame.rename_axis("id").to_parquet(tmp_path / "named.parquet")
    with open_rows(tmp_path / "named.parquet") as rows:
        assert rows.columns == ["text", "n", "id"]


def test_categories_of_parquet_are_their_values_elsewhere(tmp_path):
    """A category of dates is a date, one of numbers a number."""
    frame = pd.DataFrame(
        {
            "shop": pd.Categorical(["a", "b", None]),
            "n": pd.Categorical([1, 2, None]),
            "day": pd.Categorical(pd.to_datetime(["2020-01-02", "2020-01-03", None])),
        }
    )
    frame.to_parquet(tmp_path / "in.parquet")
    table = pq.read_table(tmp_path / "in.parquet")
    rows = [(row["shop"], row["n"], row["day"][:10]) for row in copied(tmp_path, table, ".csv")]
    assert rows == [("a", "1", "2020-01-02"), ("b", "2", "2020-01-03"), ("", "", "")]
    assert datetime.date.fromisoformat(copied(tmp_path, table, ".jsonl")[1]["day"][:10]).day == 3
