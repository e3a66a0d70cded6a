"""Columns beside the texts, from files and from arrays of any library."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from twicetold.dedupe.agreement import KnownGroups
from twicetold.dedupe.limits import Limits
from twicetold.tables.columns import MISSING, BadValues, answers_of, codes_of, keys_of, numbers_of, size_of, times_of

NOON = 1_769_860_800_000_000.0  # 2026-01-31 12:00 UTC


@pytest.mark.parametrize(
    "make",
    [list, np.array, pd.Series, pa.array, lambda v: pa.chunked_array([v[:1], v[1:]]), lambda v: pd.Categorical(v)],
)
def test_equal_values_have_equal_codes(make):
    codes = codes_of(make(["en", "de", "en ", "de"]))
    assert codes[0] == codes[2] != codes[1] == codes[3]


@pytest.mark.parametrize(
    "values", [[1.0, None, float("nan")], ["a", "", "  "], [None, None, None], np.array([np.nan] * 3)]
)
def test_a_missing_value_has_no_code(values):
    assert codes_of(values).tolist()[1:] == [MISSING, MISSING]


@pytest.mark.parametrize("values", [[1, 2.5, None], ["1", " 2.5 ", ""], [1, 2.5, float("nan")], ["1e0", "+2.5", "NaN"]])
def test_numbers_come_from_numbers_and_from_texts(values):
    np.testing.assert_array_equal(numbers_of(values), [1, 2.5, np.nan])


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31 12:00",
        "2026-01-31T13:00:00+01:00",
        "2026-01-31T07:00-0500",
        "2026-01-31T12:00:00.000000000",
        "1769860800",
        1_769_860_800,
        1_769_860_800_000,
        1_769_860_800_000_000,
        1_769_860_800_000_000_000,
        datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC),
        datetime.datetime(2026, 1, 31, 12),
        np.datetime64("2026-01-31T12:00:00"),
        pd.Timestamp("2026-01-31 14:00", tz="Europe/Helsinki"),
    ],
)
def test_a_time_is_one_however_it_is_spelt(value):
    np.testing.assert_array_equal(times_of([value]), [NOON])
    np.testing.assert_array_equal(times_of(pd.Series([value])), [NOON])


def test_times_of_numpy_have_any_unit():
    for unit in ("h", "m", "s", "ms", "us", "ns"):
        np.testing.assert_array_equal(times_of(np.array(["2026-01-31T12:00"], f"datetime64[{unit}]")), [NOON])


def test_dates_are_the_start_of_the_day_in_utc_and_may_be_mixed_with_times_and_nothing():
    found = times_of(["2026-01-31", "2026-01-31T12:00:00Z", "", None])
    np.testing.assert_array_equal(found, [NOON - 43_200e6, NOON, np.nan, np.nan])
    np.testing.assert_array_equal(times_of([datetime.date(2026, 1, 31)]), [NOON - 43_200e6])


@pytest.mark.parametrize(
    ("read", "values", "rows", "message"),
    [
        (numbers_of, ["1", "x", "", "1,5"], [1, 3], r"expected numbers; got 'x' in rows 1, 3 \(from 0\)"),
        (numbers_of, ["2026-01-31", "5"], [0], "expected numbers; for dates, give the size with a unit, such as 3d"),
        (numbers_of, [1.0, float("inf")], [1], "expected finite numbers; got inf in row 1"),
        (
            times_of,
            ["2026-01-31", "soon", "31.1.2026"],
            [1, 2],
            "expected dates as in ISO 8601.* got 'soon' in rows 1, 2",
        ),
        (times_of, ["2026-01-31", "2026-13-31"], [1], "got '2026-13-31' in row 1"),
        (times_of, ["20260131", "20260201"], [0, 1], "got '20260131' in rows 0, 1"),
    ],
)
def test_values_that_cannot_be_used_are_named(read, values, rows, message):
    with pytest.raises(BadValues, match=message) as found:
        read(values)
    assert found.value.rows.tolist() == rows


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        (codes_of, "en", "expected a column of values, got one text"),
        (codes_of, [[1], [2]], "expected plain values, got list"),
        (codes_of, [1, "a"], "expected a column of values of one kind"),
        (numbers_of, [datetime.date(2026, 1, 31)], "expected numbers, got date32.*: for dates"),
        (numbers_of, [True], "expected numbers, got bool"),
        (times_of, [datetime.time(12)], "expected dates"),
    ],
)
def test_columns_of_another_kind_are_refused(read, values, message):
    with pytest.raises(TypeError, match=message):
        read(values)


def test_sizes_are_numbers_or_times():
    assert size_of(5) == size_of("5") == (5.0, False)
    for size in ("3d", "72h", "4320m", "259200s", " 3 d ", datetime.timedelta(days=3)):
        assert size_of(size) == (259_200e6, True)
    assert size_of("0.5w") == (302_400e6, True)
    for size in ("3x", "5%", "", "d", "-3d", -1, float("nan"), float("inf"), datetime.timedelta(-1)):
        with pytest.raises(ValueError, match="expected a size"):
            size_of(size)


def of_polars(values, kind, index):
    """Categories or an Enum as polars hands them over: numbered string views, in two chunks."""
    number = {value: place for place, value in enumerate(dict.fromkeys(filter(None, values)))}
    places = pa.array([number.get(value) for value in values], index)
    words = pa.array(list(number), kind)
    parts = [pa.DictionaryArray.from_arrays(part, words) for part in (places[:1], places[1:])]
    return pa.chunked_array(parts)


CATEGORIES = {
    "pandas": lambda values: pd.Series(values, dtype="category"),
    "pandas, ordered": lambda values: pd.Series(pd.Categorical(values, ordered=True)),
    "pandas index": pd.CategoricalIndex,
    "polars categories": lambda values: of_polars(values, pa.string_view(), pa.uint32()),
    "polars enum": lambda values: of_polars(values, pa.string_view(), pa.uint8()),
    "pyarrow": lambda values: pa.array(values).dictionary_encode(),
    "pyarrow, large": lambda values: of_polars(values, pa.large_string(), pa.int64()),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_columns_wherever_one_is_taken(kind):
    make = CATEGORIES[kind]
    assert codes_of(make(["en", "de", None, "en"])).tolist() == [0, 1, MISSING, 0]
    np.testing.assert_array_equal(numbers_of(make(["1", "2.5", None, "1"])), [1, 2.5, np.nan, 1])
    dates = ["2026-01-31T12:00:00Z", "2026-01-31T12:00:01Z", None]
    np.testing.assert_array_equal(times_of(make(dates)), [NOON, NOON + 1e6, np.nan])
    assert answers_of(make(["yes", "no", None])).tolist() == [1, 0, MISSING]
    limits = Limits.of(4, [make(["en", None, "en", "de"])], [(make([*dates[:2], dates[0], None]), "1s")])
    assert (limits.block[0] == limits.block[2], limits.alone) == (True, 2)
    assert KnownGroups.of(4, make(["a", "a", None, "b"])).codes.tolist() == [0, 0, 1]


def test_categories_of_numbers_and_dates_are_numbers_and_dates():
    np.testing.assert_array_equal(numbers_of(pd.Categorical([2, 1, None])), [2, 1, np.nan])
    days = pd.Series(pd.Categorical(pd.to_datetime(["2026-01-31 12:00", None])))
    np.testing.assert_array_equal(times_of(days), [NOON, np.nan])
    assert codes_of(np.array([1, 2, 1], np.float16)).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "1.0", "true", "YES", " y "], [1] * 5),
        (["0", "0.0", "False", "no", "N"], [0] * 5),
        (["", "  ", None, "NaN", "nan"], [MISSING] * 5),
        ([1.0, 0.0, float("nan")], [1, 0, MISSING]),
        ([True, False, None], [1, 0, MISSING]),
        (np.array([1, 0], np.uint8), [1, 0]),
        (pd.array([1, 0, None], "Int64"), [1, 0, MISSING]),
        (pd.array([True, None], "boolean"), [1, MISSING]),
        (pa.array([1, 0]).cast(pa.decimal128(20, 1)), [1, 0]),
        ([None, None], [MISSING] * 2),
        (pd.Categorical(["TRUE", "false"]), [1, 0]),
        (np.array([1, 0], object), [1, 0]),
        (pd.Series([False, pd.NA], dtype=object), [0, MISSING]),
    ],
)
def test_an_answer_is_one_however_it_is_spelt(values, expected):
    assert answers_of(values).tolist() == expected


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["yes", "maybe"], 1),
        ([1, 0, 2], 2),
        ([0.5], 0),
        (["1", "", "same"], 2),
        (["10"], 0),
        (["1", "00"], 1),
        ([1, -1], 1),
        ([0, float("inf")], 1),
    ],
)
def test_another_answer_is_named_with_its_row(values, row):
    with pytest.raises(
        BadValues, match=rf"expected 1 or 0, true or false, yes or no, or nothing; got .* in row {row} "
    ):
        answers_of(values)


def test_values_of_several_kinds_are_named_with_their_rows():
    with pytest.raises(TypeError, match=r"of one kind; row 1 \(from 0\) is 'a', and row 3 is 7"):
        codes_of([None, "a", "b", 7])
    with pytest.raises(ValueError, match=r"row 1 \(from 0\) holds half of a surrogate pair"):
        codes_of(["a", "\udc00"])
    with pytest.raises(TypeError, match=r"expected a column of values, got nothing \(None\)"):
        codes_of(None)


def test_a_decimal_with_a_comma_is_a_text_and_the_message_says_so():
    with pytest.raises(BadValues, match=r"expected numbers; decimals have a point; got '3,50' in row 1"):
        numbers_of(["3", "3,50"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"same": "shop"}, r"same: expected a list, such as \[column\], got str"),
        ({"same": pd.Series(["a"])}, r"same: expected a list, such as \[column\], got Series"),
        ({"within": (["a"], "3d")}, r'within\[0\]: expected a column and a size, such as \(column, "3d"\)'),
        ({"within": [([1.0], None)]}, "size: expected a number, got None of type NoneType"),
    ],
)
def test_one_column_in_place_of_a_list_of_columns_is_refused(options, message):
    with pytest.raises(TypeError, match=message):
        Limits.of(1, **options)


@pytest.mark.parametrize(
    ("values", "equal"),
    [
        (["SONY", "Sony ", "ＳＯＮＹ", "S\N{SOFT HYPHEN}ony"], True),
        (["5", "5.0", "+5", "５", "5.00"], True),
        (["1.5", "1.50"], True),
        (["0", "-0.0"], True),
        (["2026-01-31", "2026-01-31T00:00:00", "2026-01-31 00:00:00.000000"], True),
        (["2026-01-31 12:30", "2026-01-31T12:30:00"], False),
        (["5", "05"], False),
        (["1e3", "1000"], False),
        (["C++", "C#"], False),
        (["19.90", "1990"], False),
    ],
)
def test_keys_are_equal_where_values_are_however_they_are_spelt(values, equal):
    assert len(set(keys_of(values))) == (1 if equal else len(values))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([5.0, 1e15, 0.1, None], ["5", "1000000000000000", "0.10", " "]),
        ([True, False], ["True", "FALSE"]),
        ([datetime.date(2026, 1, 31)], [datetime.datetime(2026, 1, 31)]),
        (pa.array([decimal.Decimal("1.50")], pa.decimal32(5, 2)), [1.5]),
        (pa.array(["a", None]).dictionary_encode(), ["A", None]),
    ],
)
def test_keys_do_not_depend_on_the_type_of_a_column(one, other):
    assert keys_of(one) == keys_of(other) == keys_of(keys_of(one))
