"""The precision of links in another file: carried over to its size, and a limit that nine of ten files keep.

On validation a threshold has precision p, over M texts of some groups. Another file of N texts has other groups. With
as many duplicates for each text, its false links grow with its size (`carried_over`): its odds of a right link
are expected to be (N − 1) / (M − 1) times lower. They spread as those of validation do when its groups are drawn anew
(Efron 1979), by s on the scale of log-odds; and validation itself is one such draw, so the limit is

    logit(p) − log((N − 1) / (M − 1)) − z · s · sqrt(1 + M / N)

with z of 0.95, with which nine of ten files keep it (docs/guides/dedupe.md). `s` is taken from the lower decile of the
resamples, as they are skewed, and is at least that of a share of as many independent trials as there are groups with
links (U of them); a share of 0 or 1 counts as half a trial less. Thresholds are candidates from `FEWEST_LINKS` links
on.

By text, each text that is linked counts once, with the share of its links that is right; by pair, a group of ten counts
45 times as much as one of two. Its spread is that of the jackknife over groups. The aim and its limit are by pair.

Shape letters: M texts, G groups, L links, K thresholds, R resamples.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from twicetold.evaluation.intervals import bootstrap_values, jackknife_variance
from twicetold.evaluation.link_metrics import FEWEST_LINKS, text_precision
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.grouping import Ints, Links

SHARE_OF_FILES = 0.9
"""Share of files for which the guarantee holds."""
DECILE = NormalDist().inv_cdf(SHARE_OF_FILES)
Z = NormalDist().inv_cdf(0.95)  # not of 0.9: the threshold is looked for, and few resamples have the rare large errors
STEPS = 30  # thresholds
RESAMPLES = 300


@dataclass(frozen=True)
class MeasuredLinks:
    """Links from one threshold on, on validation.

    Args:
        threshold: the least similarity.
        links: their number.
        groups: U, how many groups have one.
        precision: share of them that is right.
        spread: of the log-odds of the precision, between draws of the groups.
        text_precision: mean over linked texts of the share of their links that is right.
        text_spread: of its log-odds.
        recall: share of the duplicates that is linked.
    """

    threshold: float
    links: int
    groups: int
    precision: float
    spread: float
    text_precision: float
    text_spread: float
    recall: float


@dataclass(frozen=True)
class GuaranteedPrecision:
    """Guaranteed precision of a file: nine of ten files have at least the least precisions.

    Args:
        threshold: the least similarity of a link.
        measured: precision of the links on validation.
        expected: precision of the links.
        least: the precision that nine of ten files have at least.
        text_expected: precision by text.
        text_least: the same of it.
    """

    threshold: float
    measured: float
    expected: float
    least: float
    text_expected: float
    text_least: float


@dataclass(frozen=True)
class Guarantee:
    """Precision of the links of files that are like validation.

    Args:
        texts: M.
        at: thresholds, the highest first.
    """

    texts: int
    at: tuple[MeasuredLinks, ...]

    def of(self, links: MeasuredLinks, texts: int) -> GuaranteedPrecision:
        """Return the guaranteed precision of a file.

        Args:
            links: one of `at`.
            texts: N, at least 2.
        """
        shift = math.log(max(texts - 1, 1) / max(self.texts - 1, 1))
        wider = Z * math.sqrt(1 + self.texts / texts)
        pairs, by_text = (_logit(each, links.groups) - shift for each in (links.precision, links.text_precision))
        return GuaranteedPrecision(
            threshold=links.threshold,
            measured=links.precision,
            expected=_sigmoid(pairs),
            least=_sigmoid(pairs - wider * links.spread),
            text_expected=_sigmoid(by_text),
            text_least=_sigmoid(by_text - wider * links.text_spread),
        )

    def reaching(self, precision: float, texts: int) -> GuaranteedPrecision | None:
        """Find the lowest threshold whose limit is at least a precision, for a file of so many texts; None if none is.

        Limits of few links may lie above those of more by chance, so each threshold up to it must reach it as well.
        """
        found = None
        for each in self.at:
            if (guaranteed := self.of(each, texts)).least >= precision:
                found = guaranteed
            elif found is not None:
                break
        return found

    def at_threshold(self, threshold: float, texts: int) -> GuaranteedPrecision | None:
        """Give the guarantee of a file at the highest known threshold not above this one; None if all are above.

        A higher threshold has no lower precision, except by chance.
        """
        below = next((each for each in self.at if each.threshold <= threshold), None)
        return None if below is None else self.of(below, texts)


def guarantee(codes: Ints, links: Links) -> Guarantee:
    """Compute the guarantee from the links of validation.

    Args:
        codes: (M,) group of each text.
        links: all that reach the lowest threshold that is asked for.
    """
    curve = LinkCurve(codes, links)
    if not len(curve.thresholds):
        return Guarantee(len(codes), ())
    [points] = curve(np.ones((1, curve.groups)))
    drawn = bootstrap_values(curve, curve.groups, resamples=RESAMPLES, seed=0)
    decile = np.nanquantile(drawn, 1 - SHARE_OF_FILES, axis=0)
    at = []
    for place, (threshold, number) in enumerate(zip(curve.thresholds.tolist(), curve.counts.tolist(), strict=True)):
        units, share = int(curve.units[place]), float(points[place])
        lower = (_logit(share, units) - _logit(float(decile[place]), units)) / DECILE
        by_text, without = text_precision(codes, curve.ranked.take(np.arange(number)))
        inside = _inside(by_text, units)
        error = math.sqrt(jackknife_variance(without)) / (inside * (1 - inside))
        at.append(
            MeasuredLinks(
                threshold=threshold,
                links=number,
                groups=units,
                precision=share,
                spread=max(lower, _of_trials(share, units)),
                text_precision=by_text,
                text_spread=max(error, _of_trials(by_text, units)),
                recall=float(curve.recall[place]),
            )
        )
    return Guarantee(len(codes), tuple(at))


@dataclass(frozen=True)
class IntervalEstimate:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def carried_over(precision: float, *, measured_on: int, texts: int) -> float:
    """Return a precision of links, carried over to a corpus of another size.

    Each text is taken to have as many duplicates as where it was measured, and every other text to be linked to it as
    often as there: a corpus of ten times as many texts has ten times as many false links for each text.

    Args:
        precision: as measured.
        measured_on: number of texts among which it was.
        texts: number of texts of the corpus.
    """
    false = (1 - precision) * max(texts - 1, 0) / max(measured_on - 1, 1)
    return precision / (precision + false) if precision else 0.0


class LinkCurve:
    """Precision by pair at each threshold, a statistic of the groups that are drawn.

    Args:
        codes: (M,) group of each text.
        links: of the texts.
    """

    def __init__(self, codes: Ints, links: Links) -> None:
        _, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
        order = np.argsort(-links.similarity, kind="stable")
        ranked = links.similarity[order]
        last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], [True] * bool(len(ranked))))  # of equal ones
        last = last[last + 1 >= FEWEST_LINKS]
        if len(last):
            wanted = np.geomspace(last[0] + 1, last[-1] + 1, STEPS)
            last = last[np.unique(np.searchsorted(last + 1, wanted).clip(max=len(last) - 1))]
        self.ranked = links.take(order)
        """The most similar first."""
        self.groups = len(sizes)
        """G."""
        self.counts = last + 1
        """(K,) links from each threshold on."""
        self.thresholds = ranked[last]
        """(K,) highest first."""
        one, other = place[links.left[order]], place[links.right[order]]
        same = one == other
        pairs = max(float((sizes * (sizes - 1) / 2).sum()), 1.0)
        self.recall = np.cumsum(same)[last] / pairs
        """(K,)."""
        self.units = np.array([len(np.union1d(one[:count], other[:count])) for count in self.counts])
        """(K,) groups with links."""
        bounds = [0, *self.counts.tolist()]
        parts = [slice(start, end) for start, end in pairwise(bounds)]
        self._pairs = [(one[part], other[part], same[part]) for part in parts]

    def __call__(self, drawn: Floats) -> Floats:
        """Return (R, K) precisions from (R, G) how often each group is drawn; NaN without links."""
        right = wrong = np.zeros(len(drawn))
        by_pair = []
        for one, other, same in self._pairs:
            right = right + drawn[:, one[same]].sum(axis=1)
            wrong = wrong + (drawn[:, one[~same]] * drawn[:, other[~same]]).sum(axis=1)
            every = right + wrong
            by_pair.append(np.divide(right, every, out=np.full(len(every), np.nan), where=every > 0))
        return np.stack(by_pair, axis=1)


def _of_trials(share: float, trials: int) -> float:
    """Return the spread of the log-odds of a share of independent trials."""
    inside = _inside(share, trials)
    return 1 / math.sqrt(trials * inside * (1 - inside))


def _inside(share: float, trials: int) -> float:
    least = 0.5 / (trials + 1)
    return min(max(share, least), 1 - least)


def _logit(share: float, trials: int) -> float:
    inside = _inside(share, trials)
    return math.log(inside / (1 - inside))


def _sigmoid(odds: float) -> float:
    return 0.5 * (1 + math.tanh(0.5 * odds))
