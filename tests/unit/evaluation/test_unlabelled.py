"""A threshold without labels."""

import numpy as np
import pytest

from twicetold.evaluation.unlabelled import FEWEST_TEXTS, NEAR_COPIES, guess


def similarities(groups, *, texts=2000, rows=400, scale=0.05, alike=0.5, seed=0):
    """Unrelated pairs with the tail that is assumed, x^0.66 decades; pairs within groups of one size are alike."""
    rng = np.random.default_rng(seed)
    x = (-np.log10(rng.random((rows, texts)))) ** (1 / 0.66)
    found = np.minimum(scale * x, 0.99)
    same = np.arange(rows)[:, None] // groups == np.arange(texts)[None] // groups
    found[same] = alike + 0.1 * rng.standard_normal(same.sum())
    found[np.arange(rows), np.arange(rows)] = np.nan
    return found.astype(np.float32)


def threshold(similarity):
    return guess(similarity, exponent=0.66).threshold


def test_larger_groups_bear_a_lower_threshold():
    pairs, tens, hundreds = (threshold(similarities(size)) for size in (2, 10, 100))
    assert hundreds < tens < pairs <= NEAR_COPIES


def test_texts_that_are_more_alike_need_a_higher_threshold():
    assert threshold(similarities(10, scale=0.02)) < threshold(similarities(10, scale=0.05))


def test_without_duplicates_only_near_copies_are_linked():
    assert threshold(similarities(1)) == NEAR_COPIES


@pytest.mark.parametrize("texts", [1, 2, FEWEST_TEXTS - 1])
def test_few_texts_show_no_threshold(texts):
    similarity = np.full((texts, texts), 0.3, np.float32)
    np.fill_diagonal(similarity, np.nan)
    assert threshold(similarity) == NEAR_COPIES


def test_equal_similarities_show_no_threshold():
    similarity = np.zeros((100, 100), np.float32)
    np.fill_diagonal(similarity, np.nan)
    assert threshold(similarity) == NEAR_COPIES


def test_the_guessed_probability_is_a_half_at_the_threshold():
    decision = guess(similarities(10), exponent=0.66)
    assert decision.probability([decision.threshold])[0] == pytest.approx(0.5)
    assert decision.probability([0.05])[0] < 0.05
