"""95 % intervals of the agreement of groups: pairwise F1, B-cubed and the adjusted Rand index.

True groups (stories) are drawn with replacement (Efron 1979, percentiles), and the predicted groups are cut down to
their texts. A true group that is drawn twice is two groups, whose texts are in no pair with each other: they would
always be predicted to belong together, and would count as errors that nobody made.

Shape letters: M texts, G true groups, P predicted groups with texts of several true ones, C of their entries above 0
in the table of how many texts each shares with each true group, R resamples.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from twicetold.evaluation.intervals import Interval, bootstrap_intervals
from twicetold.evaluation.ranking import Floats

MEASURES = ("pair_f1", "b3", "ari")


def agreement_intervals(
    predicted: ArrayLike, true: ArrayLike, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Interval]:
    """`MEASURES` -> interval; without those that are undefined, as pairwise F1 is where no pair is predicted or true.

    Args:
        predicted: (M,) group codes.
        true: (M,) group codes.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    agreement = Agreement(predicted, true)
    ends = bootstrap_intervals(agreement, len(agreement), resamples=resamples, seed=seed)
    return {name: each for name, each in zip(MEASURES, ends, strict=True) if each is not None}


class Agreement:
    """A statistic of the true groups that are drawn.

    Args:
        predicted: (M,) group codes.
        true: (M,) group codes.
    """

    def __init__(self, predicted: ArrayLike, true: ArrayLike) -> None:
        _, column = np.unique(np.asarray(predicted), return_inverse=True)
        _, row, size = np.unique(np.asarray(true), return_inverse=True, return_counts=True)
        cell, shared = np.unique(row * (column.max() + 1) + column, return_counts=True)
        row, column = np.divmod(cell, column.max() + 1)
        self._size = size.astype(np.float64)
        count = len(size)
        self._found = np.bincount(row, weights=shared * (shared - 1) / 2, minlength=count)  # (G,) predicted pairs
        self._recalled = np.bincount(row, weights=shared**2 / size[row], minlength=count)  # (G,) of B-cubed's recall
        mixed = np.bincount(column)[column] > 1
        self._pure = np.bincount(row[~mixed], weights=shared[~mixed], minlength=count)  # (G,) texts of precision 1
        _, self._mixed = np.unique(column[mixed], return_inverse=True)  # (C,) predicted group of each entry
        self._owner, self._shared = row[mixed], shared[mixed].astype(np.float64)  # (C,) true group, texts
        width = int(self._mixed.max(initial=-1)) + 1
        self._table = sparse.csr_array((self._shared, (self._owner, self._mixed)), shape=(count, width))

    def __len__(self) -> int:
        """G."""
        return len(self._size)

    def __call__(self, drawn: Floats) -> Floats:
        """(R, 3) values of `MEASURES` from (R, G) how often each true group is drawn; NaN where undefined."""
        texts, found = drawn @ self._size, drawn @ self._found
        pairs = drawn @ (self._size * (self._size - 1) / 2)
        mixed = np.asarray((self._table.T @ drawn.T).T)  # (R, P) texts
        false = ((mixed**2).sum(axis=1) - drawn**2 @ self._table.power(2).sum(axis=1)) / 2
        apart = (texts**2 - drawn**2 @ self._size**2) / 2 - false
        missed = pairs - found
        chance = (found + missed) * (missed + apart) + (found + false) * (false + apart)
        precision, recall = self._precise(drawn, mixed) / texts, drawn @ self._recalled / texts
        with np.errstate(invalid="ignore"):
            f1 = 2 * found / (2 * found + false + missed)
            ari = np.where(false + missed == 0, 1.0, 2 * (found * apart - missed * false) / chance)
        return np.stack([f1, 2 * precision * recall / (precision + recall), ari], axis=1)

    def _precise(self, drawn: Floats, mixed: Floats) -> Floats:
        """(R,) sum over texts of the share of their predicted group that is of their own copy of their true group."""
        total = drawn @ self._pure
        for resample, (often, sizes) in enumerate(zip(drawn[:, self._owner], mixed, strict=True)):
            seen = sizes[self._mixed] - (often - 1) * self._shared  # without the other copies; 0 or less if not drawn
            total[resample] += (often * self._shared**2 / np.where(often > 0, seen, 1)).sum()
        return np.asarray(total)
