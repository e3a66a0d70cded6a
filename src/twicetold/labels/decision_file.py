"""A decision file: thresholds of a cosine and what they promise, as JSON that is of use without this package.

The cosine is that of vectors that were made elsewhere, by which `label` drew the pairs. Its thresholds are chosen as
those of a matcher that labels have moved (`matched_links`): Platt's calibration puts the cosine on the scale of log
odds, a curve corrects it, and a threshold for a precision has it in nine of ten draws of the curve, over all candidates
of the file. The pairs need no weights for that, as they were drawn by the cosine itself: how many were drawn of a score
says nothing of how many of these say the same. `twicetold.fit(texts, vectors=, decision=)` reads the file.

Shape letters: P labelled pairs, C candidates.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision, decide_weighted
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.thresholds import LabelledLinks
from twicetold.labels.calibration import CalibrationPairs, drawn_candidates, require_enough
from twicetold.labels.labelling import SCORE, Labelling, features_file
from twicetold.labels.matched_links import Curve, CurvePoint, MatchedCandidates, curve_links
from twicetold.labels.sampling import NEIGHBOURS, Ints

POINTS = 41  # of the curve, between the lowest and the highest labelled score


def decision_file(pairs: CalibrationPairs) -> Mapping[str, Any]:
    """Thresholds, the curve of probability, and what they rest on, ready for JSON.

    Args:
        pairs: labelled, with the draw beside them; at least 20, and at least 5 of each label.

    Returns:
        `thresholds`, a list with `precision` (null: where F1 is highest), `score` from which pairs are links, and
        `expected` precision with `low` and `high`; `curve`, a list with `score`, `probability`, `low` and `high`;
        `rests_on`, with the numbers of labels and of candidates that these stand for, and the file; and `calibration`,
        which `twicetold.fit` reads.

    Raises:
        ValueError: if the pairs were not drawn by vectors, there are too few, or a higher cosine is not more alike.
    """
    require_enough(pairs)
    draw = pairs.draw
    if draw is None or draw.matched or not features_file(draw.out).is_file():
        raise ValueError(
            "expected pairs that label drew by vectors of your own (label --compare VECTORS), with their draw beside "
            "them: others say something of a model (twicetold calibrate MODEL PAIRS)"
        )
    candidates, rows = drawn_candidates(pairs)
    calibration, curve = _calibrated(draw, pairs.label, candidates, rows)
    total = round(float(candidates.weight.sum()))
    return {
        "thresholds": [
            {"precision": each["aimed"], "score": each["threshold"], "expected": each["precision"]}
            for each in calibration["promised"]
        ],
        "curve": curve,
        "rests_on": {"labels": len(rows), "candidates": total, "file": draw.file},
        "calibration": calibration,
    }


def _calibrated(
    draw: Labelling, label: NDArray[np.bool_], candidates: MatchedCandidates, rows: Ints
) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """The part that `threshold_record` reads, and the points of the curve.

    Args:
        draw: that the labelled pairs belong to.
        label: (P,) of each.
        candidates: C of them, with cosines.
        rows: (P,) positions of the labelled pairs among them.
    """
    every, weight = np.asarray(candidates.columns[SCORE], np.float64), np.ones(len(rows))
    score = every[rows]
    scale = decide_weighted(score, label, weight, aim="f1")
    if scale.slope <= 0:
        raise ValueError(
            f"by the labels, a higher score is not more alike (slope {scale.slope:.4g}): give similarities, not "
            "distances, or see whether 1 is the label of pairs that say the same"
        )

    def odds(scores: Floats) -> Floats:
        return np.asarray(scale.slope * scores + scale.intercept)

    def back(log_odds: float) -> float:
        return (log_odds - scale.intercept) / scale.slope

    curve = Curve.of(odds(score), label, weight)
    links, promised, best = curve_links(curve, odds(every), candidates.weight, odds(score), label)
    links = tuple(each if each.threshold is None else replace(each, threshold=back(each.threshold)) for each in links)
    slope, intercept = curve.line
    decision = Decision(back(best), slope * scale.slope, intercept + slope * scale.intercept)
    count, total = len(score), round(float(candidates.weight.sum()))
    known = LabelledLinks(draw.file, draw.texts, NEIGHBOURS, total, count, back(best), links, assured=True)
    at = np.linspace(score.min(), score.max(), POINTS)
    calibration = {
        "pairs": {"file": draw.out.name, "count": count},
        "about": draw.about,
        "decision": asdict(decision),
        "links": asdict(known),
        "promised": [asdict(replace(each, threshold=back(each.threshold))) for each in promised],
    }
    return calibration, [asdict(point) for point in _rising(curve.points(odds(at), at))]


def _rising(points: Iterable[CurvePoint]) -> Iterator[CurvePoint]:
    """Points whose probabilities do not fall, each within its interval."""
    highest = 0.0
    for point in points:
        highest = max(highest, point.probability)
        yield replace(point, probability=highest, low=min(point.low, highest), high=max(point.high, highest))
