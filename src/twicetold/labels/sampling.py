"""Pairs of a file of texts for a person to label: a stratified random sample of its candidate pairs.

The candidates are each text's nearest neighbours by the model. They are divided into bands by how far their score is
from the stored threshold, in log-odds of the stored calibration. Each band gets a number of draws in proportion to

    N^(1/3) p (1 - p)

with N candidates in the band and p their mean calibrated probability. So most pairs come from near the threshold, where
the label is least certain, and a large band far from it is not forgotten: a power allocation in the manner of Bankier
1988 ("Power allocations: determining sample sizes for subnational areas", The American Statistician 42). Within a band
each candidate is as likely to be drawn as any other, so its probability of being drawn is known, and `estimates` can
undo the allocation. A wrong calibration makes the estimates less precise, but not wrong.

Where the generic matcher scores the pairs, its probabilities p divide them into strata that adapt to the file: each has
an equal share of what there is to learn, √(p (1 − p)), and so about as many draws (Dalenius and Hodges 1959, "Minimum
variance stratification"). Unlikely pairs count by their probability, as there are very many of them.

Shape letters: n texts, C candidate pairs, H bands, T thresholds, m drawn pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.nearest import NOBODY, Index
from twicetold.trained.loaded import LoadedModel

Ints = NDArray[np.int64]

NEIGHBOURS = 5
EDGES = (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0)
"""Log-odds relative to the threshold at which one band ends and the next begins."""
STEPS = (-4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Log-odds relative to the threshold of the thresholds for which precision and recall are estimated."""
LEAST = 2  # draws of each band before the allocation begins, so that its variance can be seen
LEAST_PROBABILITY = 0.05  # and at most 1 minus this: the calibration of other texts is not trusted further
POWER = 1 / 3
STRATA = 16  # of probabilities
CAPPED = 0.9  # probability of a matcher beyond which it is not trusted
EXACT = 50_000  # dense vectors are searched exactly up to so many


@dataclass(frozen=True)
class Draw:
    """A stratified sample of candidates.

    Args:
        rows: (m,) drawn candidates, in the order in which to label them: after any number of them, each band has
            about its share.
        band: (m,) band of each, from 0, the lowest scores.
        sizes: (H,) number of candidates in each band.
        thresholds: (T,) scores, ascending.
        above: (H, T) number of candidates of each band that score at least as high as each threshold.
    """

    rows: Ints
    band: Ints
    sizes: Ints
    thresholds: Floats
    above: Ints


def candidate_pairs(
    model: LoadedModel, texts: Sequence[str], *, neighbours: int = NEIGHBOURS
) -> tuple[Ints, Ints, Floats]:
    """Return each text's nearest neighbours, every pair once: (C,) texts, others with larger numbers, and scores.

    The search is exact up to 50,000 texts and for sparse vectors, and otherwise by an approximate index.

    Args:
        model: of a family with a vector per text.
        texts: n different texts.
        neighbours: of each text.

    Raises:
        TypeError: if the family scores pairs only.
        ValueError: if there is one text alone.
    """
    if not model.trained.read(["a text"]).searchable:
        raise TypeError(
            f"expected a model with a vector per text, to find each text's neighbours; {model.folder} scores pairs "
            "only. Use another model to draw the pairs: calibrate takes pairs that were drawn with any model"
        )
    if len(texts) < 2:
        raise ValueError(f"expected at least two different texts to make pairs of, got {len(texts)}")
    everyone = np.arange(len(texts))
    read = model.trained.read(texts).keeping(everyone)
    queries, documents = read.search_matrices(everyone)
    approximate = len(texts) > EXACT and not sparse.issparse(documents)
    found = Index(documents, approximate=approximate).search(queries, k=neighbours + 1)
    near = found.keeping(found.index != everyone[:, None], k=min(neighbours, found.index.shape[1])).index
    row, column = np.nonzero(near != NOBODY)
    other = near[row, column]
    left, right = np.divmod(np.unique(np.minimum(row, other) * len(texts) + np.maximum(row, other)), len(texts))
    score = read.score(left, right) if len(left) else np.empty(0)
    return left, right, score.astype(np.float64)


def draw(score: Floats, decision: Decision, *, pairs: int, seed: int = 0) -> Draw:
    """Draw `pairs` candidates by their (C,) scores, or all if there are fewer.

    With the same seed, a larger draw begins with the pairs of a smaller one.

    Raises:
        ValueError: if `pairs` is not positive, or a higher score of the model is not more alike.
    """
    if decision.slope <= 0:
        raise ValueError(
            f"on validation, a higher score of this model is not more alike (slope {decision.slope:.4g}): train it "
            "longer, or use another one"
        )
    band = np.searchsorted(_at(decision, EDGES), score, side="right")
    sizes = np.bincount(band, minlength=len(EDGES) + 1)
    mean = np.bincount(band, decision.probability(score), minlength=len(sizes)) / np.maximum(sizes, 1)
    mean = mean.clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    interest = sizes**POWER * mean * (1 - mean)
    return _drawn(score, band, interest, thresholds=_at(decision, STEPS), pairs=pairs, seed=seed)


def draw_by_probability(log_odds: Floats, *, pairs: int, seed: int = 0) -> Draw:
    """Draw `pairs` candidates by their probabilities, or all if there are fewer; with a seed as `draw`.

    Args:
        log_odds: (C,) of a matcher.
        pairs: m.
        seed: of the draw.

    Raises:
        ValueError: if `pairs` is not positive.
    """
    likely = sigmoid(log_odds)
    capped = np.minimum(likely, CAPPED)
    gain = np.minimum(np.sqrt(capped * (1 - capped)), 2 * likely)
    order = np.argsort(log_odds, kind="stable")
    reached = np.cumsum(gain[order])
    band = np.empty(len(order), np.int64)
    band[order] = np.minimum(STRATA * reached / reached[-1], STRATA - 1).astype(np.int64)
    interest = np.asarray(np.bincount(band, gain, minlength=STRATA), np.float64)
    return _drawn(log_odds, band, interest, thresholds=np.array(STEPS), pairs=pairs, seed=seed)


def _drawn(score: Floats, band: Ints, interest: Floats, *, thresholds: Floats, pairs: int, seed: int) -> Draw:
    """Draw from each band in proportion to its interest."""
    if pairs < 1:
        raise ValueError(f"expected a positive number of pairs to draw, got {pairs}")
    sizes = np.bincount(band, minlength=len(interest))
    order = dealt(sizes, interest, total=pairs)
    shuffled = np.random.default_rng(seed).permutation(len(score))
    shuffled = shuffled[np.argsort(band[shuffled], kind="stable")]
    rows = np.empty(len(order), np.int64)
    for number, start in enumerate(np.cumsum(sizes) - sizes):
        here = np.flatnonzero(order == number)
        rows[here] = shuffled[start : start + len(here)]
    ascending = np.sort(score)
    ends = np.cumsum(sizes)
    # A band is a piece of the ascending scores: of its candidates, those from the threshold's place on are above.
    below = np.searchsorted(ascending, thresholds, side="left")
    above = (ends[:, None] - np.maximum((ends - sizes)[:, None], below)).clip(0)
    return Draw(rows, order, sizes, thresholds, above)


def dealt(sizes: Ints, interest: Floats, *, total: int) -> Ints:
    """Deal the draws to bands: each goes to the band furthest below its share (Webster's divisor method).

    So the first draws of a larger total are those of a smaller one.

    Args:
        sizes: (H,) candidates of each band, none of which is drawn twice.
        interest: (H,) shares, up to a constant.
        total: number of draws, or all candidates if there are fewer.

    Returns:
        (m,) numbers of bands.
    """
    taken = np.zeros_like(sizes)
    order = np.empty(min(total, int(sizes.sum())), np.int64)
    for place in range(len(order)):
        claim = interest / (taken + 0.5)
        claim = np.where(taken < LEAST, (LEAST - taken) * (1 + interest.sum() * 2), claim)
        order[place] = np.argmax(np.where(taken < sizes, claim, -1.0))
        taken[order[place]] += 1
    return order


def _at(decision: Decision, distances: Sequence[float]) -> Floats:
    """Return scores at these log-odds relative to the threshold."""
    return decision.threshold + np.array(distances) / decision.slope
