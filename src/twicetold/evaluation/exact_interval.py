"""The exact interval of a share (Clopper and Pearson 1934).

"The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26.
"""

from scipy.special import betaincinv

from twicetold.evaluation.intervals import Interval

TAIL = 0.025  # of a 95 % interval
NONE = 1e-9  # so many cases are none: numbers of them need not be whole


def exact_interval(true: float, false: float) -> Interval:
    """95 % interval of the share of cases that are true.

    Args:
        true: number of them; an effective number need not be whole.
        false: of the others.
    """
    low = float(betaincinv(true, false + 1, TAIL)) if true > NONE else 0.0
    high = float(betaincinv(true + 1, false, 1 - TAIL)) if false > NONE else 1.0
    return low, high
