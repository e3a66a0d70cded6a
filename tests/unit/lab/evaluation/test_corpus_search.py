"""Search in the whole corpus against the measures' definitions, query by query."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score

from twicetold.neighbours.nearest import Index, NearestTexts
from twicetold_lab.evaluation.corpus_search import Asked, CorpusSearch, agreement, search_for

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
