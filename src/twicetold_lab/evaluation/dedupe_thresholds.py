"""Thresholds for the links and groups of a dedupe, chosen on validation over all of its pairs (`choose`).

Duplicates are one pair in hundreds or in millions, so AUROC says little here, and a threshold from labelled pairs, of
which a third are duplicates, does not hold. Chosen are

- for each target precision, the lowest threshold at which the links have it, with the recall that is left;
- for each rule of grouping, the threshold with the highest adjusted Rand index;
- Platt's calibration of the score;
- what its links guarantee of other files (`guarantee`).

`dedupe_report` says what is kept of it on test.

Shape letters: M documents, G groups, L links, K thresholds, R resamples.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from twicetold.evaluation.all_pairs import BINS, PairHistogram, pair_histograms
from twicetold.evaluation.decision import decide_counts
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.guarantee import Guarantee, MeasuredLinks, inside, log_odds
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import bootstrap_values, jackknife_variance
from twicetold.evaluation.link_metrics import FEWEST_LINKS, links_above, text_precision, with_known
from twicetold.evaluation.ranking import Floats, at_least, place_reaching
from twicetold.evaluation.thresholds import TARGETS, DedupeThresholds, GroupingThreshold, TargetLinks
from twicetold.neighbours.grouping import Ints, Links, merge
from twicetold.neighbours.rules import RULES, Rule

LINKS_PER_DUPLICATE = 10  # thresholds with more links than this are no candidates for grouping
CANDIDATES = 200  # thresholds of grouping that are compared, for each rule
SHARE_OF_FILES = 0.9
"""Share of files for which the guarantee holds."""
DECILE = NormalDist().inv_cdf(SHARE_OF_FILES)
STEPS = 30  # thresholds
RESAMPLES = 300


def choose(
    val: DocumentVectors, group: str, *, complete: bool = True, aimed: Sequence[float] = TARGETS, bins: int = BINS
) -> DedupeThresholds:
    """Choose thresholds and calibration on validation.

    Args:
        val: documents of validation.
        group: documents of one group are duplicates; those of unknown group are left out.
        complete: whether every duplicate is labelled.
        aimed: precisions of links.
        bins: steps of the score range.

    Raises:
        ValueError: if no pair, or every pair, shares a group.
    """
    known = with_known(val, group)
    histogram = pair_histograms(known, bins=bins)[group]
    counts = histogram.counts()
    decision = decide_counts(counts, aim="f1")
    linked = at_least(counts.positive + counts.negative)
    few = np.flatnonzero(linked <= LINKS_PER_DUPLICATE * counts.positives)
    floor = _lower_edge(histogram, float(counts.score[few[0] if len(few) else -1]))
    links = links_above(known, floor)
    grouping = tuple(_best_cut(known, group, links, rule, floor) for rule in RULES)
    of_links = tuple(_target_links(histogram, precision) for precision in aimed)
    reached = [each.threshold for each in of_links if each.threshold is not None]
    asked_for = links.at_least(min([decision.threshold, *reached]))
    return DedupeThresholds(
        group=group,
        texts=len(known),
        duplicates=counts.positives,
        complete=complete,
        auroc=counts.auroc(),
        average_precision=counts.average_precision(),
        slope=decision.slope,
        intercept=decision.intercept,
        f1_threshold=decision.threshold,
        links=of_links,
        grouping=grouping,
        promised=guarantee(known.groups[group], asked_for).at,
    )


def _target_links(histogram: PairHistogram, aimed: float) -> TargetLinks:
    counts = histogram.counts()
    precision = counts.precision_from_top()
    recall = at_least(counts.positive) / counts.positives
    pairs = at_least(counts.positive + counts.negative)
    at, reached = place_reaching(precision, pairs, aimed, fewest=FEWEST_LINKS)
    threshold = _lower_edge(histogram, float(counts.score[at])) if reached else None
    return TargetLinks(aimed, threshold, float(precision[at]), float(recall[at]))


def _lower_edge(histogram: PairHistogram, score: float) -> float:
    """Return the lowest similarity that is counted at this score of the scale."""
    return score - histogram.scale.width / 2


def _best_cut(vectors: DocumentVectors, group: str, links: Links, rule: Rule, floor: float) -> GroupingThreshold:
    merges = merge(links, rule=rule, threshold=floor, vectors=(vectors.left, vectors.right))
    heights = np.unique(merges.similarity)
    candidates = heights[np.unique(np.linspace(0, len(heights) - 1, CANDIDATES).round().astype(int))]
    found = [group_scores(merges.cut(threshold), vectors.groups[group]).ari for threshold in candidates]
    best = int(np.argmax(found))
    return GroupingThreshold(rule, float(candidates[best]), found[best])


def guarantee(codes: Ints, links: Links) -> Guarantee:
    """Compute the guarantee from the links of validation.

    The spread s of a precision is taken from the lower decile of the resamples, as they are skewed, and is at least
    that of a share of as many independent trials as there are groups with links. By text it is that of the jackknife
    over groups. Thresholds are candidates from `FEWEST_LINKS` links on.

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
        lower = (log_odds(share, units) - log_odds(float(decile[place]), units)) / DECILE
        by_text, without = text_precision(codes, curve.ranked.take(np.arange(number)))
        likely = inside(by_text, units)
        error = math.sqrt(jackknife_variance(without)) / (likely * (1 - likely))
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
    likely = inside(share, trials)
    return 1 / math.sqrt(trials * likely * (1 - likely))
