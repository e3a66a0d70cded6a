"""False-negative rate: mined negatives that are duplicates according to labels that were hidden from the miner.

A duplicate according to the labels of train and their closure is never mined as a negative
(`mining.triplets.collect`), so these labels cannot measure the errors. Therefore a random share of train's labelled
pairs is hidden, duplicate clusters are computed from the others, and the strategy mines again with these. Its
negatives are then compared with all labels of train:

    negatives          different pairs (anchor, negative)
    known_duplicates   those of one duplicate cluster: labelled as duplicates, or duplicates by transitivity
    judged             those that are a hidden pair, so that their label is known but the miner did not see it
    judged_duplicates  those of the judged that are labelled as duplicates

    false-negative rate = known_duplicates / negatives

Labels of validation and test are not read, and nothing is trained on these triplets. The rate is that of a corpus with
so many labels missing. It is a lower bound, because unlabelled duplicates are not counted. judged_duplicates / judged
is closer to an upper bound, because labelled pairs were chosen to look alike. A strategy that uses more than the given
corpus (such as a trained encoder) may have seen the hidden labels.

Shape letters: P labelled pairs of train.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.clusters import duplicate_clusters
from twicetold_lab.data.corpus import UNKNOWN, Corpus, Pairs, pair_keys
from twicetold_lab.mining.triplets import Triplets

Strategy: TypeAlias = Callable[..., Triplets]
"""A mining function with its options bound: takes `corpus`, `seed` and `label`, returns triplets from train."""


def with_false_negatives(
    triplets: Triplets, strategy: Strategy, corpus: Corpus, *, seed: int, label: str, share: float
) -> Triplets:
    """The same triplets with `false_negatives` on their card; unchanged if there are too few labelled pairs.

    Args:
        triplets: mined with all labels.
        strategy: mines again with a part of the labels.
        corpus: of any kind.
        seed: of the strategy, and of which pairs are hidden.
        label: the group that the strategy mines by: the duplicate clusters of train.
        share: of the labelled pairs that are hidden, above 0 and below 1.

    Raises:
        ValueError: for a share out of these bounds.
    """
    if not 0 < share < 1:
        raise ValueError(f"the share of labelled pairs to hide is above 0 and below 1, got {share}")
    if not corpus.pairs:
        return triplets
    try:
        rest, hidden = hide(corpus, label=label, share=share, seed=seed)
        again = strategy(rest, seed=seed, label=label)
    except ValueError:  # the corpus is too small to mine with a part of its labels
        return triplets
    counts = compare(again, corpus, hidden, label=label)
    card = {**triplets.card, "false_negatives": {"share_hidden": share, "pairs_hidden": len(hidden), **counts}}
    return replace(triplets, card=card)


def hide(corpus: Corpus, *, label: str, share: float, seed: int) -> tuple[Corpus, Pairs]:
    """Remove a random share of train's labelled pairs.

    A pair that was labelled several times, also under other ids of the same texts, is hidden as a whole or not at all.

    Args:
        corpus: with pairs.
        label: the group of the duplicate clusters.
        share: of the pairs that are hidden.
        seed: of the choice.

    Returns:
        The corpus with the other pairs and the clusters that they make, and the hidden pairs. Texts and members stay.
    """
    pairs = corpus.pairs["train"]
    _, number = np.unique(_keys(corpus, pairs.left, pairs.right), return_inverse=True)
    is_hidden = (np.random.default_rng(seed).random(len(number)) < share)[number]  # (P,)
    hidden, rest = (Pairs(pairs.left[rows], pairs.right[rows], pairs.label[rows]) for rows in (is_hidden, ~is_hidden))
    alike = rest.label >= corpus.positive_label
    clusters = duplicate_clusters(
        len(corpus), left=rest.left[alike], right=rest.right[alike], members=corpus.members["train"]
    )
    return replace(corpus, groups={**corpus.groups, label: clusters}, pairs={**corpus.pairs, "train": rest}), hidden


def compare(triplets: Triplets, corpus: Corpus, hidden: Pairs, *, label: str) -> Mapping[str, int]:
    """Compare mined negatives with all labels of train.

    Args:
        triplets: mined from a corpus without the hidden pairs.
        corpus: the one with all pairs.
        hidden: labelled pairs.
        label: the group of the duplicate clusters.

    Returns:
        `negatives`, `known_duplicates`, `judged` and `judged_duplicates`, as above; each pair of texts counts once.
    """
    cluster = corpus.groups[label]
    mined, first = np.unique(_keys(corpus, triplets.anchor, triplets.negative), return_index=True)
    anchor, negative = cluster[triplets.anchor[first]], cluster[triplets.negative[first]]
    keys, alike = _keys(corpus, hidden.left, hidden.right), hidden.label >= corpus.positive_label
    return {
        "negatives": len(mined),
        "known_duplicates": int(((anchor == negative) & (anchor != UNKNOWN)).sum()),
        "judged": int(np.isin(mined, keys).sum()),
        "judged_duplicates": int(np.isin(mined, keys[alike]).sum()),
    }


def _keys(corpus: Corpus, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each unordered pair of texts; equal texts count as one."""
    code = corpus.text_codes()
    return pair_keys(code[left], code[right])
