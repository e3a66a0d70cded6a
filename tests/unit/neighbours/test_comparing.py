"""All pairs from a threshold on, by the products of all rows."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.neighbours import comparing
from twicetold.neighbours.comparing import links_of, pairs_above


def rows_of(seed, count):
    return sparse.random(count, 30, density=0.2, format="csr", dtype=np.float32, random_state=seed)


def as_dict(found):
    return dict(zip(zip(found[0].tolist(), found[1].tolist()), found[2].tolist()))


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_links_are_those_of_the_product(kind):
    queries, documents = rows_of(0, 40), rows_of(1, 50)
    similar = (queries @ documents.T).toarray()
    if kind == "dense":
        queries, documents = queries.toarray(), documents.toarray()
    found = as_dict(links_of(queries, documents, 0.8))
    assert found.keys() == set(zip(*(side.tolist() for side in np.nonzero(similar >= 0.8))))
    assert found == pytest.approx({pair: similar[pair] for pair in found}, abs=1e-5)


@pytest.mark.parametrize("block", [1, 200, 10**6])
@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.8])
def test_pairs_do_not_depend_on_blocks_and_share_a_column(threshold, block, monkeypatch):
    monkeypatch.setattr(comparing, "BLOCK", block)
    queries = rows_of(0, 40)
    documents = (2 * queries).tocsr()
    similar = np.triu((queries @ documents.T).toarray(), 1)
    found = as_dict(pairs_above((queries, documents), threshold, most=10**6))
    expected = np.nonzero((similar > 0) & (similar >= threshold))
    assert found.keys() == set(zip(*(side.tolist() for side in expected)))
    monkeypatch.setattr(comparing, "BLOCK", 10**6)
    assert found == as_dict(pairs_above((queries, documents), threshold, most=10**6))


def test_more_pairs_than_may_be_held_are_none():
    rows = sparse.csr_matrix(np.ones((30, 1), np.float32))
    assert pairs_above((rows, rows), 0.5, most=100) is None


@pytest.mark.parametrize("loose", [1.0, 0.0])
def test_pairs_of_rows_that_share_many_columns_are_those_of_the_product_by_bounds_or_without(loose, monkeypatch):
    monkeypatch.setattr(comparing, "LOOSE", loose)
    monkeypatch.setattr(comparing, "BASKETS", 8)
    rng = np.random.default_rng(0)
    common = np.tile(rng.random(20), (90, 1)) + 0.1 * rng.random((90, 20))
    rare = sparse.random(90, 3000, density=0.003, format="csr", dtype=np.float32, random_state=1)
    rows = sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(common.astype(np.float32)), 2 * rare]))
    similar = np.triu((rows @ rows.T).toarray(), 1)
    threshold = float(np.quantile(similar[similar > 0], 0.9))
    assert (comparing._bounds(rows, threshold) is None) == (loose == 0)
    found = as_dict(pairs_above((rows, rows), threshold, most=10**6))
    assert found.keys() == set(zip(*(side.tolist() for side in np.nonzero(similar >= threshold))))
    assert found == pytest.approx({pair: similar[pair] for pair in found}, abs=1e-4)
    bounds = comparing._bounds(rows, threshold)
    assert bounds is None or (bounds @ bounds.T >= (rows @ rows.T).toarray() - 1e-4).all()
    assert pairs_above((rows, rows), threshold, most=10) is None
