"""All pairs of sparse vectors that reach a threshold, by each way, against the plain product."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from twicetold.neighbours import sparse_join
from twicetold.neighbours.sparse_join import by_all_columns, by_prefixes, has_dense_columns, pairs_between


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


def as_dict(found):
    return dict(zip(zip(found[0].tolist(), found[1].tolist()), found[2].tolist()))


def require_same(found, similar, threshold, slack=1e-5):
    """Check pairs against a matrix of products; one within rounding of the threshold may be in or out."""
    pairs = as_dict(found)
    assert len(pairs) == len(found[0])
    assert pairs.keys() >= set(zip(*(side.tolist() for side in np.nonzero(similar >= threshold + slack))))
    assert all(similar[pair] >= threshold - slack for pair in pairs)
    np.testing.assert_allclose(similar[found[0], found[1]], found[2], atol=slack)


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(2, 60),
    threshold=st.floats(0.2, 0.95),
    signed=st.booleans(),
    unit=st.booleans(),
)
def test_by_prefixes_they_are_the_pairs_of_the_dense_product(seed, count, threshold, signed, unit):
    rows = texts_as_rows(count, 40, seed, signed=signed, unit=unit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_join, "WORK", 50)  # several blocks
        patch.setattr(sparse_join, "WORTH", np.inf)
        found = by_prefixes(rows, threshold, most=10**6)
    require_same(found, np.triu((rows.astype(np.float64) @ rows.T.astype(np.float64)).toarray(), 1), threshold)


def rare_columns():
    """400 rows of one frequent and five rare columns, the second half like the first but for one column."""
    rng = np.random.default_rng(1)
    column = np.hstack([rng.integers(0, 10, (200, 1)), rng.integers(10, 3000, (200, 5))])
    changed = column.copy()
    changed[:, 5] = rng.integers(10, 3000, 200)
    columns = np.vstack([column, changed])
    place = np.repeat(np.arange(400), 6), columns.ravel()
    return (sparse.csr_matrix((np.ones(columns.size, np.float32), place), (400, 3000)) / np.float32(6**0.5)).tocsr()


def many_columns():
    """400 rows of 20 frequent columns and 400 rarer ones."""
    rng = np.random.default_rng(0)
    frequent = (rng.random((400, 20)) < 0.5) * np.float32(0.3)
    rows = sparse.csr_matrix(np.hstack([frequent, rng.random((400, 400)) < 0.05]), dtype=np.float32)
    return sparse.csr_matrix(rows / np.sqrt(rows.multiply(rows).sum(axis=1)))


@pytest.mark.parametrize("rows", [rare_columns(), many_columns()])
def test_rows_are_joined_where_most_products_of_all_rows_are_saved(rows):
    require_same(by_prefixes(rows, 0.6, most=10**6), np.triu((rows @ rows.T).toarray(), 1), 0.6)


def test_rows_that_share_everything_are_left_to_all_columns_and_more_pairs_than_may_be_held_are_none():
    everything = sparse.csr_matrix(np.ones((50, 1), np.float32))
    assert by_prefixes(everything, 0.5, most=10**6) is None
    assert by_prefixes(rare_columns(), 0.6, most=100) is None
    assert by_all_columns((everything, everything), 0.5, most=100) is None


def dense_rows(seed, count):
    return sparse.random(count, 30, density=0.2, format="csr", dtype=np.float32, random_state=seed)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_pairs_between_rows_are_those_of_the_product(kind):
    queries, documents = dense_rows(0, 40), dense_rows(1, 50)
    similar = (queries @ documents.T).toarray()
    if kind == "dense":
        queries, documents = queries.toarray(), documents.toarray()
    require_same(pairs_between(queries, documents, 0.8), similar, 0.8)


@pytest.mark.parametrize("block", [1, 200])
@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.8])
def test_by_all_columns_pairs_do_not_depend_on_blocks_and_share_a_column(threshold, block, monkeypatch):
    queries = dense_rows(0, 40)
    documents = (2 * queries).tocsr()
    similar = np.triu((queries @ documents.T).toarray(), 1)
    found = as_dict(by_all_columns((queries, documents), threshold, most=10**6))
    expected = np.nonzero((similar > 0) & (similar >= threshold))
    assert found.keys() == set(zip(*(side.tolist() for side in expected)))
    monkeypatch.setattr(sparse_join, "BLOCK", block)
    assert found == as_dict(by_all_columns((queries, documents), threshold, most=10**6))


@pytest.mark.parametrize("loose", [1.0, 0.0])
def test_pairs_of_rows_that_share_many_columns_are_those_of_the_product_by_bounds_or_without(loose, monkeypatch):
    monkeypatch.setattr(sparse_join, "LOOSE", loose)
    monkeypatch.setattr(sparse_join, "BASKETS", 8)
    rng = np.random.default_rng(0)
    common = np.tile(rng.random(20), (90, 1)) + 0.1 * rng.random((90, 20))
    rare = sparse.random(90, 3000, density=0.003, format="csr", dtype=np.float32, random_state=1)
    rows = sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(common.astype(np.float32)), 2 * rare]))
    similar = (rows @ rows.T).toarray()
    threshold = float(np.quantile(similar[similar > 0], 0.9))
    bounds = sparse_join._bounds(rows, threshold)
    assert (bounds is None) == (loose == 0)
    assert bounds is None or (bounds @ bounds.T >= similar - 1e-4).all()
    require_same(by_all_columns((rows, rows), threshold, most=10**6), np.triu(similar, 1), threshold, 1e-4)


def test_dense_columns_are_those_that_most_rows_have():
    rng = np.random.default_rng(0)
    dense = sparse.csr_matrix(rng.normal(size=(60, 20)))
    words = sparse.random(60, 500, 0.03, format="csr", rng=rng)
    assert has_dense_columns(sparse.hstack([words, dense], format="csr"))
    assert not has_dense_columns(sparse.hstack([words, dense[:, :10]], format="csr"))  # too few of them
