"""Questions for a person: the pairs that the matcher is least sure of, spread over the file.

Pairs are ranked by how near their log odds are to those of the cut, so that the first question is a hard one. A text is
asked about once in a round, and of the least certain pairs some are drawn, so that not all questions of a round are of
one sort.

Shape letters: P pairs, Q questions.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from twicetold.matching.candidates import Pairs
from twicetold.matching.matcher import Matcher
from twicetold.matching.pair_features import Column

POOL = 8  # least certain pairs of which one is drawn, for each question
SURE = 1e-6
DIGITS = 6  # of log odds; pairs as doubtful are asked about in the order of their texts


class WithCandidates(Protocol):
    """Texts with their candidate pairs and the features of these, such as `Compared`."""

    @property
    def pairs(self) -> Pairs:
        """P candidates."""

    @property
    def columns(self) -> Mapping[str, Column]:
        """(P,) features by name."""


def questions(
    compared: WithCandidates, matcher: Matcher, asked: Sequence[int] = (), *, count: int = 1, seed: int = 0
) -> NDArray[np.int64]:
    """Return (Q,) positions of pairs to ask about, at most `count`; fewer where no others are left.

    Args:
        compared: the file.
        matcher: after the answers so far.
        asked: pairs that were asked about already.
        count: of questions.
        seed: of the draw.
    """
    probability = np.clip(matcher.probability(compared.columns), SURE, 1 - SURE)
    doubt = np.abs(np.log(probability / (1 - probability))).round(DIGITS)
    doubt[np.asarray(asked, np.int64)] = np.inf
    order = np.lexsort((compared.pairs.right, compared.pairs.left, doubt))
    order = order[np.isfinite(doubt[order])][: POOL * count]
    draw = np.random.default_rng([seed, len(asked)])
    first = order[:1] if not len(asked) else order[:0]
    mixed = np.concatenate([first, draw.permutation(order[len(first) :])])
    chosen: list[int] = []
    seen: set[int] = set()
    for pair in mixed.tolist():
        texts = {int(compared.pairs.left[pair]), int(compared.pairs.right[pair])}
        if len(chosen) < count and not texts & seen:
            chosen.append(pair)
            seen |= texts
    return np.array(chosen, np.int64)
