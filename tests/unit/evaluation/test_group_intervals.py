"""Intervals of agreement: the statistic against groups that are really drawn, and the coverage by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.evaluation.group_intervals import MEASURES, Agreement, agreement_intervals
from twicetold.evaluation.group_metrics import group_scores

FIELDS = {"pair_f1": "f1", "b3": "b3", "ari": "ari"}

codes = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 6), min_size=n, max_size=n) for _ in range(2)])
)


def naive(predicted, true, drawn):
    """Counts pairs one by one, over copies of the true groups; copies of one group form no pairs with each other."""
    names = np.unique(true)
    texts = [
        (group, copy, where)
        for group, times in zip(names, drawn)
        for copy in range(times)
        for where in np.asarray(predicted)[np.asarray(true) == group]
    ]
    found = false = missed = apart = 0
    precision, recall = [], []
    for i, (group, copy, where) in enumerate(texts):
        mine = mates = both = 1
        for j, (other, another, there) in enumerate(texts):
            if i == j or (group == other and copy != another):
                continue
            mine, mates = mine + (where == there), mates + (group == other)
            both += where == there and group == other
            if i < j:
                found += where == there and group == other
                false += where == there and group != other
                missed += where != there and group == other
                apart += where != there and group != other
        precision.append(both / mine)
        recall.append(both / mates)
    precision, recall = np.mean(precision), np.mean(recall)
    chance = (found + missed) * (missed + apart) + (found + false) * (false + apart)
    return (
        2 * found / (2 * found + false + missed) if found + false + missed else np.nan,
        2 * precision * recall / (precision + recall),
        2 * (found * apart - missed * false) / chance if false + missed else 1.0,
    )


@given(codes)
def test_each_group_drawn_once_gives_the_scores_themselves(groups):
    scores, agreement = group_scores(*groups), Agreement(*groups)
    [values] = agreement(np.ones((1, len(agreement))))
    for name, value in zip(MEASURES, values):
        assert np.isnan(value) or value == pytest.approx(getattr(scores, FIELDS[name]))


@given(codes, st.integers(0, 2**32))
def test_a_resample_has_the_scores_of_groups_that_are_really_drawn(groups, seed):
    agreement = Agreement(*groups)
    drawn = np.random.default_rng(seed).integers(0, 4, (3, len(agreement)))
    drawn[:, 0] += drawn.sum(axis=1) == 0
    expected = [naive(*groups, row) for row in drawn]
    assert agreement(drawn.astype(float)) == pytest.approx(np.array(expected), nan_ok=True)


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
    for seed in range(200):
        found = agreement_intervals(*drawn_stories(rng, count), resamples=300, seed=seed)
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
    expected = agreement_intervals(predicted, true, resamples=50)
    assert agreement_intervals(predicted[order] * 3 + 7, true[order], resamples=50) == expected


def test_a_measure_that_no_resample_defines_has_no_interval():
    assert agreement_intervals(np.arange(5), np.arange(5)) == {"b3": (1.0, 1.0), "ari": (1.0, 1.0)}
