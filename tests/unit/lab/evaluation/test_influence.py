"""Intervals of all-pairs measures against the jackknife that they approximate, and against repeated sampling."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.evaluation.all_pairs import pair_counts, pair_histograms
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import variance
from twicetold_lab.evaluation.influence import all_pairs_units, cluster_sums


def sample(seed, stories=60, *, sparse_side=False):
    rng = np.random.default_rng(seed)
    story = np.repeat(np.arange(stories), rng.integers(1, 6, stories))
    category = (rng.integers(0, 3, stories))[story]
    centres = np.random.default_rng(0).normal(size=(3, 6))
    vectors = rng.normal(size=(len(story), 6)) + centres[category] + 1.5 * rng.normal(size=(stories, 6))[story]
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    if sparse_side:
        vectors = sparse.csr_matrix(np.maximum(vectors, 0))
    return DocumentVectors(vectors, vectors, {"category": category, "story": story})


@pytest.mark.parametrize("sparse_side", [False, True])
def test_influences_are_the_loss_when_one_story_is_left_out(sparse_side):
    vectors = sample(1, sparse_side=sparse_side)
    story = vectors.groups["story"]
    histograms = pair_histograms(vectors)
    without = [pair_counts(vectors.take(np.flatnonzero(story != one))) for one in np.unique(story)]
    for name, histogram in histograms.items():
        sums = cluster_sums(vectors, histogram, codes=vectors.groups[name], clusters=story)
        whole = histogram.counts()
        lost = (
            [whole.auroc() - counts[name].auroc() for counts in without],
            [whole.average_precision() - counts[name].average_precision() for counts in without],
        )
        for ours, exact in zip(sums, lost, strict=True):
            # First order: equal up to terms of the order of one story's share of the pairs.
            assert np.corrcoef(ours, exact)[0, 1] > 0.99
            assert np.linalg.norm(ours) == pytest.approx(np.linalg.norm(exact), rel=0.12)


def test_influences_of_all_documents_cancel():
    vectors = sample(2)
    alone = np.arange(len(vectors))
    sums = cluster_sums(vectors, pair_histograms(vectors)["story"], codes=vectors.groups["story"], clusters=alone)
    assert sums.sum(axis=1) == pytest.approx([0, 0], abs=1e-5)


def test_the_standard_error_is_the_spread_over_repeated_samples():
    areas, errors = [], []
    for seed in range(60):
        vectors = sample(seed, stories=40)
        histograms = pair_histograms(vectors, bins=4096)
        areas.append([histograms[name].counts().auroc() for name in ("category", "story")])
        units = all_pairs_units(vectors, histograms, clusters=vectors.groups["story"])
        errors.append([np.sqrt(variance(units[name]["auroc"].terms)) for name in ("category", "story")])
    assert np.mean(errors, axis=0) == pytest.approx(np.std(areas, axis=0), rel=0.25)
