"""Random draws from groups by index arithmetic: texts are sorted by group, so a group is a range of positions.

There is no loop over rows: a member of the anchor's group is an offset inside the range, a member of another group an
offset outside.

Shape letters: M positions (train texts of known group), A anchors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.corpus import UNKNOWN, Corpus

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """The train texts whose group is known, sorted by group and then by index into the corpus."""

    texts: NDArray[np.int64]
    """(M,) index into the corpus's texts."""
    code: NDArray[np.int64]
    """(M,) group of each, ascending."""
    start: Positions
    """(M,) first position of the text's group."""
    size: NDArray[np.int64]
    """(M,) how many texts the group has."""

    def __len__(self) -> int:
        return len(self.texts)

    def with_positive(self) -> Positions:
        """Return (A,) positions whose group has a second text."""
        return np.flatnonzero(self.size > 1)

    def draw_positives(self, anchors: Positions, *, per_anchor: int, rng: np.random.Generator) -> Positions:
        """Return random others of each anchor's group, all different until the group is used up.

        Args:
            anchors: (A,) positions whose group has a second text.
            per_anchor: how many.
            rng: source of the draws.

        Returns:
            (A, per_anchor) positions.
        """
        shuffled = np.lexsort((rng.random(len(self)), self.code))  # a permutation within every range
        place = np.empty_like(shuffled)
        place[shuffled] = np.arange(len(self))
        others, start = self.size[anchors] - 1, self.start[anchors]
        offset = 1 + draw_cyclic(others, per_anchor=per_anchor, rng=rng)
        return shuffled[start[:, None] + ((place[anchors] - start)[:, None] + offset) % (others + 1)[:, None]]

    def draw_others(self, anchors: Positions, rng: np.random.Generator) -> Positions:
        """Return (A,) positions: for each anchor a random text of another group, every one equally likely."""
        start, size = self.start[anchors], self.size[anchors]
        drawn = rng.integers(len(self) - size)
        return np.where(drawn < start, drawn, drawn + size)


class NoTriplets(ValueError):
    """The train texts have no triplet, whatever the settings of a strategy."""


def rank_window(ranks: Sequence[int]) -> tuple[int, int]:
    """Return first and last rank of a window, counted from 1.

    Raises:
        ValueError: if the ranks are not a window.
    """
    first, last = ranks
    if not 1 <= first <= last:
        raise ValueError(f"ranks is a first and a last rank, 1 <= first <= last; got {list(ranks)}")
    return first, last


def draw_cyclic(sizes: NDArray[np.int64], *, per_anchor: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(A, per_anchor) offsets below each of the positive `sizes`: consecutive from a random start, with wrap-around."""
    first = rng.integers(sizes)
    return (first[:, None] + np.arange(per_anchor)) % sizes[:, None]


def train_groups(corpus: Corpus, *, label: str, per_anchor: int) -> Groups:
    """Sort the train texts of known group by it.

    Raises:
        ValueError: if the corpus has no such group, or `per_anchor` is not positive.
        NoTriplets: if no triplet is possible.
    """
    group = corpus.group(label)
    if per_anchor < 1:
        raise ValueError(f"per_anchor is the number of triplets for each anchor, at least 1; got {per_anchor}")
    members = corpus.members["train"]
    code = group[members]
    members, code = members[code != UNKNOWN], code[code != UNKNOWN]
    groups = sorted_groups(members, code)
    counts = np.unique(code, return_counts=True)[1]
    if len(counts) < 2 or counts.max(initial=0) < 2:
        raise NoTriplets(
            f"no triplet can be made from the train texts of {corpus.name!r} by {label!r}: that needs a group of two "
            f"texts and a second group, but there are {len(members)} texts of known group in {len(counts)} group(s), "
            f"the largest of {int(counts.max(initial=0))}. Use more rows or another label"
        )
    return groups


def sorted_groups(texts: NDArray[np.int64], code: NDArray[np.int64]) -> Groups:
    """Sort texts by the code of their group; within a group they keep their order."""
    order = np.argsort(code, kind="stable")
    _, first, inverse, counts = np.unique(code[order], return_index=True, return_inverse=True, return_counts=True)
    return Groups(texts[order], code[order], first[inverse].astype(np.int64), counts[inverse].astype(np.int64))


def texts_of_train_alone(corpus: Corpus) -> NDArray[np.int64]:
    """Return the train texts that are in no other split, word for word; sorted."""
    code = corpus.text_codes()
    train = corpus.members["train"]
    held_out = code[np.concatenate([corpus.members["val"], corpus.members["test"]])]
    return train[~np.isin(code[train], held_out)]


def confirmed(corpus: Corpus, label: str, anchor: NDArray[np.int64], positive: NDArray[np.int64]) -> dict[str, int]:
    """Counts of the pairs whose two groups are known, and of those whose groups are one; empty without such labels.

    Args:
        corpus: where the texts are.
        label: name of the group.
        anchor: (P,) indices into the corpus's texts.
        positive: (P,)
    """
    if label not in corpus.groups:
        return {}
    one, other = corpus.groups[label][anchor], corpus.groups[label][positive]
    known = (one != UNKNOWN) & (other != UNKNOWN)
    return {"of_known_group": int(known.sum()), "of_the_anchors_group": int((known & (one == other)).sum())}
