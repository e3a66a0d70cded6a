"""Thresholds of links by labels of a file, with the precision that they assure there: by a matcher, or by a score.

The labels move the generic matcher (`matching.matcher`), which then ranks the candidates of the file anew: log odds x.
On the labels themselves it looks better than it is, so each labelled pair is scored by a matcher of the other folds.
By these scores s, the probability of a pair that is not labelled is a curve,

    logit P(same | x) = a + b x + Σ_k u_k h_k(x)

with hats h_k between knots, and the prior that the matcher is nearly right: a ~ N(0, 1), b ~ N(1, ½²), u ~ N(0, ½²).
All candidates' x are known, so only the curve is uncertain: draws from its posterior (Laplace) give draws of the mean
probability from each threshold on. That is the precision of links, and its quantiles are the interval. The threshold
for an aimed precision is the lowest that has it in nine of ten draws, so that the precision is kept and not only
reached on the labels. The mean over candidates uses what is known of all of them; labels correct it (Angelopoulos et
al. 2023, "Prediction-powered inference"; Marchant and Rubinstein 2017, "In search of an entity resolution OASIS").

Pairs were drawn by the generic matcher's probability, and not by x. Their weights correct for that, and make the
estimates less certain: the root of a weight is a compromise, measured by `tools/measure_labels.py`.

A score of a model or of vectors goes by such a curve, too: Platt's calibration by the labels gives it the scale of log
odds, and the labelled pairs may stand for the candidates by their weights.

Shape letters: C candidates, m labelled pairs, T thresholds, R draws, K knots.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from twicetold.dedupe.pairs import LOG_ODDS
from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.evaluation.guarantee import IntervalEstimate
from twicetold.evaluation.ranking import Floats
from twicetold.evaluation.thresholds import TARGETS, LabelledLinks, LinkEstimate, TargetLinks
from twicetold.files import write_file
from twicetold.matching.candidates import NEAREST
from twicetold.matching.generic import generic_matcher
from twicetold.matching.matcher import Matcher
from twicetold.matching.pair_features import Column
from twicetold.matching.regression import fit_logistic
from twicetold.neighbours.grouping import Ints
from twicetold.trained.threshold_record import MatchedLinks

KEPT = 20_000  # of the likeliest candidates, and as many of the others, that a draw keeps the features of
FOLDS = 5
KNOTS = np.array([-4.0, -2.0, 0.0, 2.0, 4.0, 6.0])
MEAN = np.array([0.0, 1.0] + [0.0] * len(KNOTS))  # of the prior of the curve
SPREADS = np.array([1.0, 0.5] + [0.5] * len(KNOTS))
WEIGHTING = 0.5  # power of a pair's weight
DRAWS = 400
SURE = 0.1  # share of the draws that may be below an aimed precision
FEWEST, FEWEST_LABELLED = 20, 5  # links from a threshold on, and labelled pairs among them
STEPS = 120  # thresholds
DIGITS = 9  # of expected F1 and precision; where they are equal, the highest threshold counts
WHOLE, PART = "weight", "drawn"  # names in the file that no feature has


@dataclass(frozen=True)
class MatchedCandidates:
    """Candidates of a file with their features, beside a draw.

    Args:
        columns: (C,) features.
        weight: (C,) candidates that each stands for.
        drawn: positions of the drawn pairs, in their order.
    """

    columns: Mapping[str, Column]
    weight: Floats
    drawn: Ints

    @classmethod
    def of(cls, columns: Mapping[str, Column], log_odds: Floats, drawn: Ints) -> "MatchedCandidates":
        """Return all candidates of a small file; of a large one the likeliest, the drawn ones and some others."""
        order = np.argsort(-log_odds, kind="stable")
        first = np.union1d(order[:KEPT], drawn)
        others = np.setdiff1d(order, first)
        some = np.random.default_rng(0).permutation(others)[:KEPT]
        chosen = np.append(first, some)
        weight = np.append(np.ones(len(first)), np.full(len(some), len(others) / max(len(some), 1)))
        place = np.searchsorted(first, drawn)
        return cls({name: column[chosen] for name, column in columns.items()}, weight, place)

    def save(self, file: Path) -> None:
        """Write them, under a temporary name first."""
        arrays: dict[str, Any] = {name: np.asarray(column, np.float32) for name, column in self.columns.items()}
        arrays |= {WHOLE: self.weight, PART: self.drawn}
        with write_file(file) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # of numbers alone, so nothing is pickled

    @classmethod
    def read(cls, file: Path) -> "MatchedCandidates":
        """Invert `save`.

        Raises:
            ValueError: if the file holds something else.
        """
        try:
            with np.load(file, allow_pickle=False) as arrays:
                columns = {name: arrays[name] for name in arrays.files if name not in (WHOLE, PART)}
                return cls(columns, arrays[WHOLE], arrays[PART])
        except Exception as error:  # a damaged archive raises errors of several libraries
            raise ValueError(f"{file} is damaged ({error}): draw the pairs again, into another file") from error


def matched_links(
    candidates: MatchedCandidates,
    rows: Ints,
    label: NDArray[np.bool_],
    weight: Floats,
    *,
    file: str,
    texts: int,
    matcher: Matcher | None = None,
    seed: int = 0,
) -> MatchedLinks:
    """Move the matcher by labelled pairs, and choose thresholds.

    Args:
        candidates: of the file.
        rows: (m,) positions of the labelled pairs.
        label: (m,) whether they are duplicates.
        weight: (m,) candidates that each was drawn for.
        file: name of the file.
        texts: number of its distinct texts.
        matcher: that drew the pairs; None: the generic one.
        seed: of the draws from the posterior.
    """
    columns = candidates.columns
    if matcher is None:
        matcher = generic_matcher(vectors=True)
        matcher = matcher if set(matcher.names) <= set(columns) else generic_matcher(vectors=False)
        matcher = matcher.beside(columns)  # the score of a trained model, if one drew the pairs
    fold, scores = np.arange(len(rows)) % FOLDS, np.empty(len(rows))
    for number in range(FOLDS):  # each pair by a matcher of the other folds
        here = fold == number
        others = matcher.answered(columns, rows[~here], label[~here])
        scores[here] = others.log_odds({name: column[rows[here]] for name, column in columns.items()})
    stored = Matcher.from_json(matcher.answered(columns, rows, label).to_json())  # with the digits that are kept
    score = stored.log_odds(columns)
    curve = Curve.of(scores, label, weight, scale=LOG_ODDS, seed=seed)
    known = (score, candidates.weight), (score[rows], label)
    return MatchedLinks(stored, *curve_links(curve, *known, drawn=(file, texts, NEAREST)))


@dataclass(frozen=True)
class Curve:
    """Draws of the probability of a pair by its score.

    Args:
        scale: calibration that gives scores the scale of log odds.
        draws: (R, 2 + K) coefficients.
        line: calibration without hats.
    """

    scale: Decision
    draws: Floats
    line: Decision

    @classmethod
    def of(cls, score: Floats, label: NDArray[np.bool_], weight: Floats, *, scale: Decision, seed: int = 0) -> "Curve":
        """Return the posterior by (m,) labelled pairs that are new to what scored them."""
        weight = weight**WEIGHTING
        weight = weight * (weight.sum() / np.square(weight).sum())
        basis, precision = _basis(score, scale), SPREADS**-2
        mode = fit_logistic(basis, label, mean=MEAN, precision=precision, weights=weight)
        likely = sigmoid(basis @ mode)
        hessian = (basis * (weight * likely * (1 - likely))[:, None]).T @ basis + np.diag(precision)
        normal = np.random.default_rng(seed).standard_normal((DRAWS, len(mode)))
        draws = mode + solve_triangular(cholesky(hessian), normal.T).T  # a factor without a choice of signs
        line = fit_logistic(basis[:, :2], label, mean=MEAN[:2], precision=precision[:2], weights=weight).tolist()
        slope, intercept = line[1] * scale.slope, line[0] + line[1] * scale.intercept
        return cls(scale, draws, Decision(scale.threshold, slope, intercept))

    def probability(self, score: Floats) -> Floats:
        """Return (C, R) by each draw."""
        return sigmoid(_basis(score, self.scale) @ self.draws.T)


def _basis(score: Floats, scale: Decision) -> Floats:
    """Return (C, 2 + K) one, the log odds, and hats."""
    score = scale.slope * score + scale.intercept
    within = score.clip(KNOTS[0], KNOTS[-1])
    hats = [np.interp(within, KNOTS, hat) for hat in np.eye(len(KNOTS))]
    return np.column_stack([np.ones(len(score)), score.clip(-12, 12), *hats])


def curve_links(
    curve: Curve,
    candidates: tuple[Floats, Floats],
    pairs: tuple[Floats, NDArray[np.bool_]],
    *,
    drawn: tuple[str, int, int],
) -> tuple[Decision, LabelledLinks]:
    """Choose the threshold with the highest F1 and those for target precisions, with the precision to expect from each.

    Args:
        curve: of probabilities.
        candidates: (C,) scores, and how many candidates each stands for.
        pairs: (m,) scores of the labelled pairs, and whether they are duplicates.
        drawn: name of the file, number of its distinct texts, and how many nearest ones of each could be drawn.
    """
    (score, weight), (labelled, label) = candidates, pairs
    order = np.argsort(-score, kind="stable")
    count = len(order)
    cut = np.unique(np.geomspace(min(FEWEST, count), count, STEPS).round().astype(np.int64))
    reached = np.cumsum(weight[order])[cut - 1]
    duplicates = np.zeros((len(cut), len(curve.draws)))
    for place, (start, end) in enumerate(zip(np.append(0, cut[:-1]), cut, strict=True)):
        part = order[start:end]
        duplicates[place] = weight[part] @ curve.probability(score[part])
    duplicates = np.cumsum(duplicates, axis=0)
    precision = duplicates / reached[:, None]
    recall = (duplicates / duplicates[-1]).mean(axis=1)
    assured, mean = np.quantile(precision, SURE, axis=1).round(DIGITS), precision.mean(axis=1)
    ranked = score[order]
    threshold = (ranked[cut - 1] + ranked[np.minimum(cut, count - 1)]) / 2  # no score is at it, unless many are equal
    enough = (labelled[None] >= threshold[:, None]).sum(axis=1) >= FEWEST_LABELLED
    f1 = (2 * duplicates / (reached[:, None] + duplicates[-1])).mean(axis=1).round(DIGITS)
    best = int(np.argmax(f1))
    low, high = np.quantile(precision, (0.025, 0.975), axis=1)
    high[threshold > labelled[~label].max(initial=-np.inf)] = 1.0  # no label speaks against it

    def expected(aimed: float | None, at: int) -> LinkEstimate:
        interval = IntervalEstimate(*map(float, (mean[at], low[at], high[at])))
        return LinkEstimate(aimed, float(threshold[at]), interval)

    links, promised = [], [expected(None, best)]
    for aimed in TARGETS:
        good = np.flatnonzero((assured >= aimed) & enough)
        if len(good):
            promised.append(expected(aimed, int(good[-1])))
            links.append(TargetLinks(aimed, promised[-1].threshold, float(mean[good[-1]]), float(recall[good[-1]])))
        else:
            at = int(np.argmax(np.where(enough, assured, -1.0)))
            links.append(TargetLinks(aimed, None, float(assured[at]), float(recall[at])))
    counts, highest = (round(float(weight.sum())), len(label)), float(threshold[best])
    found = LabelledLinks(*drawn, *counts, highest, tuple(links), assured=True, promised=tuple(promised))
    return replace(curve.line, threshold=highest), found
