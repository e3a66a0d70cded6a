"""Agreement of predicted groups with true ones: pairwise precision and recall, B-cubed and the adjusted Rand index.

- Pairwise: of the pairs of texts, those within a predicted group are predicted, those within a true group are true.
- B-cubed (Bagga and Baldwin 1998): precision is the mean over texts of the share of its predicted group that is of its
  true group; recall the same with the two exchanged. A text without duplicates counts as much as any other.
- ARI (Hubert and Arabie 1985): the share of pairs on which both agree, corrected for chance.

All are computed from the table of how many texts each predicted and each true group share, of which only the entries
above 0 are held.

Shape letters: M texts.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import Floats

Number = TypeVar("Number", int, Floats)


@dataclass(frozen=True)
class GroupScores:
    """How well predicted groups agree with true ones; each is 1 if they are the same."""

    precision: float
    """Of pairs; 0 if no pair is predicted."""
    recall: float
    """Of pairs; 0 if no pair is true."""
    f1: float
    """Of pairs."""
    b3_precision: float
    b3_recall: float
    b3: float
    """Harmonic mean of the two."""
    ari: float


def group_scores(predicted: ArrayLike, true: ArrayLike) -> GroupScores:
    """Compare (M,) predicted group codes with (M,) true ones.

    Raises:
        ValueError: if the lengths differ or there is no text.
    """
    one, other = np.asarray(predicted), np.asarray(true)
    if one.shape != other.shape or one.ndim != 1 or not one.size:
        raise ValueError(f"expected a predicted and a true group of each text, got shapes {one.shape}, {other.shape}")
    _, row, predicted_size = np.unique(one, return_inverse=True, return_counts=True)
    _, column, true_size = np.unique(other, return_inverse=True, return_counts=True)
    cell, shared = np.unique(row * len(true_size) + column, return_counts=True)
    row, column = np.divmod(cell, len(true_size))
    confusion = _pairs(shared, predicted_size, true_size)
    square = shared.astype(np.float64) ** 2
    b3_precision = float((square / predicted_size[row]).sum() / one.size)
    b3_recall = float((square / true_size[column]).sum() / one.size)
    return GroupScores(
        precision=confusion.precision,
        recall=confusion.recall,
        f1=confusion.f1,
        b3_precision=b3_precision,
        b3_recall=b3_recall,
        b3=2 * b3_precision * b3_recall / (b3_precision + b3_recall),
        ari=_adjusted_rand(confusion),
    )


def adjusted_rand(true: Number, false: Number, missed: Number, apart: Number) -> Any:
    """ARI from numbers of pairs, whole or (G,) arrays of them; undefined where no pair is false or missed."""
    return 2 * (true * apart - missed * false) / ((true + missed) * (missed + apart) + (true + false) * (false + apart))


def _pairs(shared: ArrayLike, predicted: ArrayLike, true: ArrayLike) -> Confusion:
    """The confusion of all pairs, from the numbers of texts of the table's entries, rows and columns."""
    both, marked, right = (int((n * (n - 1) // 2).sum()) for n in map(np.asarray, (shared, predicted, true)))
    count = int(np.asarray(true).sum())
    return Confusion(both, marked - both, right - both, count * (count - 1) // 2 - marked - right + both)


def _adjusted_rand(pairs: Confusion) -> float:
    true, false, missed, apart = pairs.true_positive, pairs.false_positive, pairs.false_negative, pairs.true_negative
    return 1.0 if false == missed == 0 else float(adjusted_rand(true, false, missed, apart))
