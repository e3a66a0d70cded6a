"""Thresholds of links from labelled pairs, against naive ones."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.evaluation.stored import record
from twicetold.evaluation.thresholds import FEWEST_LABELLED, LabelledLinks, TargetLinks, choose_on_labels

drawn = st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.integers(1, 5)), min_size=20, max_size=60).filter(
    lambda rows: any(label for _, label, _ in rows)
)


def unpacked(rows):
    score, label, weight = (np.array(column) for column in zip(*rows))
    return score / 4, label, weight.astype(float)


@given(drawn, st.sampled_from([0.3, 0.5, 0.8]))
def test_the_threshold_is_the_lowest_with_the_aimed_precision(rows, aimed):
    score, label, weight = unpacked(rows)
    (found,) = choose_on_labels(score, label, weight, aimed=[aimed])
    reached = {}
    for least in np.unique(score):
        above = score >= least
        if above.sum() >= FEWEST_LABELLED:
            reached[least] = (weight * label)[above].sum() / weight[above].sum()
    good = [least for least in reached if reached[least] >= aimed]
    if not good:
        assert found.threshold is None
        assert found.precision == pytest.approx(max(reached.values()))
        return
    above = score >= found.threshold
    assert set(score[above]) == set(score[score >= min(good)])
    assert found.precision == pytest.approx(reached[min(good)])
    assert found.recall == pytest.approx((weight * label)[above].sum() / (weight * label).sum())


@given(drawn)
def test_a_weight_of_three_is_three_pairs(rows):
    score, label, weight = unpacked(rows * 3)
    times = weight.astype(int)
    repeated = choose_on_labels(np.repeat(score, times), np.repeat(label, times), np.ones(times.sum()))
    for one, other in zip(choose_on_labels(score, label, weight), repeated, strict=True):
        if one.threshold is not None:
            assert other.threshold is not None
            assert other.threshold <= one.threshold  # more pairs are enough for lower counts of labels


def test_a_threshold_is_above_the_score_below_it_also_where_no_number_is_between():
    below = 0.1
    score = np.repeat([below, np.nextafter(below, 1)], 30)
    (found,) = choose_on_labels(score, score > below, np.ones(60), aimed=[0.99])
    assert found.threshold == np.nextafter(below, 1)


def test_a_precision_of_few_labelled_pairs_is_not_promised():
    score = np.arange(100) / 100
    label = score >= 1 - (FEWEST_LABELLED - 1) / 100  # one pair too few of 1
    (found,) = choose_on_labels(score, label, np.ones(100), aimed=[0.99])
    assert found.threshold is None
    assert found.precision == pytest.approx((FEWEST_LABELLED - 1) / FEWEST_LABELLED)
    with pytest.raises(ValueError, match="expected at least 20 labelled pairs, got 5"):
        choose_on_labels(score[:5], label[:5], np.ones(5))


LINKS = LabelledLinks(
    "file.csv", 100, 5, 400, 50, 0.4, (TargetLinks(0.8, 0.5, 0.82, 0.6), TargetLinks(0.9, None, 0.8, 1))
)


def test_they_are_read_as_they_were_written():
    stored = json.loads(json.dumps(asdict(LINKS)))
    assert record(LabelledLinks, stored, "links") == LINKS
    with pytest.raises(ValueError, match="expected 'texts' in links to be of type int"):
        record(LabelledLinks, stored | {"texts": "many"}, "links")
    with pytest.raises(ValueError, match="expected the fields"):
        record(LabelledLinks, {"links": []}, "links")
