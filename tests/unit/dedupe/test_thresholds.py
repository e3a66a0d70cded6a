"""The threshold of links by each kind of evidence, and what is promised of it."""

import math
from dataclasses import replace

import pytest

from chosen_thresholds import CHOSEN
from twicetold.dedupe.options import DedupeOptions
from twicetold.dedupe.pairs import PairsByVectors
from twicetold.dedupe.thresholds import Thresholds, target_links
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.guarantee import IntervalEstimate, MeasuredLinks
from twicetold.evaluation.thresholds import GroupingThreshold, LabelledLinks, LinkEstimate, TargetLinks
from twicetold.neighbours.rules import RULES
from twicetold.trained.threshold_record import CalibrationRecord, ThresholdRecord

REACHED, MISSED = TargetLinks(0.8, 0.5, 0.82, 0.6), TargetLinks(0.9, None, 0.85, 0.1)
LABELLED = LabelledLinks("file.csv", 100, 5, 400, 50, 0.4, (REACHED, MISSED))


def test_a_target_precision_has_its_threshold_and_one_that_was_not_reached_is_refused():
    assert target_links(LABELLED, 0.8) == (REACHED, 0.5)
    with pytest.raises(ValueError, match=r"no threshold gives links with precision 0\.9 on the labelled pairs"):
        target_links(LABELLED, 0.9)
    with pytest.raises(ValueError, match=r"thresholds for a precision of 0\.8, 0\.9, and none for 0\.7"):
        target_links(LABELLED, 0.7)


MEASURED = replace(
    CHOSEN,
    slope=4.0,
    intercept=-2.0,
    f1_threshold=0.6,
    links=(TargetLinks(0.9, 0.8, 0.91, 0.5),),
    grouping=tuple(GroupingThreshold(rule, 0.7 + 0.01 * place, 0.9) for place, rule in enumerate(RULES)),
)
SURE = replace(MEASURED, promised=(MeasuredLinks(0.85, 200, 50, 0.99, 0.1, 0.99, 0.1, 0.4),))
DRAWN = replace(LABELLED, texts=100, links=(TargetLinks(0.9, 0.75, 0.93, 0.3),), assured=True)


def evidence(*, dedupe=None, links=None, low=None, unlabelled=False):
    """Evidence of thresholds over all pairs of validation, of labelled pairs of a file, of both or none."""
    expected = {} if low is None else {0.9: IntervalEstimate(0.94, low, 0.97), None: IntervalEstimate(0.8, 0.7, 0.9)}
    promised = tuple(LinkEstimate(aimed, 0.5, precision) for aimed, precision in expected.items())
    calibration = links and CalibrationRecord("pairs.csv", 50, links=replace(links, promised=promised))
    return Thresholds("", ThresholdRecord("news", None, dedupe, calibration), unlabelled)


@pytest.mark.parametrize(
    ("known", "options", "texts", "score", "chosen_for", "precision", "assured"),
    [
        (evidence(dedupe=MEASURED), {"threshold": 0.8}, 100, (math.log(4) + 3) / 5, "user", None, False),
        (evidence(dedupe=MEASURED), {}, 100, MEASURED.rule("average").threshold, "groups", None, False),
        (
            evidence(dedupe=MEASURED),
            {"rule": "components"},
            100,
            MEASURED.rule("components").threshold,
            "groups",
            None,
            False,
        ),
        (evidence(links=DRAWN), {}, 100, 0.4, "links", None, False),
        (evidence(), {}, 100, 0.55, "pairs", None, False),
        (evidence(unlabelled=True), {}, 100, 0.55, "matcher", None, False),
        (evidence(dedupe=SURE), {"precision": 0.9}, 101, 0.85, "links", 0.99, True),
        (evidence(dedupe=SURE), {"precision": 0.9}, 10_001, 0.8, "links", 0.91, False),
        (evidence(dedupe=MEASURED), {"precision": 0.9}, 101, 0.8, "links", 0.91, False),
        (evidence(links=replace(DRAWN, assured=False), low=0.91), {"precision": 0.9}, 100, 0.75, "links", 0.93, True),
        (evidence(links=replace(DRAWN, assured=False), low=0.89), {"precision": 0.9}, 100, 0.75, "links", 0.93, False),
        (evidence(links=DRAWN, low=0.89), {"precision": 0.9}, 100, 0.75, "links", 0.93, True),
        (evidence(links=DRAWN, low=0.89), {"precision": 0.9}, 101, 0.75, "links", 0.93, False),
    ],
)
def test_the_threshold_is_that_of_the_evidence_and_assured_only_by_it(
    known, options, texts, score, chosen_for, precision, assured
):
    pairs = PairsByVectors((None, None), Decision(0.55, 5.0, -3.0), 0.0)
    link = known.link(pairs, DedupeOptions(**options), texts)
    assert link.score == pytest.approx(score)
    assert link.probability == pytest.approx(1 / (1 + math.exp(3 - 5 * score)))
    assert (link.chosen_for, link.precision, link.assured) == (chosen_for, precision, assured)


def test_a_precision_by_labels_is_carried_over_to_the_size_of_the_file():
    pairs = PairsByVectors((None, None), Decision(0.55, 5.0, -3.0), 0.0)
    known = evidence(links=DRAWN, low=0.89)
    for options, labelled in (({}, 0.8), ({"precision": 0.9}, 0.94)):
        odds = labelled / (1 - labelled) * 99 / 999
        assert known.link(pairs, DedupeOptions(**options), 1000).expected.value == pytest.approx(odds / (1 + odds))
