"""All-pairs AUROC and average precision against scikit-learn on the materialised pairs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import average_precision_score, roc_auc_score

from twicetold.evaluation import all_pairs
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.score_scale import ScoreScale
from twicetold.evaluation.tiles import Tiling


def unit_vectors(rng, documents, dimensions=8):
    vectors = rng.normal(size=(documents, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def materialised(vectors, codes):
    """Labels and scores of all pairs i < j whose groups are known."""
    left = vectors.left.toarray() if sparse.issparse(vectors.left) else vectors.left
    right = vectors.right.toarray() if sparse.issparse(vectors.right) else vectors.right
    known = np.flatnonzero(codes != -1)
    upper = np.triu_indices(len(known), 1)
    scores = left[known].astype(np.float64) @ right[known].astype(np.float64).T
    return (codes[known][:, None] == codes[known][None, :])[upper], scores[upper]


def documents(rng, count, *, sparse_side=False):
    groups = {"category": rng.integers(0, 4, count), "story": rng.integers(0, max(2, count // 4), count)}
    if sparse_side:
        counts = rng.poisson(0.2, size=(count, 30)).astype(np.float32)
        vectors = sparse.csr_matrix(counts * rng.uniform(0.5, 1.5, size=30).astype(np.float32))
    else:
        vectors = unit_vectors(rng, count)
    return DocumentVectors(vectors, vectors, groups)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(20, 90), sparse_side=st.booleans())
def test_both_measures_equal_scikit_learns_within_the_stated_resolution_error(seed, count, sparse_side):
    vectors = documents(np.random.default_rng(seed), count, sparse_side=sparse_side)
    scale = ScoreScale.covering(vectors, bins=65_536)
    for name, counts in all_pairs.pair_counts(vectors).items():
        labels, scores = materialised(vectors, vectors.groups[name])
        swap = 1 / (counts.positives * counts.negatives)  # float32 may put a score at a bin's edge on either side
        assert counts.auroc() == pytest.approx(roc_auc_score(labels, scores), abs=counts.resolution_error() + 5 * swap)
        rounded = np.rint((scores - scale.low) / scale.width)
        assert counts.auroc() == pytest.approx(roc_auc_score(labels, rounded), abs=5 * swap)
        assert counts.average_precision() == pytest.approx(average_precision_score(labels, rounded), abs=1e-4)
        assert (counts.positives, counts.negatives) == (labels.sum(), (~labels).sum())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(10, 80), sparse_side=st.booleans())
def test_scores_that_are_multiples_of_the_bin_width_lose_nothing_and_ties_count_one_half(seed, count, sparse_side):
    rng = np.random.default_rng(seed)
    values = rng.integers(0 if sparse_side else -2, 3, size=(count, 6)).astype(np.float32)
    values[0] = [4, 0, 0, 0, 0, 0]  # the longest row: scores lie in [-16, 16] or [0, 16], in steps of 1
    values[1:] = np.where((values[1:] ** 2).sum(axis=1, keepdims=True) > 16, 0, values[1:])
    side = sparse.csr_matrix(values) if sparse_side else values
    groups = {"category": rng.integers(0, 2, count), "story": np.arange(count) // 2}
    groups["category"][:3] = [0, 0, 1]
    vectors = DocumentVectors(side, side, groups)
    for name, counts in all_pairs.pair_counts(vectors, bins=64).items():
        labels, scores = materialised(vectors, groups[name])
        assert counts.auroc() == pytest.approx(roc_auc_score(labels, scores), abs=1e-14)
        assert counts.average_precision() == pytest.approx(average_precision_score(labels, scores), abs=1e-14)


def test_several_tiles_count_every_pair_once_in_the_right_class(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = documents(rng, 300)
    whole = all_pairs.pair_histograms(vectors, bins=256)
    cut = Tiling.of
    monkeypatch.setattr(Tiling, "of", classmethod(lambda cls, codes: cut(codes, size=17)))
    for name, histogram in all_pairs.pair_histograms(vectors, bins=256).items():
        labels, _ = materialised(vectors, vectors.groups[name])
        assert (labels.sum(), (~labels).sum()) == (histogram.positive.sum(), histogram.negative.sum())
        # Products of other shapes may round differently in the last place of float32, at a bin's edge only.
        assert np.abs(np.cumsum(whole[name].positive - histogram.positive)).max() <= 2


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=20), tile=st.integers(1, 12))
def test_two_tiles_are_parts_of_one_group_or_share_none(sizes, tile):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    tiling = Tiling.of(codes, size=tile)
    assert [part.start for part in tiling.parts] == [0, *[part.stop for part in tiling.parts[:-1]]]
    assert tiling.parts[-1].stop == len(codes)
    for one, part in enumerate(tiling.parts):
        assert part.stop - part.start <= tile
        for other in range(one + 1, len(tiling.parts)):
            same = np.equal.outer(tiling.codes[part].numpy(), tiling.codes[tiling.parts[other]].numpy())
            assert same.all() if tiling.together(one, other) else not same.any()


def test_documents_of_unknown_group_take_part_in_no_pair_of_that_label():
    rng = np.random.default_rng(2)
    vectors = documents(rng, 120)
    vectors.groups["story"][rng.random(120) < 0.4] = -1
    counts = all_pairs.pair_counts(vectors)
    assert list(counts) == ["category", "story"]
    for name, found in counts.items():
        labels, scores = materialised(vectors, vectors.groups[name])
        assert (found.positives, found.negatives) == (labels.sum(), (~labels).sum())
        assert found.auroc() == pytest.approx(roc_auc_score(labels, scores), abs=1e-3)


def test_pairs_that_share_no_term_are_tied_at_exactly_zero():
    counts = all_pairs.pair_counts(
        DocumentVectors(
            sparse.eye(40, format="csr", dtype=np.float32),
            sparse.eye(40, format="csr"),
            {"category": np.arange(40) % 2},
        )
    )["category"]
    assert counts.score.tolist() == [0.0]
    assert counts.auroc() == 0.5


def test_different_sides_are_multiplied_left_by_right():
    rng = np.random.default_rng(4)
    half = rng.normal(size=(60, 5)).astype(np.float32)
    other = rng.normal(size=(60, 5)).astype(np.float32)
    left, right = np.hstack([half, other]), np.hstack([other, half])  # symmetrised
    vectors = DocumentVectors(left, right, {"category": rng.integers(0, 3, 60)})
    labels, scores = materialised(vectors, vectors.groups["category"])
    assert all_pairs.pair_counts(vectors)["category"].auroc() == pytest.approx(roc_auc_score(labels, scores), abs=1e-3)


def test_the_number_of_threads_changes_neither_the_counts_nor_torchs_setting():
    vectors = documents(np.random.default_rng(5), 2500)
    before = torch.get_num_threads()
    try:
        found = {}
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found[threads] = all_pairs.pair_histograms(vectors)["category"].positive
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert (found[1] == found[3]).all()


def test_the_score_scale_is_exactly_minus_one_to_one_for_cosine_and_bounded_otherwise():
    rng = np.random.default_rng(6)
    unit = unit_vectors(rng, 50)
    cosine = ScoreScale.covering(DocumentVectors(unit, unit, {"a": np.zeros(50, int)}), bins=65_536)
    assert (cosine.low, cosine.high, cosine.width) == (-1.0, 1.0, 2**-15)
    counted = sparse.csr_matrix(np.array([[3.0, 4.0], [0.0, 1.0]], dtype=np.float32))
    scale = ScoreScale.covering(DocumentVectors(counted, counted, {"a": np.zeros(2, int)}), bins=100)
    assert (scale.low, scale.high) == (0.0, 25.0)
    nothing = np.zeros((3, 2), dtype=np.float32)
    assert ScoreScale.covering(DocumentVectors(nothing, nothing, {"a": np.zeros(3, int)}), bins=100).high == 1.0


@pytest.mark.parametrize("bins", [0, 1, 7, 2**21])
def test_a_resolution_that_cannot_be_used_is_refused(bins):
    vectors = documents(np.random.default_rng(7), 20)
    with pytest.raises(ValueError, match="bins must be even and between"):
        all_pairs.pair_histograms(vectors, bins=bins)


def test_a_group_without_related_pairs_is_named_in_the_error():
    unit = unit_vectors(np.random.default_rng(8), 10)
    vectors = DocumentVectors(unit, unit, {"category": np.arange(10) % 2, "story": np.arange(10)})
    with pytest.raises(ValueError, match="group 'story': ranking needs positive and negative pairs, got 0 positive"):
        all_pairs.pair_counts(vectors)
