"""The pairs that a person should look at first."""

import numpy as np
import pytest
from scipy.special import logit

import twicetold
from twicetold.dedupe.constraints import Constraints
from twicetold.dedupe.groups import borderline
from twicetold.neighbours.grouping import Links


def test_pairs_are_nearest_to_the_threshold_on_both_sides_and_of_many_groups():
    codes = np.array([0, 0, 0, 0, 1, 1, 2, 3])
    left, right = [0, 0, 0, 1, 4, 0, 1, 4, 6], [1, 2, 3, 2, 5, 4, 5, 6, 7]
    score = [0.61, 0.62, 0.63, 0.64, 0.90, 0.58, 0.595, 0.31, 0.20]
    found = borderline(Links.of(8, left, right, score), 0.6, codes, None, count=6)
    # Groups 0 and 1 have one pair above each, then the second nearest of 0; below, {0, 1}, {1, 2} and {2, 3}.
    assert found.similarity.tolist() == pytest.approx([0.595, 0.61, 0.62, 0.31, 0.90, 0.20])
    assert (found.similarity >= 0.6).sum() == 3


@pytest.mark.parametrize(
    ("above", "below", "expected"), [(9, 9, (5, 5)), (2, 9, (2, 8)), (9, 3, (7, 3)), (2, 1, (2, 1))]
)
def test_where_one_side_has_few_pairs_the_other_side_fills_up(above, below, expected):
    count = above + below
    score = np.concatenate([np.full(above, 0.7), np.full(below, 0.5)])
    links = Links.of(2 * count, np.arange(0, 2 * count, 2), np.arange(1, 2 * count, 2), score)
    found = borderline(links, 0.6, np.arange(2 * count), None, count=10)
    assert ((found.similarity >= 0.6).sum(), (found.similarity < 0.6).sum()) == expected


def test_pairs_of_constraints_are_not_asked_again():
    links = Links.of(4, [0, 1, 2], [1, 2, 3], [0.6, 0.61, 0.62])
    found = borderline(links, 0.6, np.zeros(4, int), Constraints.of(4, [2], [1], [True]), count=3)
    assert found.left.tolist() == [0, 2]


@pytest.mark.parametrize("kind", ["calibrated", "fitted"])
def test_a_review_changes_no_group_and_its_scores_are_those_of_the_model(kind, run, questions):
    texts = questions.texts.to_pylist() * 2
    model = twicetold.fit(texts, lexical=True) if kind == "fitted" else twicetold.load(run())
    options = {"threshold": float(np.median(model.dedupe(texts, threshold=0.4).links.probability))}
    found, plain = model.dedupe(texts, review=20, **options), model.dedupe(texts, **options)
    np.testing.assert_array_equal(found.group, plain.group)
    assert len(found.links) == len(plain.links)
    assert plain.review is None
    review = found.review
    assert 0 < len(review) <= 20
    assert (review.score < found.summary.threshold.score).any()
    sides = ([texts[row] for row in side] for side in (review.left, review.right))
    np.testing.assert_allclose(
        review.score, model.similarity(*sides) if kind == "calibrated" else logit(review.probability), atol=1e-5
    )
    distance = np.abs(review.score - found.summary.threshold.score)
    assert (np.diff(distance) >= 0).all()
