"""Texts of lists, arrays and columns of data frames."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from twicetold.tables.texts import texts_of

TEXTS = ["one", "", "n/a", "é"]


class Foreign:
    """A column of a library that is not known here, as of polars: it has the Arrow interface and nothing else."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_stream__(self, requested_schema=None):
        return self.column.__arrow_c_stream__(requested_schema)


KINDS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "numpy": np.array,
    "numpy of objects": lambda texts: np.array(texts, object),
    "pandas": pd.Series,
    "pandas with an index of its own": lambda texts: pd.Series(texts, index=[9, 9, 3, 1][: len(texts)]),
    "pandas of objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas of categories": lambda texts: pd.Series(texts, dtype="category"),
    "pandas index": pd.Index,
    "pandas frame": lambda texts: pd.DataFrame({"title": texts}),
    "pyarrow": pa.array,
    "pyarrow of large strings": lambda texts: pa.array(texts, pa.large_string()),
    "pyarrow of string views": lambda texts: pa.array(texts, pa.string_view()),
    "pyarrow in two chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]], pa.string()),
    "pyarrow table": lambda texts: pa.table({"title": texts}),
    "pyarrow batch": lambda texts: pa.record_batch({"title": pa.array(texts)}),
    "foreign": lambda texts: Foreign(pa.chunked_array([texts])),
    "foreign frame": lambda texts: Foreign(pa.table({"title": texts})),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_gives_its_texts(kind):
    assert list(texts_of(KINDS[kind](TEXTS))) == TEXTS


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "numpy"])
def test_a_missing_value_is_named_with_its_row(kind):
    with pytest.raises(TypeError, match=r"expected texts; row 2 \(from 0\) is (None|nan): fill in"):
        texts_of(KINDS[kind](["a", "b", None, "c"]))


@pytest.mark.parametrize("values", [[], pd.Series([], dtype=str), pa.array([], pa.string())])
def test_no_texts_are_none(values):
    assert list(texts_of(values)) == []


def test_no_library_of_data_frames_is_imported():
    code = "import sys, twicetold.tables.texts; print(sorted({'pandas', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Plan:
    """A plan of polars for values: it has no values yet, and cannot be iterated."""

    def collect(self):
        """Make the values."""


class Expression:
    """An expression of polars."""

    def alias(self, name):
        """Name it."""

    def over(self, column):
        """Group it."""


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", float("nan")], r"row 1 \(from 0\) is nan"),
        (pd.Series(["a", float("nan")]), r"row 1 \(from 0\) is (nan|None)"),
        (pd.Series(["a", 3, None], dtype=object), r"row 1 \(from 0\) is 3"),
        (["a", b"b"], r"row 1 \(from 0\) is b'b'"),
        (pa.array([1, 2]), r"row 0 \(from 0\) is 1"),
        (pd.Series([0.5, 1.5]), r"row 0 \(from 0\) is 0.5"),
        (np.array([["a", "b"]]), r"row 0 \(from 0\) is \['a', 'b'\]"),
        (pa.nulls(2), r"row 0 \(from 0\) is None"),
        ("one text", r"expected a list of texts, got one text: put it in a list, \['one text'\]"),
        (pd.DataFrame({"id": ["1"], "title": ["a"]}), "got a table with the columns id, title: choose one"),
        (None, r"expected a list of texts, got nothing \(None\)"),
        (3, "expected a list of texts, got a value of int"),
        (Plan(), r"got a value of Plan: call collect\(\) first, and take the column"),
        (Expression(), r"got a value of Expression: take the column of a frame, such as frame\.select"),
        (b"one", r"got one text: put it in a list, \[b'one'\]"),
        (np.array("one"), r"got one text: put it in a list, \['one'\]"),
        ({"a": "b"}, "expected a list of texts in an order, got a dict"),
        ({"a", "b"}, "expected a list of texts in an order, got a set"),
        (dict.fromkeys("ab").keys(), "expected a list of texts in an order, got a dict_keys"),
    ],
)
def test_what_holds_no_texts_in_an_order_is_refused_with_what_to_do(values, message):
    with pytest.raises(TypeError, match=message):
        texts_of(values)


@pytest.mark.parametrize("kind", [list, lambda texts: pd.Series(texts, dtype=object), np.array])
def test_half_of_a_surrogate_pair_is_named_with_its_row(kind):
    with pytest.raises(ValueError, match=r"row 2 \(from 0\) holds half of a surrogate pair \('\\ud83d'\): 'x\\ud83d'"):
        texts_of(kind(["a", "\U0001f600", "x\ud83d"]))


def test_a_frame_of_one_column_and_an_index_is_that_column():
    frame = pd.DataFrame({"title": ["a", "b", "c"]}, index=[3, 1, 2])
    assert list(texts_of(frame[frame["title"] != "b"])) == ["a", "c"]
    assert list(texts_of(np.array([["a"], ["b"]], object))) == ["a", "b"]
