"""Similarities of train texts by a trained model, the teacher, for a student that learns them: distillation.

A student cannot learn the teacher's vectors, which have other dimensions, but it can learn their dot products. Each
text is an anchor of some triplets, whose ends are texts at ranks of the teacher's list, or random ones: the fine
differences are among neighbours, and most texts of a search are far away. No label is read. Equal texts are one here.

Shape letters: M distinct train texts, K triplets of an anchor, T triplets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.nearest import NOBODY, Index, row_dots
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.groups import texts_of_train_alone
from twicetold_lab.mining.mined_file import Mined
from twicetold_lab.mining.teacher import Teacher

ANCHORS = 1 << 12  # searched for at a time, which bounds the neighbours and vectors held
LONGEST = 1.001  # similarity of unit vectors, with room for rounding
Texts = NDArray[np.int64]


@dataclass(frozen=True)
class Similarities(Mined):
    """Triplets by index into the corpus's texts, with the teacher's similarities."""

    anchor: Texts
    """(T,)"""
    positive: Texts
    """(T,) by the teacher usually the nearer one."""
    negative: Texts
    """(T,)"""
    of_positive: NDArray[np.float32]
    """(T,) similarity of anchor and positive."""
    of_negative: NDArray[np.float32]
    """(T,) similarity of anchor and negative."""
    card: Mapping[str, Any]
    """Settings and counts, ready for JSON; see `mine`."""


def mine(
    corpus: Corpus,
    teacher: Teacher,
    *,
    label: str,
    seed: int,
    positives: Sequence[int | None],
    negatives: Sequence[int | None],
    max_texts: int,
) -> Similarities:
    """Choose triplets by the teacher's ranks and at random.

    Args:
        corpus: any corpus.
        teacher: the trained model.
        label: not read, as no label is.
        seed: of the draws.
        positives: (K,) rank of the positive of each of an anchor's triplets in the teacher's list, from 1; None: a
            random text.
        negatives: (K,) the same of the negatives.
        max_texts: texts that are used, at most; drawn from those of train that are in no other split.

    Returns:
        Triplets by anchor. Where the teacher's list is shorter than a rank, a random text stands in; where both ends
        are one text, there is no triplet. The card has the settings, and counts of `texts` and `triplets`.

    Raises:
        ValueError: if the two lists are not of one length or hold no ranks, there are less than three texts, or the
            teacher's similarities are no cosines.
        TypeError: if the teacher has no vector per text.
    """
    if len(positives) != len(negatives) or not positives:
        raise ValueError(f"expected a positive and a negative for each triplet, got {[*positives]} and {[*negatives]}")
    wanted = [*positives, *negatives]
    ranks = [rank for rank in wanted if rank is not None]
    if any(rank < 1 for rank in ranks):
        raise ValueError(f"a rank is at least 1, or null for a random text; got {wanted}")
    rng = np.random.default_rng(seed)
    texts = _distinct(corpus, rng, at_most=max_texts)
    queries, documents = teacher.vectors(texts)
    index, everything = Index(documents), np.arange(len(texts))
    ends = rng.integers(len(texts) - 1, size=(len(texts), len(wanted)))  # (M, 2K)
    ends += ends >= everything[:, None]  # any but the anchor
    similarity = np.empty(ends.shape, np.float32)
    ranked = [place for place, rank in enumerate(wanted) if rank is not None]
    for start in range(0, len(texts), ANCHORS):
        batch = slice(start, start + ANCHORS)
        chunk = everything[batch]
        if ranks:
            nearest = index.search(queries[batch], k=max(ranks), apart=(chunk, everything)).index
            nearest = nearest[:, [rank - 1 for rank in ranks]]
            ends[batch, ranked] = np.where(nearest == NOBODY, ends[batch, ranked], nearest)
        left, right = np.repeat(chunk, len(wanted)), ends[batch].ravel()
        similarity[batch] = row_dots(queries, left, documents, right).reshape(-1, len(wanted))
    if (most := np.abs(similarity).max()) > LONGEST:
        raise ValueError(
            f"a student learns similarities as cosines, and one of this teacher's is {most:.3g}: choose a teacher with "
            "vectors of length 1"
        )
    anchor = np.repeat(everything, len(positives))
    (positive, negative), (near, far) = (
        [side.ravel() for side in np.split(each, 2, axis=1)] for each in (ends, similarity)
    )
    kept = positive != negative
    card = {
        "strategy": "similarities",
        "train": corpus.train_digest(),
        "seed": seed,
        "positives": [*positives],
        "negatives": [*negatives],
        "max_texts": max_texts,
        "texts": len(texts),
        "triplets": int(kept.sum()),
    }
    return Similarities(
        anchor=texts[anchor[kept]],
        positive=texts[positive[kept]],
        negative=texts[negative[kept]],
        of_positive=near[kept],
        of_negative=far[kept],
        card=card,
    )


def _distinct(corpus: Corpus, rng: np.random.Generator, *, at_most: int) -> Texts:
    """Return (M,) train texts that are in no other split, the first of equal ones, or a sample of them; ascending."""
    texts = texts_of_train_alone(corpus)
    _, first = np.unique(corpus.text_codes()[texts], return_index=True)
    texts = np.sort(texts[first])
    if len(texts) < 3:
        raise ValueError(f"a triplet has three different texts, and {corpus.name} has {len(texts)} in train alone")
    return texts if len(texts) <= at_most else np.sort(rng.choice(texts, max(at_most, 3), replace=False))
