"""Nearest neighbours against a full sort, and what is read off them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score

from twicetold.evaluation.inputs import DocumentVectors
from twicetold.neighbours.nearest import NOBODY, Index, NearestTexts
from twicetold_lab.evaluation.retrieval import (
    Asked,
    CorpusSearch,
    agreement,
    hits,
    knn_right,
    nearest,
    precision_and_recall,
    search_for,
)


def integers(seed, count):
    """Small whole numbers: many exact ties."""
    values = np.random.default_rng(seed).integers(-2, 3, (count, 4)).astype(np.float32)
    return DocumentVectors(values, values, {"story": np.zeros(count, dtype=np.int64)})


def test_neighbours_are_those_of_an_exact_search_among_the_other_documents():
    vectors = integers(0, 40)
    scores = vectors.left @ vectors.right.T
    np.fill_diagonal(scores, -np.inf)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    found = nearest(vectors, k=5)
    assert found.index.tolist() == expected.tolist()
    assert found.similarity.tolist() == np.take_along_axis(scores, expected, axis=1).tolist()


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


TEXTS = 80


def vectors(seed, *, sparsely=False):
    values = np.random.default_rng(seed).normal(size=(TEXTS, 5)).astype(np.float32)
    return sparse.csr_matrix(np.maximum(values, 0)) if sparsely else values


def asked(seed):
    """Clusters of some texts, inside larger ones of what is known."""
    rng = np.random.default_rng(seed)
    known = rng.integers(0, 20, TEXTS)
    relevant = known * 3 + rng.integers(0, 3, TEXTS)
    _, place, sizes = np.unique(relevant, return_inverse=True, return_counts=True)
    return Asked(np.flatnonzero(sizes[place] > 1), relevant, known)


def by_definition(scores, one, at, ndcg_at, rank):
    """Each measure of each query, in plain loops."""
    found = {f"retrieval_{name}_at_{k}": [] for name, ks in (("recall", at), ("ndcg", ndcg_at)) for k in ks}
    found[f"retrieval_mrr_at_{rank}"] = []
    for query in one.queries.tolist():
        right = {t for t in range(TEXTS) if one.relevant[t] == one.relevant[query] and t != query}
        struck = {t for t in range(TEXTS) if one.known[t] == one.known[query] and t not in right}
        order = [t for t in np.argsort(-scores[query], kind="stable").tolist() if t not in struck]
        for k in at:
            found[f"retrieval_recall_at_{k}"].append(len(right & set(order[:k])) / len(right))
        hits = [place for place, t in enumerate(order[:rank], 1) if t in right]
        found[f"retrieval_mrr_at_{rank}"].append(1 / hits[0] if hits else 0.0)
        truth = np.array([[float(t in right) for t in order]])
        for k in ndcg_at:
            found[f"retrieval_ndcg_at_{k}"].append(ndcg_score(truth, -np.arange(len(order))[None], k=k))
    return {name: np.mean(values) for name, values in found.items()}


@pytest.mark.parametrize("two_sided", [False, True])
def test_the_measures_are_those_of_the_definitions_without_the_query_and_what_is_known(two_sided):
    queries = vectors(0)
    texts = vectors(1) if two_sided else queries
    search = CorpusSearch(at=(1, 3, 10), ndcg_at=(1, 2, 15), rank=4)
    report = search.report(queries, texts, val=asked(2), test=asked(3))
    for split, one in (("val", asked(2)), ("test", asked(3))):
        expected = by_definition(queries @ texts.T, one, (1, 3, 10), (1, 2, 15), 4)
        assert report.metrics[split] == pytest.approx(expected, abs=1e-9)
    for name, (low, high) in report.intervals["test"].items():
        assert low <= report.metrics["test"][name] <= high


def test_sparse_texts_that_share_no_term_are_not_found():
    report = CorpusSearch(at=(1, 50), rank=5).report(
        vectors(0, sparsely=True), vectors(0, sparsely=True), val=asked(1), test=asked(2)
    )
    scores = (vectors(0, sparsely=True) @ vectors(0, sparsely=True).T).toarray()
    one, hits = asked(2), []
    for query in one.queries.tolist():
        right = [t for t in range(TEXTS) if one.relevant[t] == one.relevant[query] and t != query]
        hits.append(np.mean(scores[query, right] > 0))
    assert report.metrics["test"]["retrieval_recall_at_50"] <= np.mean(hits)


def test_more_ranks_than_texts_find_everything():
    report = CorpusSearch(at=(1, 500), rank=5).report(vectors(0), vectors(0), val=asked(1), test=asked(1))
    assert report.metrics["test"]["retrieval_recall_at_500"] == 1


def test_a_large_dense_corpus_is_searched_with_the_index_too_and_a_sparse_one_is_not():
    search = CorpusSearch(at=(10,), index_from=TEXTS)
    dense = search.report(vectors(0), vectors(0), val=asked(1), test=asked(2)).metrics["test"]
    assert 0 < dense["index_recall_at_10"] <= 1
    assert 0.5 < dense["index_agreement_at_10"] <= 1
    lexical = vectors(0, sparsely=True)
    assert "index_recall_at_10" not in search.report(lexical, lexical, val=asked(1), test=asked(2)).metrics["test"]


def test_agreement_counts_what_both_lists_hold_in_whatever_order():
    one, other = (NearestTexts(np.array([rows]), np.zeros((1, 3))) for rows in ([1, 2, 3], [3, 9, 1]))
    assert agreement(one, other, k=3).tolist() == [pytest.approx(2 / 3)]


def test_a_split_that_asks_nothing_is_left_out():
    nothing = Asked(np.empty(0, np.int64), np.arange(TEXTS), np.arange(TEXTS))
    report = CorpusSearch(at=(1,)).report(vectors(0), vectors(0), val=nothing, test=nothing)
    assert (report.metrics, report.intervals) == ({}, {})


def test_a_sample_of_queries_is_the_same_each_time():
    one, two = (asked(1).sample(5, seed=0) for _ in range(2))
    assert one.queries.tolist() == two.queries.tolist()
    assert len(one.queries) == 5


def test_a_query_without_an_answer_and_codes_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="besides itself"):
        Asked(np.array([0]), np.array([0, 1]), np.array([0, 0]))
    with pytest.raises(ValueError, match="two codes per text"):
        Asked(np.array([0]), np.array([0, 0]), np.array([0, 0, 0]))


def test_struck_texts_do_not_shorten_the_list():
    one = asked(4)
    found = search_for(one, Index(vectors(0)), vectors(0), k=30)
    assert (found.index >= 0).all()
