"""All pairs of sparse vectors from a threshold on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from twicetold.neighbours import joining
from twicetold.neighbours.joining import pairs_above


def texts_as_rows(count, columns, seed, *, signed=False, unit=True):
    """Rows of few columns, some of which are frequent."""
    rng = np.random.default_rng(seed)
    column = np.minimum(rng.zipf(1.5, (count, 6)) - 1, columns - 1)
    dense = np.zeros((count, columns), np.float32)
    np.add.at(dense, (np.arange(count)[:, None], column), 1 / np.log(3 + column[::-1].max(initial=0) - column))
    if signed:
        dense *= rng.choice([-1, 1], columns)[None] * rng.choice([1, 1, -1], dense.shape)
    if unit:
        dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    return sparse.csr_matrix(dense)


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(2, 60),
    threshold=st.floats(0.2, 0.95),
    signed=st.booleans(),
    unit=st.booleans(),
)
def test_they_are_the_pairs_of_the_dense_product(seed, count, threshold, signed, unit):
    rows = texts_as_rows(count, 40, seed, signed=signed, unit=unit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "WORK", 50)  # several blocks
        patch.setattr(joining, "WORTH", np.inf)
        found = pairs_above(rows, threshold, most=10**6)
    similar = (rows.astype(np.float64) @ rows.T.astype(np.float64)).toarray()
    left, right = np.nonzero(np.triu(similar, 1) >= threshold + 1e-5)
    pairs = set(zip(found[0].tolist(), found[1].tolist()))
    assert set(zip(left.tolist(), right.tolist())) <= pairs
    assert all(similar[pair] >= threshold - 1e-5 for pair in pairs)
    assert len(pairs) == len(found[0])
    np.testing.assert_allclose(similar[found[0], found[1]], found[2], atol=1e-5)


def rare_columns():
    """400 rows of one frequent and five rare columns, the second half like the first but for one column."""
    rng = np.random.default_rng(1)
    column = np.hstack([rng.integers(0, 10, (200, 1)), rng.integers(10, 3000, (200, 5))])
    changed = column.copy()
    changed[:, 5] = rng.integers(10, 3000, 200)
    columns = np.vstack([column, changed])
    shape = (400, 3000)
    rows = sparse.csr_matrix(
        (np.ones(columns.size, np.float32), (np.repeat(np.arange(400), 6), columns.ravel())), shape
    )
    return rows / np.float32(6**0.5)


def test_rows_that_share_few_columns_are_not_all_compared():
    rows = rare_columns().tocsr()
    found = pairs_above(rows, 0.6, most=10**6)
    assert found is not None
    similar = (rows @ rows.T).toarray()
    left, right = np.nonzero(np.triu(similar, 1) >= 0.6)
    assert set(zip(found[0].tolist(), found[1].tolist())) == set(zip(left.tolist(), right.tolist()))
    assert len(left) >= 200


def test_more_pairs_than_may_be_held_are_none():
    assert pairs_above(rare_columns().tocsr(), 0.6, most=100) is None


def test_rows_that_share_everything_are_none():
    assert pairs_above(sparse.csr_matrix(np.ones((50, 1), np.float32)), 0.5, most=10**6) is None


def test_rows_of_many_columns_are_joined_where_most_of_their_products_are_saved():
    rng = np.random.default_rng(0)
    frequent = (rng.random((400, 20)) < 0.5) * np.float32(0.3)
    rows = sparse.csr_matrix(np.hstack([frequent, rng.random((400, 400)) < 0.05]), dtype=np.float32)
    rows = sparse.csr_matrix(rows / np.sqrt(rows.multiply(rows).sum(axis=1)))
    rare = joining._parts(rows, joining.COMMON * 0.6)[0]
    products = (np.bincount(rare.indices) ** 2).sum() / 400**2
    assert products > joining.WORTH
    assert pairs_above(rows, 0.6, most=10**6) is not None
