"""Hard negatives mined by a trained model: texts near the anchor in its search that do not say the same.

Xiong et al., Approximate Nearest Neighbor Negative Contrastive Learning (ANCE), ICLR 2021 (arXiv:2007.00808), search
the whole corpus with the encoder in training. Here the encoder comes from a finished training, and the search is exact.
Many of the nearest texts are unlabelled duplicates. So the anchor's whole group is left out of the list,
ranks can be skipped as with BM25, and a candidate must be less similar to the anchor than the positive by a margin: the
positive-aware mining (TopK-MarginPos) of Moreira et al., NV-Retriever, 2024 (arXiv:2407.15831).

Shape letters: M train texts of known group, A anchors, B anchors of a batch, K triplets of an anchor, R ranks of the
window.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.nearest import NOBODY, Index, NearestTexts
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.draws import draw
from twicetold_lab.mining.groups import Positions, rank_window
from twicetold_lab.mining.teacher import Teacher
from twicetold_lab.mining.triplets import Triplets

ANCHORS = 1 << 14  # searched for at a time, which bounds the neighbours held


def mine(
    corpus: Corpus,
    teacher: Teacher,
    *,
    label: str,
    seed: int,
    per_anchor: int,
    ranks: Sequence[int],
    margin: float,
    negative_grade: float = 1.0,
) -> Triplets:
    """Draw positives from the anchor's group and negatives from a window of the teacher's list.

    Args:
        corpus: any corpus with the group `label`.
        teacher: the trained model.
        label: the group whose members say the same.
        seed: of the draws.
        per_anchor: triplets for each anchor. Where the window holds fewer candidates than that, random members of other
            groups fill up.
        ranks: first and last rank of the window, counted from 1 in the list without the anchor's group.
        margin: candidates whose similarity to the anchor is above the triplet's positive's minus this are skipped. In
            the teacher's units, for most families a cosine; may be negative.
        negative_grade: of graded pairs, those above this grade are no negatives.

    Raises:
        ValueError: for an unknown label or a wrong window, or if no triplet is possible.
        TypeError: if the teacher has no vector per text.
    """
    first, last = rank_window(ranks)
    draws = draw(corpus, label=label, per_anchor=per_anchor, seed=seed)
    groups, anchors, rng = draws.groups, draws.anchors, draws.rng
    queries, documents = teacher.vectors(groups.texts)
    index = Index(documents)
    negatives = np.full(draws.positives.shape, NOBODY)
    skipped = 0
    for start in range(0, len(anchors), ANCHORS):
        batch = slice(start, start + ANCHORS)
        chunk = anchors[batch]
        nearest = index.search(queries[chunk], k=last, apart=(groups.code[chunk], groups.code))
        window = NearestTexts(nearest.index[:, first - 1 :], nearest.similarity[:, first - 1 :])
        repeated = groups.texts[np.repeat(chunk, per_anchor)]
        positive = teacher.similarity(repeated, groups.texts[draws.positives[batch].ravel()])
        most = positive.reshape(-1, per_anchor) - np.float32(margin)
        negatives[batch], too_near = _draw(window, most, rng)
        skipped += too_near
    return draws.triplets(
        corpus,
        negatives=negatives,
        drawn=negatives != NOBODY,
        kind="hard",
        negative_grade=negative_grade,
        card={
            "strategy": "hard_negatives",
            "label": label,
            "seed": seed,
            "ranks": [first, last],
            "margin": margin,
            "candidates_within_margin": skipped,
        },
    )


def _draw(window: NearestTexts, most: NDArray[np.float32], rng: np.random.Generator) -> tuple[Positions, int]:
    """Draw a negative for each triplet, different ones for one anchor.

    Args:
        window: (B, R) candidates.
        most: (B, K) the highest similarity that each triplet's negative may have.
        rng: source of the draws.

    Returns:
        (B, K) positions, `NOBODY` where no candidate is left, and how many candidates were too near, over all triplets.
    """
    drawn = np.full(most.shape, NOBODY)
    free = window.index != NOBODY
    candidates, too_near = free.copy(), 0
    order = rng.random(free.shape)
    rows = np.arange(len(drawn))
    for triplet, bound in enumerate(most.T):
        near = window.similarity > bound[:, None]
        too_near += int((candidates & near).sum())
        allowed = free & ~near
        place = np.where(allowed, order, np.inf).argmin(axis=1)
        available = allowed[rows, place]
        drawn[available, triplet] = window.index[available, place[available]]
        free[rows[available], place[available]] = False
    return drawn, too_near
