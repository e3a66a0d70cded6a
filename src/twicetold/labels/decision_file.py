"""A decision file: thresholds of a score and what they promise, as JSON that is of use without this package.

The score may be of any origin, such as the cosine of vectors that were made elsewhere, of pairs that `label` drew.

Shape letters: P labelled pairs.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import decide_weighted
from twicetold.evaluation.inputs import finite
from twicetold.labels.calibration import CalibrationPairs, require_enough
from twicetold.labels.link_estimates import link_estimates
from twicetold.labels.matched_links import Curve

POINTS = 41  # of the curve, between the lowest and the highest labelled score


def decision_file(
    pairs: CalibrationPairs, score: NDArray[np.floating] | None = None, *, seed: int = 0
) -> Mapping[str, Any]:
    """Thresholds, the curve of probability, and what they rest on, ready for JSON.

    Args:
        pairs: labelled, with the weights of their draw; at least 20, and at least 5 of each label.
        score: (P,) of each pair; a higher one is more alike. None: the scores that the pairs were drawn by.
        seed: of the resamples.

    Returns:
        `thresholds`, a list with `precision` (null: where F1 is highest), `score` from which pairs are links, and
        `expected` precision with `low` and `high`, or null; `curve`, a list with `score`, `probability`, `low` and
        `high`; and `rests_on`, with the numbers of labels and of candidates that these stand for, and the file.

    Raises:
        ValueError: if the pairs have no scores of their own, there are too few, not one finite score for each, or a
            higher score is not more alike.
    """
    score = finite(_drawn_by(pairs) if score is None else score, "scores")
    require_enough(pairs)
    if score.shape != pairs.label.shape:
        raise ValueError(f"expected a score for each of {len(pairs.label)} pairs, got the shape {score.shape}")
    decision = decide_weighted(score, pairs.label, pairs.weight, aim="f1")
    if decision.slope <= 0:
        raise ValueError(
            f"by the labels, a higher score is not more alike (slope {decision.slope:.4g}): give similarities, not "
            "distances, or see whether 1 is the label of pairs that say the same"
        )
    estimates = link_estimates(decision, score, pairs.label, pairs.weight, pairs.stratum, seed=seed)
    at = np.linspace(score.min(), score.max(), POINTS)
    labelled, points = (decision.slope * each + decision.intercept for each in (score, at))
    drawn = Curve.of(labelled, pairs.label, pairs.weight, seed=seed).probability(points)
    low, high = np.quantile(drawn, (0.025, 0.975), axis=1)
    mean = np.maximum.accumulate(drawn.mean(axis=1))
    columns = (column.tolist() for column in (at, mean, np.minimum(low, mean), np.maximum(high, mean)))
    names = ("score", "probability", "low", "high")
    file = "" if pairs.draw is None else pairs.draw.file
    return {
        "thresholds": [
            {
                "precision": each.aimed,
                "score": each.threshold,
                "expected": None if each.precision is None else asdict(each.precision),
            }
            for each in estimates
        ],
        "curve": [dict(zip(names, point, strict=True)) for point in zip(*columns, strict=True)],
        "rests_on": {"labels": len(score), "candidates": round(float(pairs.weight.sum())), "file": file},
    }


def _drawn_by(pairs: CalibrationPairs) -> list[float]:
    if pairs.draw is None or pairs.draw.matched:
        raise ValueError(
            "expected pairs that were drawn by a similarity, with their draw beside them: log odds by the matcher are "
            "of no use without this package. Draw with --compare VECTORS or with a model"
        )
    return [pairs.draw.pairs[number].score for number in pairs.numbers.tolist()]
