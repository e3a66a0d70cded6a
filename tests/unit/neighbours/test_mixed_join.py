"""All pairs of rows that are sparse and dense, that reach a threshold, against the plain product."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from twicetold.neighbours import mixed_join, sparse_join
from twicetold.neighbours.mixed_join import dense_columns, mixed_self_pairs

FEW = 20  # dense columns


def rows_of(seed, count, *, words=0.5, unit=True):
    """Rows of `FEW` dense columns between sparse ones, around common texts; some rows are empty or equal."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, max(1, count // 3), count)
    lexical = np.zeros((count, 60))
    for column in (rng.integers(0, 60, (count, 5))[source], rng.integers(0, 60, (count, 2))):
        lexical[np.arange(count)[:, None], column] = rng.random()
    dense = rng.normal(size=(count, FEW))[source] + 0.5 * rng.normal(size=(count, FEW))
    for part, share in ((lexical, words), (dense, 1 - words)):
        part *= np.sqrt(share) / np.linalg.norm(part, axis=1, keepdims=True)
    found = np.hstack([lexical[:, :25], dense, lexical[:, 25:]])
    found[rng.integers(0, count, count // 10)] = found[0]
    found[rng.integers(0, count, count // 20)] = 0
    if not unit:
        found *= rng.uniform(0.5, 4, (count, 1))
    return sparse.csr_matrix(found.astype(np.float32))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(2, 80),
    threshold=st.floats(0.1, 0.95),
    words=st.sampled_from([0.05, 0.5, 0.9]),
    unit=st.booleans(),
    most=st.sampled_from([10**6, 400]),
)
def test_they_are_the_pairs_of_the_whole_rows(seed, count, threshold, words, unit, most):
    rows = rows_of(seed, count, words=words, unit=unit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_join, "WORTH", np.inf)
        patch.setattr(sparse_join, "ROWS", 30)
        found = mixed_self_pairs(rows, np.arange(25, 25 + FEW), threshold, most=most)
    similar = (rows.astype(np.float64) @ rows.T.astype(np.float64)).toarray()
    left, right = np.nonzero(np.triu(similar, 1) >= threshold + 1e-4)
    if found is None:  # the parts alone may have more pairs
        assert most == 400
        return
    pairs = set(zip(found[0].tolist(), found[1].tolist()))
    assert set(zip(left.tolist(), right.tolist())) <= pairs
    assert all(similar[pair] >= threshold - 1e-4 for pair in pairs)
    assert len(pairs) == len(found[0])
    np.testing.assert_allclose(similar[found[0], found[1]], found[2], atol=1e-4)


def test_the_baskets_bound_lexical_products():
    lexical = rows_of(0, 60)[:, :25]
    baskets = sparse_join.baskets(lexical, 16)
    assert (baskets @ baskets.T >= (lexical @ lexical.T).toarray() - 1e-6).all()


def test_dense_columns_are_those_that_most_rows_have():
    assert dense_columns(rows_of(0, 200)).tolist() == list(range(25, 25 + FEW))
    assert not len(dense_columns(rows_of(0, 200)[:, :30]))  # too few of them


def test_the_dense_join_is_given_fewer_pairs_where_many_would_be_found():
    dense = np.abs(np.random.default_rng(0).normal(size=(300, 8))).astype(np.float32)
    dense /= np.sqrt(2) * np.linalg.norm(dense, axis=1, keepdims=True)
    least = [mixed_join._least_of_words(dense, 0.7, (0.5, 0.5), most=most) for most in (10**6, 10_000, 10)]
    assert least[0] == pytest.approx(0.7 * 0.6)
    assert least[0] > least[1] > least[2] > 0
