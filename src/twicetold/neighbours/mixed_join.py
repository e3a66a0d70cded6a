"""All pairs of rows with a dot product of at least a threshold, where some columns are dense and the others sparse.

Such rows are those of an ensemble of lexical and dense models, whose vectors stand side by side. With x = (l, d), the
lexical and the dense part, ⟨x, y⟩ = ⟨l_x, l_y⟩ + ⟨d_x, d_y⟩. A pair that reaches t therefore has

    ⟨l_x, l_y⟩ >= a    or    ⟨d_x, d_y⟩ >= t - a

whatever a is. So the pairs that reach t are among those of one join of the lexical parts (`sparse_join`) and one of
the dense parts (`dense_join`), each by its own bounds. Nothing is approximate, unless the dense parts are joined by
`cells`.

A pair of the dense join is compared in full only if its lexical parts may reach the rest. Columns are dealt into B
baskets, and with the norms p of a lexical part in each of them, ⟨l_x, l_y⟩ <= ⟨p_x, p_y⟩ by the Cauchy-Schwarz
inequality.

Shape letters: n rows, D columns, F dense ones, B baskets, L pairs.
"""

from typing import Any

import numpy as np

from twicetold.neighbours.cells import most_self_pairs
from twicetold.neighbours.dense_join import Dense, Pairs, dense_self_pairs, spread
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import FEWEST_FULL, FULL, row_dots
from twicetold.neighbours.sparse_join import baskets, by_prefixes, divided, squared_norms

WEIGHTS = (1.5, 1.0, 0.7, 0.5, 0.3)  # of a's share of t, beside the shares of the two parts in the squared norms
SAMPLE = 2000  # rows whose pairs say how many the dense join finds
MUCH = 0.25  # of the most pairs, that it may find
HELD, FEW = 2_000_000, 1_000_000  # pairs of the dense join: with more, bounds of whole rows cost less (`sparse_join`)
BASKETS = 128
ROUNDING = 1e-5  # of float32 sums, of the squared norm of the longest row or of 1


def dense_columns(rows: Any) -> Ints:
    """The columns that most rows have, such as those of dense vectors; none if they are few.

    Args:
        rows: (n, D) CSR.
    """
    full = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]) > FULL * rows.shape[0])
    return full if len(full) >= FEWEST_FULL else full[:0]


def mixed_self_pairs(
    rows: Any, columns: Ints, threshold: float, *, most: int, approximate: bool = False
) -> Pairs | None:
    """The pairs i < j with ⟨row_i, row_j⟩ >= threshold.

    Args:
        rows: (n, D) CSR.
        columns: the dense ones.
        threshold: above 0.
        most: of these pairs, and of those of each part.
        approximate: join the dense parts by cells, which may miss pairs.

    Returns:
        The earlier rows, the later ones and the dot products, each (L,); None if there are more than `most` pairs, or
        the lexical parts share so many columns that comparing all rows costs less.
    """
    dense, lexical = divided(rows, columns)
    squares = (
        float(squared_norms(lexical).max(initial=0.0)),
        float(np.einsum("nf,nf->n", dense, dense).max(initial=0.0)),
    )
    held = MUCH * most if approximate else min(MUCH * most, HELD)
    least = _least_of_words(dense, threshold, squares, most=held)
    slack = ROUNDING * max(1.0, sum(squares))
    if least <= slack:
        return None
    by_words = by_prefixes(lexical, least - slack, most=most)
    if by_words is None:
        return None
    join = most_self_pairs if approximate else dense_self_pairs
    by_vectors = join(
        (dense, dense), threshold - least - slack, most=most if approximate else min(most, int(2 * held) + FEW)
    )
    if by_vectors is None:
        return None
    left, right, dots = by_words
    near = dots + row_dots(dense, left, dense, right) >= threshold - slack
    keys = left[near] * len(dense) + right[near]
    left, right, dots = by_vectors
    norms = baskets(lexical, BASKETS)
    near = dots + row_dots(norms, left, norms, right) >= threshold - slack
    keys = np.union1d(keys, left[near] * len(dense) + right[near])
    left, right = keys // len(dense), keys % len(dense)
    dots = row_dots(lexical, left, lexical, right) + row_dots(dense, left, dense, right)
    keep = dots >= threshold
    return None if keep.sum() > most else (left[keep], right[keep], dots[keep])


def _least_of_words(dense: Dense, threshold: float, squares: tuple[float, float], *, most: float) -> float:
    """a: the higher it is, the less the lexical join costs, and the more pairs the dense one finds."""
    some = dense[spread(len(dense), SAMPLE)]
    dots = some @ some.T
    np.fill_diagonal(dots, -np.inf)
    every = len(dense) ** 2 / 2
    for weight in WEIGHTS:
        share = weight * squares[0] / max(weight * squares[0] + squares[1], 1e-12)
        if np.count_nonzero(dots >= threshold * (1 - share)) / dots.size * every <= most:
            break
    return threshold * share
