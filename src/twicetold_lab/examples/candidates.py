"""Positive pairs of an anchor and its negative pairs beside them: for `objectives.localized_contrastive`.

The negatives of an anchor are the texts that are labelled as different from it, and those that the mining stage found
for it. Each pair is an example of its own, so that a family which scores pairs scores every candidate.

Shape letters: X pairs, T triplets, P labelled pairs.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.examples.labelled import mined
from twicetold_lab.mining.triplets import labelled

Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Candidates:
    """Pairs of an anchor, its positives and up to K negatives, side by side.

    Args:
        strategy: which file of the mining stage (`random`, `bm25`, `cluster`).
        group: the group whose members are never negatives of each other.
        negatives: K, of an anchor; those that are labelled come first.
        different: graded pairs up to this grade are labelled as not the same.

    Raises:
        ValueError: if there are to be no negatives.
    """

    strategy: str
    group: str
    negatives: int
    different: float = 0.0

    def __post_init__(self) -> None:
        if self.negatives < 1:
            raise ValueError(f"examples.negatives is how many an anchor has, at least 1; got {self.negatives}")

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per pair; those of one anchor are a block.

        Raises:
            FileNotFoundError: if that strategy was not mined for this corpus.
        """
        mined_triplets, group = mined(corpus, triplets, self.strategy), corpus.group(self.group)
        anchor, positive = np.unique(np.stack([mined_triplets.anchor, mined_triplets.positive]), axis=1)
        one, other = self._labelled(corpus, group, anchors=anchor)
        negative = _first(
            np.concatenate([one, mined_triplets.anchor]),
            np.concatenate([other, mined_triplets.negative]),
            self.negatives,
        )
        left = np.concatenate([anchor, negative[0]])
        right = np.concatenate([positive, negative[1]])
        return ExampleIndex(
            anchor=left,
            positive=right,
            label=np.repeat(np.array([1, 0], np.float32), [len(anchor), len(negative[0])]),
            group=group[left],
            positive_group=group[right],
            block=np.unique(left, return_inverse=True)[1].astype(np.int64),
        )

    def _labelled(self, corpus: Corpus, group: NDArray[np.int64], *, anchors: NDArray[np.int64]) -> Ends:
        """Pairs labelled as different, in either order, whose first text is an anchor; none of one cluster."""
        _, (one, other) = labelled(corpus, negative_grade=self.different)
        one, other = np.concatenate([one, other]), np.concatenate([other, one])
        kept = np.isin(one, anchors) & ((group[one] != group[other]) | (group[one] == UNKNOWN))
        return one[kept], other[kept]


def _first(anchor: NDArray[np.int64], other: NDArray[np.int64], count: int) -> Ends:
    """The first `count` different others of each anchor, by anchor."""
    first = np.sort(np.unique(np.stack([anchor, other]), axis=1, return_index=True)[1])
    anchor, other = anchor[first], other[first]
    order = np.argsort(anchor, kind="stable")
    anchor, other = anchor[order], other[order]
    within = np.arange(len(anchor)) - np.searchsorted(anchor, anchor)
    return anchor[within < count], other[within < count]
