"""A decision file: thresholds of a score and what they promise, as JSON that is of use without this package.

The score may be of any origin, such as the cosine of vectors that were made elsewhere, of pairs that `label` drew. Its
thresholds are those of `matched_links`. Pairs that were drawn by the score itself need no weights for the curve: how
many were drawn of a score says nothing of how many of these say the same. `twicetold.fit(texts, vectors=, decision=)`
reads the file.

Shape letters: P labelled pairs, C candidates.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import decide_weighted
from twicetold.evaluation.inputs import finite
from twicetold.labels.calibration import CalibrationPairs, drawn_candidates, require_enough
from twicetold.labels.labelling import SCORE, features_file
from twicetold.labels.matched_links import Curve, MatchedCandidates, curve_links
from twicetold.labels.sampling import NEIGHBOURS, Ints
from twicetold.trained.fitted import MEANING


def decision_file(pairs: CalibrationPairs, score: NDArray[np.floating] | None = None) -> Mapping[str, Any]:
    """Thresholds, the calibration of probability, and what they rest on, ready for JSON.

    Args:
        pairs: labelled, with the weights of their draw; at least 20, and at least 5 of each label.
        score: (P,) of each pair; a higher one is more alike. None: the cosines that the pairs were drawn by.

    Returns:
        `thresholds`, a list with `precision` (null: where F1 is highest), `score` from which pairs are links, and
        `expected` precision with `low` and `high`; `rests_on`, with the numbers of labels and of candidates that these
        stand for, and the file; and `calibration`, which `twicetold.fit` reads, with the slope and intercept of the
        log odds.

    Raises:
        ValueError: if the pairs have no scores of their own, there are too few, not one finite score for each, or a
            higher score is not more alike.
    """
    require_enough(pairs)
    if score is None:
        candidates, rows = _drawn_by_vectors(pairs)
        every, represented = np.asarray(candidates.columns[SCORE], np.float64), candidates.weight
        score, weight = every[rows], np.ones(len(rows))
    else:
        score = finite(score, "scores")
        every, represented, weight = score, pairs.weight, pairs.weight
    if score.shape != pairs.label.shape:
        raise ValueError(f"expected a score for each of {len(pairs.label)} pairs, got the shape {score.shape}")
    scale = decide_weighted(score, pairs.label, weight, aim="f1")
    if scale.slope <= 0:
        raise ValueError(
            f"by the labels, a higher score is not more alike (slope {scale.slope:.4g}): give similarities, not "
            "distances, or see whether 1 is the label of pairs that say the same"
        )
    curve, draw = Curve.of(score, pairs.label, weight, scale=scale), pairs.draw
    file, texts = ("", 0) if draw is None else (draw.file, draw.texts)
    known = (every, represented), (score, pairs.label)
    links, promised = curve_links(curve, *known, drawn=(file, texts, NEIGHBOURS))
    return {
        "thresholds": [
            {"precision": each.aimed, "score": each.threshold, "expected": asdict(each.precision)} for each in promised
        ],
        "rests_on": {"labels": len(score), "candidates": links.pairs, "file": file or None},
        "calibration": {
            "pairs": {"file": "labelled pairs" if draw is None else draw.out.name, "count": len(score)},
            "about": MEANING if draw is None else draw.about,
            "decision": asdict(curve.decision(links.f1_threshold)),
            "links": None if draw is None else asdict(links),
            "promised": [asdict(each) for each in promised],
        },
    }


def _drawn_by_vectors(pairs: CalibrationPairs) -> tuple[MatchedCandidates, Ints]:
    if pairs.draw is None or pairs.draw.matched or not features_file(pairs.draw.out).is_file():
        raise ValueError(
            "expected pairs that label drew by vectors of your own (label --compare VECTORS), with their draw beside "
            "them: others say something of a model (twicetold calibrate MODEL PAIRS) or need scores of their own"
        )
    return drawn_candidates(pairs)
