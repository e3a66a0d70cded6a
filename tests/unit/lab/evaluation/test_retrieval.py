"""Nearest neighbours against a full sort, and what is read off them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from twicetold.evaluation.inputs import DocumentVectors
from twicetold.neighbours import nearest as search
from twicetold.neighbours.nearest import NOBODY, NearestTexts
from twicetold_lab.evaluation.retrieval import hits, knn_right, nearest, precision_and_recall


def integers(seed, count, *, sparse_side=False):
    """Small whole numbers: many exact ties."""
    values = np.random.default_rng(seed).integers(0 if sparse_side else -2, 3, (count, 4)).astype(np.float32)
    side = sparse.csr_matrix(np.where(values > 1, values, 0)) if sparse_side else values
    return DocumentVectors(side, side, {"story": np.zeros(count, dtype=np.int64)})


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), count=st.integers(6, 40), sparse_side=st.booleans(), block=st.sampled_from([50, 10**6])
)
def test_neighbours_are_those_of_a_full_stable_sort(seed, count, sparse_side, block):
    vectors = integers(seed, count, sparse_side=sparse_side)
    values = vectors.left.toarray() if sparse_side else vectors.left
    scores = values @ values.T
    np.fill_diagonal(scores, -np.inf)
    if sparse_side:
        scores[scores <= 0] = -np.inf  # shares no term: not retrieved
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    similarity = np.take_along_axis(scores, expected, axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "BLOCK", block)
        found = nearest(vectors, k=5)
    assert found.index.tolist() == np.where(np.isneginf(similarity), NOBODY, expected).tolist()
    assert found.similarity.tolist() == np.where(np.isneginf(similarity), 0, similarity).tolist()


@pytest.mark.parametrize("k", [0, 6, 9])
def test_more_neighbours_than_documents_are_refused(k):
    with pytest.raises(ValueError, match=f"asked for {k} neighbours among 6 documents"):
        nearest(integers(0, 6), k=k)


def test_precision_divides_by_k_and_recall_by_the_relatives_of_those_that_have_one():
    codes = np.array([7, 7, 7, 3, 5, 5])
    found = NearestTexts(
        np.array([[1, 3], [0, 2], [3, 4], [0, 1], [5, NOBODY], [0, 1]]), np.ones((6, 2), dtype=np.float32)
    )
    assert hits(found, codes).tolist() == [1, 2, 0, 0, 1, 0]
    precision, recall, queries = precision_and_recall(found, codes)
    assert queries.tolist() == [0, 1, 2, 4, 5]  # document 3 is alone in its story
    assert precision.tolist() == [0.5, 1.0, 0.0, 0.5, 0.0]
    assert recall.tolist() == [0.5, 1.0, 0.0, 1.0, 0.0]


def test_retrieval_without_any_relatives_is_an_error():
    found = NearestTexts(np.array([[1], [0]]), np.ones((2, 1), dtype=np.float32))
    with pytest.raises(ValueError, match="no document has another of its group"):
        precision_and_recall(found, np.array([0, 1]))


def test_nobody_is_not_the_last_document():
    found = NearestTexts(np.array([[NOBODY], [NOBODY]]), np.zeros((2, 1), dtype=np.float32))
    assert hits(found, np.array([4, 4])).tolist() == [0, 0]
    assert knn_right(found, np.array([4, 4])).tolist() == [False, False]


@pytest.mark.parametrize(
    ("votes", "similarity", "winner"),
    [
        ([1, 2, 2], [0.9, 0.2, 0.1], 2),  # the majority
        ([1, 2, 2, 1], [0.9, 0.8, 0.7, 0.1], 2),  # a tie: the larger sum
        ([2, 1, 1, 2], [0.75, 0.5, 0.5, 0.25], 2),  # equal sums: the nearest
        ([1, 2, 2, 3], [-1.0, -2.0, -2.0, -3.0], 2),  # negative similarities are no handicap of a large party
    ],
)
def test_the_vote_goes_to_the_majority_then_the_larger_sum_then_the_nearest(votes, similarity, winner):
    for own in (1, 2, 3):
        codes = np.array([own, 1, 2, 3])
        found = NearestTexts(np.array([votes]), np.array([similarity], dtype=np.float32))
        one = NearestTexts(np.repeat(found.index, 4, axis=0), np.repeat(found.similarity, 4, axis=0))
        assert knn_right(one, codes).tolist()[0] is (own == winner)
