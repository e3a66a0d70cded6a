"""A corpus of labelled pairs with fewer pairs of train; validation and test stay as they are.

Shape letters: P pairs of train.
"""

from dataclasses import replace

import numpy as np

from twicetold.data.audit import audit
from twicetold.data.clusters import duplicate_clusters
from twicetold.data.corpus import Corpus, Pairs


def with_fewer_pairs(corpus: Corpus, count: int, *, seed: int) -> Corpus:
    """The corpus with some of its train pairs, their texts, and the clusters and the audit that follow from them.

    Fewer pairs of one seed are among more of it.

    Args:
        corpus: of labelled pairs.
        count: how many pairs to keep.
        seed: of the order in which pairs are taken.

    Raises:
        ValueError: if it has no labelled pairs, or not so many.
    """
    if corpus.kind != "labelled_pairs":
        raise ValueError(f"expected labelled pairs, got {corpus.kind} ({corpus.name})")
    train = corpus.pairs["train"]
    if not 1 <= count <= len(train):
        raise ValueError(f"expected 1 to {len(train):,} pairs to keep of {corpus.name}, got {count:,}")
    kept = np.sort(np.random.default_rng(seed).permutation(len(train))[:count])
    pairs = Pairs(train.left[kept], train.right[kept], train.label[kept])
    members = np.unique(np.concatenate([pairs.left, pairs.right]))
    same = pairs.label > 0
    cluster = duplicate_clusters(len(corpus), left=pairs.left[same], right=pairs.right[same], members=members)
    fewer = replace(
        corpus,
        groups={**corpus.groups, "cluster": cluster},
        members={**corpus.members, "train": members},
        pairs={**corpus.pairs, "train": pairs},
    )
    return replace(fewer, card={**corpus.card, "audit": audit(fewer), "train_pairs_kept": count, "kept_by_seed": seed})
