"""A decision file: thresholds of a cosine and what they promise, as JSON that is of use without this package.

The cosine is that of vectors that were made elsewhere, by which `label` drew the pairs. Its thresholds are those of
`matched_links`. The pairs need no weights for the curve, as they were drawn by the cosine itself: how many were drawn
of a score says nothing of how many of these are duplicates. `twicetold.fit(texts, vectors=, decision=)` reads the file.

Shape letters: P labelled pairs, C candidates.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from twicetold.evaluation.decision import decide_weighted
from twicetold.evaluation.thresholds import LabelledLinks
from twicetold.labels.calibration import CalibrationPairs, drawn_candidates, require_enough
from twicetold.labels.labelling import SCORE, features_file
from twicetold.labels.matched_links import Curve, curve_links
from twicetold.labels.sampling import NEIGHBOURS
from twicetold.trained.vectors_identity import VectorProbes


def decision_file(pairs: CalibrationPairs) -> tuple[dict[str, Any], LabelledLinks]:
    """Return thresholds, the calibration of probability and what they rest on, ready for JSON; and the links.

    Args:
        pairs: labelled, with the draw beside them; at least 20, and at least 5 of each label.

    Returns:
        `thresholds`, a list with `precision` (null: where F1 is highest), `score` from which pairs are links, and
        `expected` precision with `low` and `high`; `rests_on`, with the numbers of labels and of candidates that these
        stand for, and the file; `vectors`, by which others are refused; and `calibration`, which `twicetold.fit` reads,
        with the slope and intercept of the log odds.

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
    every, weight = np.asarray(candidates.columns[SCORE], np.float64), np.ones(len(rows))
    score = every[rows]
    scale = decide_weighted(score, pairs.label, weight)
    if scale.slope <= 0:
        raise ValueError(
            f"by the labels, a higher score is not more alike (slope {scale.slope:.4g}): give similarities, not "
            "distances, or check that 1 is the label of duplicates"
        )
    curve = Curve.of(score, pairs.label, weight, scale=scale)
    known = (every, candidates.weight), (score, pairs.label)
    decision, links = curve_links(curve, *known, drawn=(draw.file, draw.texts, NEIGHBOURS))
    texts = pairs.left, pairs.right
    content = {
        "thresholds": [
            {"precision": each.aimed, "score": each.threshold, "expected": asdict(each.precision)}
            for each in links.promised
        ],
        "rests_on": {"labels": len(score), "candidates": links.pairs, "file": draw.file},
        "vectors": None if draw.width is None else asdict(VectorProbes.of(draw.width, *texts, score.tolist())),
        "calibration": {
            "pairs": {"file": draw.out.name, "count": len(score)},
            "about": draw.about,
            "decision": asdict(decision),
            "links": asdict(links),
        },
    }
    return content, links
