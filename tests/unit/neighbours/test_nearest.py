"""Exact search against a full stable sort; the index against the exact search."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from twicetold.neighbours import nearest as search
from twicetold.neighbours.nearest import NOBODY, Index, NearestTexts, row_dots, similarities


def clustered(seed, count, dimensions=32, centres=60):
    """Unit vectors around common centres, as embeddings of texts lie."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(centres, dimensions))[rng.integers(0, centres, count)]
    vectors += 0.5 * rng.normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 30),
    k=st.integers(1, 40),
    sparsely=st.booleans(),
    codes=st.sampled_from([None, 1, 3]),
    block=st.sampled_from([20, 10**6]),
)
def test_the_exact_search_is_a_full_stable_sort_of_the_texts_of_other_codes(seed, count, k, sparsely, codes, block):
    rng = np.random.default_rng(seed)
    queries, texts = (rng.integers(0 if sparsely else -2, 3, (n, 4)).astype(np.float32) for n in (7, count))
    scores = queries @ texts.T
    if sparsely:
        scores[scores <= 0] = -np.inf  # shares no term: not found
    apart = None if codes is None else (rng.integers(codes, size=7), rng.integers(codes, size=count))
    if apart is not None:
        scores[apart[0][:, None] == apart[1]] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    similarity = np.take_along_axis(scores, order, axis=1)
    expected = np.full((7, k), NOBODY)
    expected[:, : order.shape[1]] = np.where(np.isneginf(similarity), NOBODY, order)
    sides = (sparse.csr_matrix(queries), sparse.csr_matrix(texts)) if sparsely else (queries, texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "BLOCK", block)
        found = Index(sides[1]).search(sides[0], k=k, apart=apart)
    assert expected.tolist() == found.index.tolist()
    assert np.where(np.isneginf(similarity), 0, similarity).tolist() == found.similarity[:, : order.shape[1]].tolist()
    assert not found.similarity[:, order.shape[1] :].any()


def test_the_index_finds_most_of_what_the_exact_search_finds():
    texts = clustered(0, 4000)
    exact, found = (Index(texts, approximate=a).search(texts[:200], k=10) for a in (False, True))
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(exact.index.tolist(), found.index.tolist())]
    assert np.mean(shared) > 0.9
    assert found.similarity == pytest.approx(
        np.einsum("qd,qkd->qk", texts[:200], texts[found.index]), abs=1e-5
    )  # nearest first, with their similarities
    assert (np.diff(found.similarity, axis=1) <= 0).all()


def test_the_same_texts_and_seed_give_the_same_index_on_any_number_of_threads():
    texts = clustered(1, 2000)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(Index(texts, approximate=True).search(texts[:50], k=5).index.tolist())
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


def test_an_index_of_a_handful_of_texts_has_nobody_beyond_them():
    found = Index(clustered(0, 3), approximate=True).search(clustered(1, 2), k=5)
    assert (found.index[:, 3:] == NOBODY).all()
    assert not found.similarity[:, 3:].any()


def test_an_index_of_sparse_vectors_is_refused():
    with pytest.raises(ValueError, match="needs dense vectors"):
        Index(sparse.csr_matrix(np.eye(3, dtype=np.float32)), approximate=True)


def test_an_approximate_index_that_is_to_leave_texts_out_is_refused():
    codes = np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="in an exact search"):
        Index(clustered(0, 3), approximate=True).search(clustered(1, 3), k=1, apart=(codes, codes))


def test_what_is_not_kept_is_dropped_and_the_others_move_up_in_order():
    found = NearestTexts(np.array([[4, 2, 9, 7], [1, 5, NOBODY, NOBODY]]), np.array([[4, 3, 2, 1], [2, 1, 0, 0.0]]))
    kept = found.keeping(np.array([[True, False, True, True], [False, True, True, True]]), k=3)
    assert kept.index.tolist() == [[4, 9, 7], [5, NOBODY, NOBODY]]
    assert kept.similarity.tolist() == [[4, 2, 1], [1, 0, 0]]


def test_a_search_takes_texts_that_may_not_be_written():
    vectors = np.random.default_rng(0).standard_normal((50, 8), np.float32)
    writable = Index(vectors).search(vectors, k=3).index
    vectors.setflags(write=False)
    np.testing.assert_array_equal(Index(vectors).search(vectors, k=3).index, writable)


def test_dense_columns_beside_sparse_ones_are_compared_as_if_all_were_dense():
    rng = np.random.default_rng(0)
    lexical = sparse.random(60, 500, 0.03, format="csr", dtype=np.float32, rng=rng)
    side = sparse.hstack([lexical, sparse.csr_matrix(rng.standard_normal((60, 20), np.float32))], format="csr")
    whole = side.toarray()
    found = similarities(side, side)(slice(10, 30))
    expected = whole[10:30] @ whole.T
    np.testing.assert_allclose(found, np.where(expected > 0, expected, -np.inf), rtol=1e-4, atol=1e-5)


def test_a_long_row_is_not_gathered_for_many_pairs_at_once(monkeypatch):
    rows = sparse.vstack([sparse.csr_matrix(np.ones((1, 500))), sparse.eye(200, 500, format="csr")], format="csr")
    left, right = np.arange(1, 201), np.zeros(200, np.int64)
    whole = row_dots(rows, left, rows, right)
    monkeypatch.setattr(search, "GATHERED", 1000)
    assert max(stop - start for start, stop in search._blocks(rows, left, rows, right)) <= 2
    for kind in (rows, rows.toarray()):
        np.testing.assert_array_equal(row_dots(kind, left, kind, right), whole)
