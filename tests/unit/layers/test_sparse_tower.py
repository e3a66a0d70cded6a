import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features.rows import CsrRows
from twicetold.layers.sparse_tower import row_dots, unit_rows


def random_rows(seed, rows=7, width=9):
    matrix = sp.random(rows, width, density=0.3, format="csr", dtype=np.float32, rng=np.random.default_rng(seed))
    return matrix.toarray(), CsrRows.from_scipy(matrix).gather(np.arange(rows))


@given(st.integers(0, 2**31), st.integers(0, 2**31))
def test_row_dots_equal_the_dense_ones(one, other):
    (left, left_rows), (right, right_rows) = random_rows(one), random_rows(other)
    np.testing.assert_allclose((left * right).sum(1), row_dots(left_rows, right_rows).numpy(), atol=1e-6)


def test_rows_without_entries_have_dot_zero():
    empty = CsrRows.from_scipy(sp.csr_matrix((3, 9), dtype=np.float32)).gather(np.arange(3))
    _, rows = random_rows(0, rows=3)
    assert row_dots(empty, rows).tolist() == row_dots(rows, empty).tolist() == [0, 0, 0]


@given(st.integers(0, 2**31))
def test_unit_rows_have_length_one_or_are_empty(seed):
    dense, rows = random_rows(seed)
    lengths = row_dots(unit_rows(rows), unit_rows(rows))
    torch.testing.assert_close(lengths, torch.from_numpy((np.abs(dense).sum(1) > 0).astype(np.float32)))
