"""Thresholds for a target precision, and which links labels say something about."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.dedupe.thresholds import covered, target_links
from twicetold.evaluation.thresholds import LabelledLinks, TargetLinks

REACHED, MISSED = TargetLinks(0.8, 0.5, 0.82, 0.6), TargetLinks(0.9, None, 0.85, 0.1)
LABELLED = LabelledLinks("file.csv", 100, 5, 400, 50, 0.4, (REACHED, MISSED))


def test_a_target_precision_has_its_threshold_and_one_that_was_not_reached_is_refused():
    assert target_links(LABELLED, 0.8) == (REACHED, 0.5)
    with pytest.raises(ValueError, match=r"no threshold gives links with precision 0\.9 on the labelled pairs"):
        target_links(LABELLED, 0.9)
    with pytest.raises(ValueError, match=r"thresholds for a precision of 0\.8, 0\.9, and none for 0\.7"):
        target_links(LABELLED, 0.7)


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
