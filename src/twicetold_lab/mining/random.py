"""Random triplets: another text of the anchor's group, and a text of another group.

With `label="category"` and `positive="next"` these are the explicit triplets of the denoising autoencoder of
Okura et al. 2016, "Article De-duplication Using Distributed Representations" (https://doi.org/10.1145/2872518.2889355),
as https://github.com/louislung/DAE_RNN_News_Recommendation builds them: the positive is the next article of the same
category, the negative a random article of another one.
"""

from typing import Literal, get_args

import numpy as np

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.groups import train_groups
from twicetold_lab.mining.triplets import Triplets, collect

Positive = Literal["random", "next"]


def mine(
    corpus: Corpus,
    *,
    seed: int,
    label: str,
    per_anchor: int,
    positive: Positive = "random",
    negative_grade: float = 1.0,
) -> Triplets:
    """Draw triplets at random.

    Args:
        corpus: any corpus with the group `label`.
        seed: of the draws.
        label: the group whose members are duplicates.
        per_anchor: triplets for each anchor, fewer where they would repeat.
        positive: `random` members of the anchor's group, all different until it is used up; or always the `next`
            one in the corpus's order, so that the last of each group is no anchor.
        negative_grade: of graded pairs, those above this grade are no negatives.

    Raises:
        ValueError: for an unknown label or option, or if no triplet is possible.
    """
    if positive not in get_args(Positive):
        raise ValueError(f"positive is one of {get_args(Positive)}, got {positive!r}")
    groups = train_groups(corpus, label=label, per_anchor=per_anchor)
    rng = np.random.default_rng(seed)
    anchors = groups.with_positive()
    if positive == "next":
        anchors = anchors[anchors + 1 < groups.start[anchors] + groups.size[anchors]]
        positives = np.repeat(anchors + 1, per_anchor)
    else:
        positives = groups.draw_positives(anchors, per_anchor=per_anchor, rng=rng).ravel()
    without_positive = len(groups) - len(anchors)
    anchors = np.repeat(anchors, per_anchor)
    return collect(
        corpus,
        anchor=groups.texts[anchors],
        positive=groups.texts[positives],
        negative=groups.texts[groups.draw_others(anchors, rng)],
        kind=np.zeros(len(anchors), dtype=np.int64),
        kinds=("other_group",),
        negative_grade=negative_grade,
        card={
            "strategy": "random",
            "label": label,
            "seed": seed,
            "per_anchor": per_anchor,
            "positive": positive,
            "texts": len(groups),
            "anchors_without_positive": without_positive,
        },
    )
