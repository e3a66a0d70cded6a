"""Vectors that were made elsewhere."""

import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from twicetold.tables.columns import BadValues
from twicetold.tables.vectors import matrix_in, of_lists, unit_rows

MATRIX = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)
LISTS = MATRIX.tolist()


def same(found, expected=MATRIX):
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    "column",
    [
        LISTS,
        pa.array(LISTS, pa.list_(pa.float32())),
        pa.array(LISTS, pa.large_list(pa.float64())),
        pa.array(LISTS, pa.list_(pa.float64(), 7)),
        pa.chunked_array([pa.array(LISTS[:9]), pa.array(LISTS[9:])]),
        pa.array([[9.0] * 7, *LISTS], pa.list_(pa.float64(), 7)).slice(1),
        pd.Series(list(MATRIX)),
        [json.dumps(row) for row in LISTS],
        [f" [{' , '.join(map(repr, row))}]\n" for row in LISTS],
    ],
)
def test_a_column_of_lists_is_a_matrix_however_it_is_held_or_spelt(column):
    same(of_lists(column))


def test_whole_numbers_are_numbers():
    found = of_lists([[1, 2], [3, -4]])
    same(found, np.array([[1, 2], [3, -4]]))
    same(of_lists(["[1,2]", "[3,-4]"]), found)
    same(unit_rows(np.array([[3, 4], [0, -2]], np.int8), count=2), np.array([[0.6, 0.8], [0, -1]]))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_a_file_have_length_one(kind, order, tmp_path):
    matrix = np.asarray(MATRIX, kind, order=order)
    np.save(tmp_path / "v.npy", matrix)
    found = unit_rows(matrix_in(tmp_path / "v.npy"), count=40)
    expected = matrix.astype(np.float64)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert found.dtype == np.float32
    assert found.flags["C_CONTIGUOUS"]


def test_large_and_small_numbers_do_not_overflow():
    same(unit_rows(np.array([[3e30, 4e30], [3e-30, 4e-30]], np.float32), count=2), np.array([[0.6, 0.8]] * 2))


@pytest.mark.parametrize(
    ("column", "rows", "said"),
    [
        ([[1.0, 2.0], None], [1], "no value"),
        ([[1.0, 2.0], [1.0], [2.0]], [1, 2], "1 numbers"),
        (["[1, 2]", "[1, 2, 3]"], [1], "3 numbers"),
        (["[1, 2]", "one", "[1, 2"], [1, 2], "'one'"),
        (["[1, 2]", "[1, NaN]"], [1], "'[1, NaN]'"),
        (["[1, 2]", "[[1], 2]"], [1], "'[[1], 2]'"),
        (["[1, 2]", "[1, 2-3]"], [1], "'[1, 2-3]'"),
        (["[1, 2]", "[1,]"], [1], "'[1,]'"),
        (["[1, 2]", "   "], [1], "no value"),
    ],
)
def test_a_value_that_is_no_list_is_named_with_its_row(column, rows, said):
    with pytest.raises(BadValues) as caught:
        of_lists(column)
    assert caught.value.rows.tolist() == rows
    assert said in caught.value.value


@pytest.mark.parametrize(
    ("vectors", "error", "message"),
    [
        (MATRIX[:39], ValueError, "expected a row for each of 40 texts, got 39 rows"),
        (MATRIX[0], TypeError, r"expected lists of numbers, such as \[0.1, -0.2\]; got float"),
        (MATRIX[:, :0], ValueError, r"a row of numbers for each text, got shape \(40, 0\)"),
        (MATRIX[None], ValueError, r"got shape \(1, 40, 7\)"),
        (MATRIX > 0, TypeError, "expected numbers, got bool"),
        (MATRIX.astype(complex), TypeError, "expected numbers, got complex128"),
        (MATRIX.astype(str), TypeError, "expected numbers, got <U"),
        ([["a"]] * 40, TypeError, "got lists of string"),
        ([[[1.0]]] * 40, TypeError, "got lists of list"),
        ([None] * 40, BadValues, "no value in rows 0, 1"),
        ([1.0] * 40, TypeError, "got double"),
    ],
)
def test_what_is_no_matrix_of_vectors_is_named(vectors, error, message):
    with pytest.raises(error, match=message):
        unit_rows(vectors, count=40)


@pytest.mark.parametrize(("value", "said"), [(np.nan, "NaN"), (np.inf, "infinity"), (1e300, "infinity"), (0, "zeros")])
def test_rows_that_have_no_direction_are_named(value, said):
    wrong = MATRIX.astype(np.float64)
    wrong[[3, 8]] = value
    with pytest.raises(BadValues, match=f"{said}.* in rows 3, 8") as caught:
        unit_rows(wrong, count=40)
    assert caught.value.rows.tolist() == [3, 8]


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_not_read(tmp_path):
    np.save(tmp_path / "v.npy", np.array([Trap(tmp_path / "sprung")], object), allow_pickle=True)
    with pytest.raises(ValueError, match="got Python objects, which are not read, as they may run code: save it again"):
        matrix_in(tmp_path / "v.npy")
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(ValueError, match=r"expected a matrix of numbers as numpy\.save writes it"):
        matrix_in(tmp_path / "p.npy")
    assert not (tmp_path / "sprung").exists()


def test_other_files_are_named(tmp_path):
    whole = io.BytesIO()
    np.save(whole, MATRIX)
    with zipfile.ZipFile(tmp_path / "zip.npy", "w") as archive:
        archive.writestr("v.npy", whole.getvalue())
    (tmp_path / "cut.npy").write_bytes(whole.getvalue()[:-1])
    (tmp_path / "head.npy").write_bytes(whole.getvalue()[:20])
    (tmp_path / "text.npy").write_text("1,2\n3,4\n")
    (tmp_path / "empty.npy").write_bytes(b"")
    for name in ("zip", "cut", "head", "text", "empty"):
        with pytest.raises(ValueError, match=rf"{name}\.npy: expected a matrix of numbers"):
            matrix_in(tmp_path / f"{name}.npy")
    for missing in (tmp_path / "nowhere.npy", tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            matrix_in(missing)
