"""Thresholds of links from labelled pairs, against naive ones."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.evaluation import labelled_links
from twicetold.evaluation.dedupe import AimedLinks
from twicetold.evaluation.labelled_links import FEWEST_LABELLED, LabelledLinks, covered, thresholds

drawn = st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.integers(1, 5)), min_size=20, max_size=60).filter(
    lambda rows: any(label for _, label, _ in rows)
)


def unpacked(rows):
    score, label, weight = (np.array(column) for column in zip(*rows))
    return score / 4, label, weight.astype(float)


@given(drawn, st.sampled_from([0.3, 0.5, 0.8]))
def test_the_threshold_is_the_lowest_with_the_aimed_precision(rows, aimed):
    score, label, weight = unpacked(rows)
    (found,) = thresholds(score, label, weight, aimed=[aimed])
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
    repeated = thresholds(np.repeat(score, times), np.repeat(label, times), np.ones(times.sum()))
    for one, other in zip(thresholds(score, label, weight), repeated, strict=True):
        if one.threshold is not None:
            assert other.threshold is not None
            assert other.threshold <= one.threshold  # more pairs are enough for lower counts of labels


def test_a_threshold_is_above_the_score_below_it_also_where_no_number_is_between():
    below = 0.1
    score = np.repeat([below, np.nextafter(below, 1)], 30)
    (found,) = thresholds(score, score > below, np.ones(60), aimed=[0.99])
    assert found.threshold == np.nextafter(below, 1)


def test_a_precision_of_few_labelled_pairs_is_not_promised():
    score = np.arange(100) / 100
    label = score >= 1 - (FEWEST_LABELLED - 1) / 100  # one pair too few of 1
    (found,) = thresholds(score, label, np.ones(100), aimed=[0.99])
    assert found.threshold is None
    assert found.precision == pytest.approx((FEWEST_LABELLED - 1) / FEWEST_LABELLED)
    with pytest.raises(ValueError, match="expected at least 20 labelled pairs, got 5"):
        thresholds(score[:5], label[:5], np.ones(5))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 4)), max_size=40).map(
        lambda rows: [(i, j, s) for (i, j), s in {(min(a, b), max(a, b)): s for a, b, s in rows if a != b}.items()]
    ),
    st.integers(1, 4),
)
def test_links_are_covered_if_they_are_among_the_nearest_of_either_text(rows, nearest):
    if not rows:
        assert covered(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), nearest=nearest) is None
        return
    left, right, score = (np.array(column) for column in zip(*rows))
    score = score + np.arange(len(rows)) / 1000  # no ties
    near = set()
    for text in range(10):
        own = [link for link in range(len(rows)) if text in (left[link], right[link])]
        near |= set(sorted(own, key=lambda link: -score[link])[:nearest])
    assert covered(left, right, score, nearest=nearest) == pytest.approx(len(near) / len(rows))


LINKS = LabelledLinks(
    "file.csv", 100, 5, 400, 50, 0.4, (AimedLinks(0.8, 0.5, 0.82, 0.6), AimedLinks(0.9, None, 0.8, 1))
)


def test_they_are_read_as_they_were_written():
    assert LabelledLinks.from_json(json.loads(json.dumps(asdict(LINKS)))) == LINKS
    with pytest.raises(ValueError, match="expected 'texts' in thresholds from labels to be of type int"):
        LabelledLinks.from_json(json.loads(json.dumps(asdict(LINKS) | {"texts": "many"})))
    with pytest.raises(ValueError, match="expected the fields"):
        LabelledLinks.from_json({"links": []})


def test_a_precision_that_was_not_reached_is_refused_and_one_is_carried_over_to_more_texts():
    assert LINKS.aimed_at(0.8).threshold == 0.5
    with pytest.raises(ValueError, match=r"no threshold gives links with precision 0\.9 on the labelled pairs"):
        LINKS.aimed_at(0.9)
    assert LINKS.expected_precision(0.8, 199) == pytest.approx(0.8 / (0.8 + 0.2 * 2))
    assert labelled_links.FEWEST_LABELLED == 20
