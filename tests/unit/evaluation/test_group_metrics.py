"""Agreement of groups against scikit-learn and the definition; intervals against computing anew, and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

from twicetold.evaluation.group_metrics import MEASURES, agreement_intervals, group_scores, without_each

FIELDS = {"pair_f1": "f1", "b3": "b3", "ari": "ari"}

codes = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 6), min_size=n, max_size=n) for _ in range(2)])
)


def b_cubed(predicted, true):
    """Mean share of each text's predicted group that is of its true one."""
    shares = []
    for mine, label in zip(predicted, true):
        together = [other for group, other in zip(predicted, true) if group == mine]
        shares.append(sum(other == label for other in together) / len(together))
    return np.mean(shares)


@given(codes)
def test_scores_are_those_of_scikit_learn_and_of_the_definition(groups):
    predicted, true = groups
    scores = group_scores(predicted, true)
    assert scores.ari == pytest.approx(adjusted_rand_score(true, predicted))
    (_, false), (missed, both) = pair_confusion_matrix(true, predicted)
    assert scores.precision == pytest.approx(both / (both + false) if both + false else 0)
    assert scores.recall == pytest.approx(both / (both + missed) if both + missed else 0)
    assert scores.f1 == pytest.approx(2 * both / (2 * both + false + missed) if both + false + missed else 0)
    assert scores.b3 == pytest.approx(2 / (1 / b_cubed(predicted, true) + 1 / b_cubed(true, predicted)))


def test_counts_of_pairs_beyond_64_bits_of_their_product_are_exact():
    """Two groups of 200,000 texts against 4 of 100,000, in units of 10^10 pairs: 2 both, 2 false, 0 missed, 4 apart."""
    predicted, true = np.repeat([0, 1], 200_000), np.repeat([0, 1, 2, 3], 100_000)
    assert group_scores(predicted, true).ari == pytest.approx(2 * (2 * 4) / (2 * 4 + 4 * 6), abs=1e-5)


@pytest.mark.parametrize("groups", [([], []), ([1, 2], [1]), ([[1]], [[1]])])
def test_groups_of_other_texts_are_refused(groups):
    with pytest.raises(ValueError, match="expected a predicted and a true group of each text"):
        group_scores(*groups)


@given(codes)
def test_the_measures_without_a_group_are_those_of_the_other_texts(groups):
    predicted, true = map(np.asarray, groups)
    found = without_each(predicted, true)
    for place, group in enumerate(np.unique(true)):
        others = true != group
        if not others.any():
            continue
        scores = group_scores(predicted[others], true[others])
        for name, values in zip(MEASURES, found):
            assert np.isnan(values[place]) or values[place] == pytest.approx(getattr(scores, FIELDS[name]))


def drawn_stories(rng, count):
    """Stories of one to twelve texts; a text leaves its predicted group, or the story joins another, at random."""
    sizes = rng.geometric(0.4, count).clip(max=12)
    true = np.repeat(np.arange(count), sizes)
    joined = np.where(rng.random(count) < 0.15, rng.integers(0, count, count), np.arange(count))
    alone = rng.random(len(true)) < 0.2
    return np.where(alone, count + np.arange(len(true)), joined[true]), true


@pytest.mark.parametrize("count", [80, 300])
def test_intervals_cover_the_agreement_of_other_stories(count):
    rng = np.random.default_rng(5)
    other = [group_scores(*drawn_stories(rng, count)) for _ in range(400)]
    inside = dict.fromkeys(MEASURES, 0)
    for _ in range(200):
        found = agreement_intervals(*drawn_stories(rng, count))
        for name in MEASURES:
            low, high = found[name]
            inside[name] += low <= np.mean([getattr(each, FIELDS[name]) for each in other]) <= high
    assert {name: kept / 200 for name, kept in inside.items()} == {
        name: pytest.approx(0.95, abs=0.05) for name in MEASURES
    }


def test_intervals_do_not_depend_on_names_or_on_the_order_of_texts():
    rng = np.random.default_rng(0)
    predicted, true = drawn_stories(rng, 40)
    order = rng.permutation(len(true))
    expected = agreement_intervals(predicted, true)
    assert agreement_intervals(predicted[order] * 3 + 7, true[order]) == expected


@pytest.mark.parametrize("errors", [0.02, 0.3])
def test_an_interval_is_around_its_measure_where_pairs_of_texts_are_wrong(errors):
    """Two of ten texts alone share a group with one other: a bootstrap of groups would have B-cubed too high."""
    rng, true = np.random.default_rng(1), np.arange(500)
    predicted = np.where(rng.random(500) < errors, rng.integers(0, 500, 500), true)
    found = agreement_intervals(predicted, true)
    low, high = found["b3"]
    assert low < group_scores(predicted, true).b3 < high


def test_a_measure_that_is_nowhere_defined_has_no_interval():
    assert agreement_intervals(np.arange(5), np.arange(5)) == {"b3": (1.0, 1.0), "ari": (1.0, 1.0)}
