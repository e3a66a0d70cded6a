"""Every type of Arrow in every role of a column, of Parquet, frames and streams: used, or refused in our words."""

import datetime
import decimal
import uuid
from contextlib import nullcontext
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import twicetold
from twicetold.commands import app
from twicetold.tables.blocks import decoded, without_views
from twicetold.tables.texts import texts_of

TEXTS = ["bank rate cut", "bank rate cut film", "drug trial"]
DAYS = [datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2, 12)]
WORDS, BYTES, STRUCTS = (
    ["x", "a longer text, out of line"],
    [b"x", b"\xff a longer value"],
    [{"f": "x"}, {"f": None, "g": None}],
)
LISTS, DECIMALS = [["a", "b"], ["c", "d"]], [decimal.Decimal("1.50"), decimal.Decimal(3)]
TIMES, UUIDS = [datetime.time(1, 2, 3), datetime.time(4)], [uuid.UUID(int=1).bytes, uuid.UUID(int=2**127).bytes]
ZONE = "dates of a zone that this machine does not know"
TYPES = {  # what it holds: two values, the types
    "nothing": ([None, None], [pa.null()]),
    "truth values": ([True, False], [pa.bool_()]),
    "numbers": (
        [1, 3],
        [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.dictionary(pa.int8(), pa.int64())],
    ),
    "half floats": ([np.float16(1), np.float16(3)], [pa.float16()]),
    "decimals": (DECIMALS, [pa.decimal32(7, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(40, 2)]),
    "texts": (
        WORDS,
        [
            *(pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())),
            *(pa.dictionary(pa.uint8(), pa.large_string()), pa.dictionary(pa.uint32(), pa.string_view())),
            *(pa.run_end_encoded(pa.int32(), pa.string()), pa.run_end_encoded(pa.int32(), pa.string_view())),
        ],
    ),
    "bytes": (BYTES, [pa.binary(), pa.large_binary(), pa.binary_view()]),
    "bytes of one length": ([b"ab", b"\xffd"], [pa.binary(2)]),
    "dates": (
        DAYS,
        [
            *(pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "+02:00")),
            pa.timestamp("ns", "Europe/Berlin"),
        ],
    ),
    ZONE: (DAYS, [pa.timestamp("ms", "Nowhere/Land")]),
    "times": (TIMES, [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]),
    "durations": ([1, 2], [pa.duration("s"), pa.duration("ns")]),
    "identifiers": (UUIDS, [pa.uuid()]),
    "other extensions": (['{"a": 1}', "2"], [pa.json_()]),
    "lists": (
        LISTS,
        [
            *(pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.string_view())),
            *(pa.list_view(pa.string()), pa.large_list_view(pa.string_view()), pa.list_(pa.string_view(), 2)),
            pa.list_(pa.dictionary(pa.int8(), pa.string())),
        ],
    ),
    "structs": (
        STRUCTS,
        [
            *(pa.struct([(name, kind) for name in "fg"]) for kind in (pa.string(), pa.string_view())),
            pa.struct([("f", pa.string_view()), ("g", pa.list_(pa.struct([("h", pa.binary_view())])))]),
        ],
    ),
    "maps": ([[("k", "1")], []], [pa.map_(pa.string(), pa.string()), pa.map_(pa.string_view(), pa.string_view())]),
}
KINDS = {f"{what}: {kind}": (kind, what, values) for what, (values, kinds) in TYPES.items() for kind in kinds}
FIRST = [f"{what}: {kinds[0]}" for what, (_, kinds) in TYPES.items()]  # the others of what it holds are decoded alike
MODEL = twicetold.fit(TEXTS, lexical=True)
NESTED = {"lists", "structs", "maps"}
NUMBERS, PLAIN = {"numbers", "half floats", "decimals"}, TYPES.keys() - NESTED
WORKS = {  # role: options of the command, of the library, and what the column may hold
    "text": (["--text", "x"], None, {"texts"}),
    "id": (["--id", "x"], None, PLAIN - {"nothing", "bytes", "bytes of one length", ZONE}),
    "same": (["--same", "x"], lambda column: {"same": [column]}, PLAIN),
    "within numbers": (["--within", "x:1"], lambda column: {"within": [(column, 1)]}, NUMBERS | {"nothing"}),
    "within dates": (["--within", "x:1d"], lambda column: {"within": [(column, "1d")]}, {"dates", ZONE, "nothing"}),
    "also": (["--on", "text,x"], lambda column: {"also": [column]}, PLAIN),
    "keep the highest": (["--keep", "highest:x"], lambda column: {"keep": ("highest", column)}, NUMBERS | {"nothing"}),
    "keep the newest": (
        ["--keep", "newest:x"],
        lambda column: {"keep": ("newest", column)},
        {"dates", ZONE, "nothing"},
    ),
    "truth": (["--truth", "x"], lambda column: {"truth": column}, PLAIN - {"nothing"}),
}


class Stream:
    """A column of a library that shows nothing but the interface."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_stream__(self, requested_schema=None):
        return self.column.__arrow_c_stream__(requested_schema)


def array_of(kind, values):
    """Values of a type; some types cannot be made of values of Python."""
    if pa.types.is_dictionary(kind):
        words = [value for value in dict.fromkeys(values) if value is not None]
        places = pa.array([None if value is None else words.index(value) for value in values], kind.index_type)
        return pa.DictionaryArray.from_arrays(places, pa.array(words, kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        ends = pa.array(np.arange(1, len(values) + 1), kind.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(ends, pa.array(values, kind.value_type))
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.timestamp(kind.unit)).view(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    return pa.array(values, kind)


def column_for(name, role):
    kind, _, (one, other) = KINDS[name]
    rows = {"text": [one, other, one], "id": [one, other], "truth": [one, one, other]}.get(role, [one, None, other])
    return array_of(kind, rows)


def in_parquet(column, file):
    """A file with the column; false of types that Parquet has not, or that Arrow cannot read from it."""
    try:
        pq.write_table(pa.table({"text": TEXTS[: len(column)], "x": column}), file)
        pq.read_table(file).validate(full=True)
    except (pa.ArrowException, OSError):
        return False
    return True


def dedupe(*options):
    done = CliRunner().invoke(app, ["dedupe", "in.parquet", "--compare", "letters", *options])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.mark.parametrize("role", WORKS)
@pytest.mark.parametrize("name", KINDS)
def test_a_column_of_parquet_is_used_or_refused_in_our_words(name, role, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, _, works = WORKS[role]
    if not in_parquet(column_for(name, role), tmp_path / "in.parquet"):
        pytest.skip("no type of Parquet")
    done = dedupe(*options, "-o", "out.parquet")
    assert (done.exit_code == 0) is (KINDS[name][1] in works), done.stderr
    assert done.exit_code == 0 or "expected" in done.stderr


@pytest.mark.parametrize("role", [role for role in WORKS if role != "id"])
@pytest.mark.parametrize("name", FIRST)
def test_a_column_of_a_frame_or_a_stream_is_used_or_refused_in_our_words(name, role):
    _, given, works = WORKS[role]
    column = column_for(name, role)
    for values in (pa.chunked_array([column[:1], column[1:]]), Stream(pa.chunked_array([column]))):
        refused = pytest.raises((TypeError, ValueError), match="expected")
        with nullcontext() if KINDS[name][1] in works else refused:
            texts_of(values) if given is None else MODEL.dedupe(TEXTS, **given(values))


@pytest.mark.parametrize(
    ("name", "suffix"), [*((name, ".parquet") for name in KINDS), *product(FIRST, [".csv", ".jsonl"])]
)
def test_a_column_that_no_option_names_comes_out_as_it_was(name, suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not in_parquet(column_for(name, "untouched"), tmp_path / "in.parquet"):
        pytest.skip("no type of Parquet")
    done = dedupe("-o", f"out{suffix}")
    assert done.exit_code == 0, done.stderr
    if suffix == ".parquet":
        before, after = (pq.read_table(tmp_path / file)["x"] for file in ("in.parquet", "out.parquet"))
        assert after.equals(before.cast(without_views(before.type)))


@pytest.mark.parametrize("name", [name for name in KINDS if "view" in name or "run_end" in name])
def test_values_of_views_and_runs_are_those_of_plain_columns(name):
    column = column_for(name, "untouched")
    plain = decoded(column)
    assert plain.to_pylist() == column.to_pylist()
    assert plain.type == without_views(plain.type)
    assert decoded(pa.chunked_array([column, column[1:]])).to_pylist() == [*column.to_pylist(), *column.to_pylist()[1:]]
