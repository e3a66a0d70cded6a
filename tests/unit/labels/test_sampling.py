"""Candidate pairs and the draw from them."""

from itertools import pairwise

import numpy as np
import pytest

import twicetold
from twicetold.evaluation.decision import Decision
from twicetold.labels.labelling import labelling
from twicetold.labels.sampling import EDGES, LEAST, candidate_pairs, dealt, draw
from twicetold.trained.reading import EncodedTexts

DECISION = Decision(threshold=0.6, slope=12.0, intercept=-7.2)


def made(count=20_000, seed=0):
    """Scores of candidates, most of them low, as in a file with few duplicates."""
    return np.random.default_rng(seed).beta(2, 5, count)


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_candidates_are_each_texts_nearest_neighbours_and_every_pair_is_there_once(family, run, questions):
    model, texts = twicetold.load(run(family)), list(dict.fromkeys(questions.texts.to_pylist()))
    left, right, score = candidate_pairs(model, texts, neighbours=3)
    vectors = model.encode(texts)
    similar = vectors @ vectors.T
    similar = similar.toarray() if family == "tfidf" else similar.copy()
    np.fill_diagonal(similar, -np.inf)
    pairs = list(zip(left.tolist(), right.tolist()))
    assert len(set(pairs)) == len(pairs)
    assert (left < right).all()
    for text, row in enumerate(similar):
        partners = {a + b - text for a, b in pairs if text in (a, b)}
        kth = np.sort(row)[-3]
        nearer = set(np.flatnonzero((row > kth + 1e-6) & (row > 0 if family == "tfidf" else True)).tolist())
        assert nearer <= partners
    one, other = ([texts[number] for number in side] for side in (left, right))
    np.testing.assert_allclose(score, model.similarity(one, other), atol=1e-6)


def test_a_family_that_scores_pairs_only_is_refused(run, monkeypatch):
    model = twicetold.load(run())
    monkeypatch.setattr(EncodedTexts, "searchable", property(lambda _: False))
    with pytest.raises(TypeError, match=r"scores pairs only\. Use another model to draw the pairs"):
        candidate_pairs(model, ["one", "two"])


def test_files_without_pairs_are_refused(run, tmp_path):
    model = twicetold.load(run())
    with pytest.raises(ValueError, match="at least two different texts to make pairs of, got 1"):
        candidate_pairs(model, ["bank rate"])
    with pytest.raises(
        ValueError, match="none of the 2 texts shares a term with another one: there is no pair to label"
    ):
        labelling(tmp_path / "pairs.csv", model=run(), texts=["bank", "film"])


def test_no_candidate_is_drawn_twice_and_sizes_and_counts_are_those_of_the_bands():
    candidates = made()
    found = draw(candidates, DECISION, pairs=200)
    assert len(found.rows) == len(set(found.rows.tolist())) == 200
    edges = [-np.inf, *(DECISION.threshold + np.array(EDGES) / DECISION.slope), np.inf]
    for band, (low, high) in enumerate(pairwise(edges)):
        scores = candidates[(candidates >= low) & (candidates < high)]
        assert found.sizes[band] == len(scores)
        drawn = candidates[found.rows[found.band == band]]
        assert ((drawn >= low) & (drawn < high)).all()
        for place, threshold in enumerate(found.thresholds):
            assert found.above[band, place] == (scores >= threshold).sum()


def test_pairs_near_the_threshold_are_the_likeliest_and_no_band_is_forgotten():
    found = draw(made(), DECISION, pairs=100)
    drawn = np.bincount(found.band, minlength=len(found.sizes))
    there = found.sizes > 0
    assert (drawn[there] >= np.minimum(LEAST, found.sizes[there])).all()
    middle = slice(2, 6)  # within two of the threshold, in log-odds
    assert drawn[middle].sum() > 50
    assert (drawn[middle] / found.sizes[middle]).min() > drawn[0] / found.sizes[0]


def test_a_larger_draw_begins_with_a_smaller_one():
    candidates = made(3_000)
    small, large = (draw(candidates, DECISION, pairs=pairs, seed=3) for pairs in (70, 500))
    np.testing.assert_array_equal(large.rows[:70], small.rows)
    assert not np.array_equal(draw(candidates, DECISION, pairs=70, seed=4).rows, small.rows)


def test_all_candidates_are_drawn_if_there_are_fewer():
    found = draw(made(30), DECISION, pairs=100)
    assert sorted(found.rows.tolist()) == list(range(30))


def test_draws_are_dealt_in_proportion_where_no_band_is_too_small():
    order = dealt(np.array([1000, 1000, 0, 3]), np.array([1.0, 3.0, 5.0, 9.0]), total=43)
    assert np.bincount(order, minlength=4).tolist() == [10, 30, 0, 3]


def test_a_draw_needs_a_positive_number_and_a_score_that_grows_with_likeness():
    with pytest.raises(ValueError, match="positive number of pairs to draw, got 0"):
        draw(made(10), DECISION, pairs=0)
    with pytest.raises(ValueError, match=r"not more alike \(slope -1\)"):
        draw(made(10), Decision(0.5, -1.0, 0.0), pairs=5)
