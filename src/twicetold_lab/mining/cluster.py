"""Triplets from duplicate clusters: positives from the anchor's cluster, negatives from labelled non-duplicates.

Labelled non-duplicates are hard negatives: Quora's pairs were chosen because they look alike. The rule is one reading
of the "clustering triplet generating method" that FILM (arXiv:2010.05523) names and does not define. A member of
another group is used for documents, and where an anchor has no labelled non-duplicate (left).
"""

import numpy as np

from twicetold_lab.data.corpus import UNKNOWN, Corpus, pair_keys
from twicetold_lab.mining.draws import draw
from twicetold_lab.mining.groups import Groups, Positions, draw_cyclic
from twicetold_lab.mining.triplets import Triplets, labelled


def mine(corpus: Corpus, *, seed: int, label: str, per_anchor: int, negative_grade: float = 1.0) -> Triplets:
    """Draw positives from the anchor's group, negatives from its labelled non-duplicates or else another group.

    Args:
        corpus: any corpus with the group `label`.
        seed: of the draws.
        label: the group whose members are duplicates; for pairs, the duplicate cluster.
        per_anchor: triplets for each anchor. Each of its labelled non-duplicates is used at most once; members of
            other groups fill up.
        negative_grade: of graded pairs, the highest grade that makes a negative.

    Raises:
        ValueError: for an unknown label, or if no triplet is possible.
    """
    draws = draw(corpus, label=label, per_anchor=per_anchor, seed=seed)
    groups, anchors, rng = draws.groups, draws.anchors, draws.rng

    left, right, contradictions = _labelled_negatives(corpus, groups, negative_grade=negative_grade)
    shuffled = np.lexsort((rng.random(len(left)), left))
    right = np.append(right[shuffled], 0)  # the 0 is a placeholder for anchors without labelled negatives
    begin = np.searchsorted(left[shuffled], anchors)
    count = np.searchsorted(left[shuffled], anchors, side="right") - begin
    drawn = draw_cyclic(np.maximum(count, 1), per_anchor=per_anchor, rng=rng)
    has_label = np.arange(per_anchor) < count[:, None]
    return draws.triplets(
        corpus,
        negatives=right[np.where(has_label, begin[:, None] + drawn, 0)],
        drawn=has_label,
        kind="labelled",
        negative_grade=negative_grade,
        card={
            "strategy": "cluster",
            "label": label,
            "seed": seed,
            "negative_grade": negative_grade,
            "labelled_different_in_one_group": contradictions,
        },
    )


def _labelled_negatives(corpus: Corpus, groups: Groups, *, negative_grade: float) -> tuple[Positions, Positions, int]:
    """Return the labelled non-duplicates of train in both directions, by position, each once.

    Returns:
        Anchors, their negatives, and how many pairs were left out because the closure puts both into one group.
    """
    position = np.full(len(corpus), UNKNOWN, dtype=np.int64)
    position[groups.texts] = np.arange(len(groups))
    _, (left, right) = labelled(corpus, negative_grade=negative_grade)
    _, first = np.unique(pair_keys(left, right), return_index=True)
    left, right = position[left[first]], position[right[first]]
    known = (left != UNKNOWN) & (right != UNKNOWN)
    left, right = left[known], right[known]
    apart = groups.code[left] != groups.code[right]
    left, right = left[apart], right[apart]
    return np.concatenate([left, right]), np.concatenate([right, left]), int((~apart).sum())
