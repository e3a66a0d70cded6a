"""One half of the probability in a file: between the two heaps of its log odds, and lower where groups are large.

Coefficients say well which of a file's pairs are more alike, and less well from where on they are duplicates. Where the
log odds of its candidates are a mixture of two normal parts that hardly overlap, these part where the densities are
equal, and one half of the probability is moved half of the way there; elsewhere it stays.

The coefficients come from files in which most groups are of two or three, so a text that stands behind ten nearer ones
counts as another. In a group of twenty it need not be. Where many texts have several probable others, one half is moved
down.

Shape letters: N texts, P pairs.
"""

import numpy as np
from scipy.special import expit

from twicetold.neighbours.grouping import Floats, Ints

OVERLAP = 0.2  # pairs that may be of either part, as a share of the smaller part: from it on there is one heap
SHARE = 0.5  # of the way from 0 to the valley
FEWEST = 100  # pairs of which heaps can be seen
LEAST_PART = 3  # pairs
LEAST_VARIANCE = 0.05  # of a part
ROUNDS, CHANGE = 300, 1e-9  # of the expectation and maximisation at most, and of the share of a part in the last one
BINS = 1 << 14  # equal ranges of log odds, in which pairs count as one value
GRID = 400  # places between the means at which densities are compared
SEVERAL = 3  # probable others of a text in a large group
SOME, MANY = 1 / 4, 1 / 3  # share of texts with so many, from which one half is moved, and is moved all the way
LOWER = 1.7  # log odds by which it is moved at most


def valley_shift(log_odds: Floats) -> float:
    """Return the log odds that are to have the probability one half; 0 where a file shows no valley.

    Args:
        log_odds: (P,) of the candidates.

    Examples:
        >>> import numpy as np
        >>> from twicetold.matching.valley import valley_shift
        >>> rng = np.random.default_rng(0)
        >>> two = np.concatenate([rng.normal(-4, 1, 900), rng.normal(6, 1, 100)])
        >>> 0.2 < valley_shift(two) < 0.8
        True
        >>> valley_shift(rng.normal(-4, 3, 1000))
        0.0
    """
    ordered = np.sort(log_odds)  # sums do not depend on the order of pairs
    pairs = len(ordered)
    if pairs < FEWEST or not ordered.var():
        return 0.0
    low, high, half = float(np.percentile(ordered, 30)), max(float(np.percentile(ordered, 99)), 0.0), ordered.var() / 2
    parts: tuple[float, ...] = (low, float(half), high, float(half))
    share = 0.1
    place = ((ordered - ordered[0]) * ((BINS - 1) / (ordered[-1] - ordered[0]))).astype(np.int64)
    number = np.bincount(place)
    x, weight = np.bincount(place, ordered)[number > 0] / number[number > 0], number[number > 0].astype(np.float64)
    for _ in range(ROUNDS):
        upper = weight * expit(_log_ratio(x, parts, share))
        count, before = upper.sum(), share
        if not LEAST_PART < count < pairs - LEAST_PART:
            return 0.0
        share = count / pairs
        masses = np.stack([weight - upper, upper])
        mean = masses @ x / masses.sum(axis=1)
        variance = (masses * (x - mean[:, None]) ** 2).sum(axis=1) / masses.sum(axis=1)
        parts = tuple(np.stack([mean, np.maximum(variance, LEAST_VARIANCE)], axis=1).ravel().tolist())
        if abs(share - before) < CHANGE:
            break
    upper = expit(_log_ratio(x, parts, share))
    overlap = weight @ np.minimum(upper, 1 - upper) / pairs
    if overlap >= OVERLAP * min(share, 1 - share) or parts[0] >= parts[2]:
        return 0.0
    between = np.linspace(parts[0], parts[2], GRID)
    above = np.flatnonzero(_log_ratio(between, parts, share) > 0)
    return SHARE * float(between[above[0]]) if len(above) else 0.0


def _log_ratio(x: Floats, parts: tuple[float, ...], share: float) -> Floats:
    """Return the log of the density of the upper part by that of the lower one, (P,)."""
    low, low_variance, high, high_variance = parts
    exponents = (x - low) ** 2 / low_variance - (x - high) ** 2 / high_variance
    return np.asarray(np.log(share / (1 - share) * np.sqrt(low_variance / high_variance)) + exponents / 2, np.float64)


def large_groups_shift(count: int, left: Ints, right: Ints, log_odds: Floats) -> float:
    """Return the log odds, 0 or less, that are to have the probability one half where groups are large.

    Args:
        count: N.
        left: (P,) one text of each candidate.
        right: (P,) the other.
        log_odds: (P,) of the candidates.
    """
    if len(log_odds) < FEWEST:
        return 0.0
    probable = log_odds >= 0
    others = np.bincount(np.append(left[probable], right[probable]), minlength=count)
    share = (np.mean(others >= SEVERAL) - SOME) / (MANY - SOME)
    return -LOWER * float(np.clip(share, 0, 1))
