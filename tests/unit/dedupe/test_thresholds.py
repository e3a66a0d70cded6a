"""Thresholds for a target precision."""

import pytest

from twicetold.dedupe.thresholds import target_links
from twicetold.evaluation.thresholds import LabelledLinks, TargetLinks

REACHED, MISSED = TargetLinks(0.8, 0.5, 0.82, 0.6), TargetLinks(0.9, None, 0.85, 0.1)
LABELLED = LabelledLinks("file.csv", 100, 5, 400, 50, 0.4, (REACHED, MISSED))


def test_a_target_precision_has_its_threshold_and_one_that_was_not_reached_is_refused():
    assert target_links(LABELLED, 0.8) == (REACHED, 0.5)
    with pytest.raises(ValueError, match=r"no threshold gives links with precision 0\.9 on the labelled pairs"):
        target_links(LABELLED, 0.9)
    with pytest.raises(ValueError, match=r"thresholds for a precision of 0\.8, 0\.9, and none for 0\.7"):
        target_links(LABELLED, 0.7)
