"""The pairwise k-NN rule against the definition, spelt out text by text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import log_loss

from twicetold_lab.evaluation import pairwise_knn
from twicetold_lab.evaluation.pairwise_knn import PairwiseKnn, PooledPairs, mutual_ranks


def by_definition(scores, left, right, *, sparsely):
    """Larger of both ranks, one text at a time."""

    def rank(a, b):
        if sparsely and scores[a, b] <= 0:
            return len(scores)
        return 1 + sum(scores[a, c] > scores[a, b] for c in range(len(scores)) if c not in (a, b))

    return [max(rank(a, b), rank(b, a)) for a, b in zip(left.tolist(), right.tolist())]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sparsely=st.booleans(),
    two_sided=st.booleans(),
    block=st.sampled_from([30, 10**6]),
)
def test_mutual_ranks_are_those_of_the_definition_ties_and_repeated_texts_included(seed, sparsely, two_sided, block):
    rng = np.random.default_rng(seed)
    queries = rng.integers(0 if sparsely else -2, 3, (12, 3)).astype(np.float32)  # small whole numbers: many ties
    texts = rng.integers(0, 3, (12, 3)).astype(np.float32) if two_sided else queries
    left, right = rng.integers(0, 12, (2, 20))
    as_given = [sparse.csr_matrix(side) if sparsely else side for side in (queries, texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise_knn, "BLOCK", block)
        found = mutual_ranks(PooledPairs(*as_given, left, right, rng.random(20) < 0.5))
    assert by_definition(queries @ texts.T, left, right, sparsely=sparsely) == found.tolist()


def test_rounding_does_not_tell_equally_similar_texts_apart():
    one = np.full(64, 0.125, dtype=np.float32)
    almost = one * np.float32(1 + 2e-7)
    pool = np.stack([one, one, almost, almost])
    pairs = PooledPairs(pool, pool, np.array([0]), np.array([1]), np.array([True]))
    assert mutual_ranks(pairs).tolist() == [1]


def pooled(seed, texts=60, dimensions=4):
    """Texts 2i and 2i + 1 lie close together; half of the pairs join such two."""
    rng = np.random.default_rng(seed)
    vectors = np.repeat(rng.normal(size=(texts // 2, dimensions)), 2, axis=0) + 0.4 * rng.normal(
        size=(texts, dimensions)
    )
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    same, other = np.arange(0, texts, 2), rng.integers(0, texts, texts // 2)
    left, right = np.concatenate([same, other]), np.concatenate([same + 1, (other + 7) % texts])
    return PooledPairs(vectors, vectors, left, right, np.repeat([True, False], texts // 2))


@pytest.mark.parametrize("seed", range(4))
def test_k_is_the_best_on_validation_and_test_is_measured_with_it_whatever_its_labels(seed):
    val, test = pooled(2 * seed + 1), pooled(2 * seed + 2)
    report = PairwiseKnn(max_k=20).report(val=val, test=test)
    ranks = {"val": mutual_ranks(val), "test": mutual_ranks(test)}
    k = 1 + int(np.argmax([np.mean((ranks["val"] <= k) == val.label) for k in range(1, 21)]))
    yes = ranks["val"] <= k
    after_yes = (np.sum(yes & val.label) + 1) / (yes.sum() + 2)
    after_no = (np.sum(~yes & val.label) + 1) / ((~yes).sum() + 2)
    for split, pairs in (("val", val), ("test", test)):
        said, found = ranks[split] <= k, report.metrics[split]
        assert found["pairwise_knn_k"] == k
        assert found["pairwise_knn_accuracy"] == np.mean(said == pairs.label)
        expected = log_loss(pairs.label, np.where(said, after_yes, after_no))
        assert found["pairwise_knn_log_loss"] == pytest.approx(expected, abs=1e-12)
    low, high = report.intervals["test"]["pairwise_knn_accuracy"]
    assert low < report.metrics["test"]["pairwise_knn_accuracy"] < high
    other = PooledPairs(test.queries, test.texts, test.left, test.right, ~test.label)
    swapped = PairwiseKnn(max_k=20).report(val=val, test=other)
    assert swapped.metrics["val"] == report.metrics["val"]
    assert swapped.metrics["test"]["pairwise_knn_k"] == k


def test_a_sample_of_the_pairs_keeps_the_whole_pool():
    pairs = pooled(1).sample(10, seed=0)
    assert len(pairs) == 10
    assert len(pairs.texts) == 60
    assert sorted(pairs.label.tolist(), reverse=True) == pairs.label.tolist()  # in the order of the pairs
    assert pooled(1).sample(10, seed=0).left.tolist() == pairs.left.tolist()


def test_pairs_of_one_class_are_refused():
    val = pooled(1)
    with pytest.raises(ValueError, match="both classes"):
        PairwiseKnn().report(val=PooledPairs(val.queries, val.texts, val.left, val.right, val.label | True), test=val)
