"""The precision of links in another file: carried over to its size, and a limit that nine of ten files keep.

On validation a threshold has precision p, over M texts of some groups. Another file of N texts has other groups. With
as many duplicates for each text, its false links grow with its size (`carried_over`): its odds of a right link
are expected to be (N − 1) / (M − 1) times lower. They spread as those of validation do when its groups are drawn anew
(Efron 1979), by s on the scale of log-odds; and validation itself is one such draw, so the limit is

    logit(p) − log((N − 1) / (M − 1)) − z · s · sqrt(1 + M / N)

with z of 0.95, with which nine of ten files keep it (docs/guides/dedupe.md). A share of 0 or 1 counts as half a trial
less, of as many trials as there are groups with links. `twicetold_lab.evaluation.dedupe_thresholds` measures p and s.

By text, each text that is linked counts once, with the share of its links that is right; by pair, a group of ten counts
45 times as much as one of two. The aim and its limit are by pair.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

Z = NormalDist().inv_cdf(0.95)  # not of 0.9: the threshold is looked for, and few resamples have the rare large errors


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
        pairs, by_text = (log_odds(each, links.groups) - shift for each in (links.precision, links.text_precision))
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


def inside(share: float, trials: int) -> float:
    """Return a share of trials, one of 0 or 1 as half a trial less."""
    least = 0.5 / (trials + 1)
    return min(max(share, least), 1 - least)


def log_odds(share: float, trials: int) -> float:
    """Return the log-odds of a share of trials."""
    likely = inside(share, trials)
    return math.log(likely / (1 - likely))


def _sigmoid(odds: float) -> float:
    return 0.5 * (1 + math.tanh(0.5 * odds))
