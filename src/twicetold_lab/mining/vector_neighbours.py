"""Nearest neighbours by a trained model's vectors, as positives that need no labels.

Each train text is paired with the other one that the model's search finds first. Where the model is a mean of word
vectors (`teacher=glove_mean`, `word2vec`), this is the neighbour by word vectors: two texts may be a pair that say the
same in other words, which BM25 and TF-IDF (`mining.neighbour`) cannot find. Some of the pairs are wrong; the card of a
labelled corpus gives their number.

Shape letters: M train texts, P pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.nearest import NOBODY, Index
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.groups import confirmed, sorted_groups
from twicetold_lab.mining.mined_file import Mined
from twicetold_lab.mining.teacher import Teacher

ANCHORS = 1 << 14  # searched for at a time, which bounds the neighbours held


@dataclass(frozen=True)
class NearestPairs(Mined):
    """Texts and their neighbours, by index into the corpus's texts."""

    anchor: NDArray[np.int64]
    """(P,) ascending, each once."""
    positive: NDArray[np.int64]
    """(P,)"""
    card: Mapping[str, Any]
    """Settings and counts, ready for JSON; see `mine`."""


def mine(corpus: Corpus, teacher: Teacher, *, label: str, seed: int) -> NearestPairs:
    """Pair each train text with the one that the teacher finds nearest to it.

    Equal texts are one text: the neighbour of a text is never a copy of it. A text that is like no other (a similarity
    of 0 or below, as of texts without a known word) has no pair.

    Args:
        corpus: any corpus.
        teacher: the trained model.
        label: the group by which the card says how many pairs are right; nothing is chosen by it.
        seed: ignored, as nothing is drawn; every strategy of `mine_with_model` is called with one.

    Returns:
        Pairs sorted by anchor. The card has counts of `texts`, `texts_without_neighbour` and `pairs`, and under
        `positives`, how many have texts of a known group, and of the same one.

    Raises:
        ValueError: if no text has a neighbour.
        TypeError: if the teacher has no vector per text.
    """
    members = corpus.members["train"]
    groups = sorted_groups(members, corpus.text_codes()[members])
    queries, documents = teacher.vectors(groups.texts)
    index = Index(documents)
    best = np.full(len(groups), NOBODY)
    for start in range(0, len(groups), ANCHORS):
        rows = slice(start, start + ANCHORS)
        nearest = index.search(queries[rows], k=1, apart=(groups.code[rows], groups.code))
        best[rows] = np.where(nearest.similarity[:, 0] > 0, nearest.index[:, 0], NOBODY)
    kept = best != NOBODY
    if not kept.any():
        raise ValueError(
            f"no train text of {corpus.name!r} is like another one by this model: there is no neighbour to take. Use "
            "more rows, or another teacher"
        )
    order = np.argsort(groups.texts[kept], kind="stable")
    anchor, positive = groups.texts[kept][order], groups.texts[best[kept]][order]
    card = {
        "strategy": "vector_neighbours",
        "train": corpus.train_digest(),
        "texts": len(groups),
        "texts_without_neighbour": int((~kept).sum()),
        "pairs": len(anchor),
        "positives": confirmed(corpus, label, anchor, positive),
    }
    return NearestPairs(anchor, positive, card)
