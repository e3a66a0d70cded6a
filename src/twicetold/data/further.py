"""Labelled pairs of another dataset, to train on beside a corpus's own.

They are examples and no more: their texts are no members of the corpus, so that vocabularies, mining, searches and
evaluation are what they are without them. A pair with a text that the corpus has as well, on whatever side of its
split, is left out: what the corpus labels is its own to say, and nothing of validation or test may be learnt.

Shape letters: P train pairs of the other dataset.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.data.corpus import Corpus, FurtherPairs, Pairs


def further_settings(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """The further dataset's part of the settings `data`, None where there is none.

    Raises:
        ValueError: if it is no settings of a dataset.
    """
    further = data.get("further")
    if further is not None and not isinstance(further, dict):
        raise ValueError(
            f"data.further must be the settings of a dataset, got {further!r}: for those of conf/data/{further}.yaml "
            f"say +data@data.further={further}"
        )
    return further


def with_further_pairs(corpus: Corpus, other: Corpus) -> Corpus:
    """The corpus with the train pairs of another one beside its own, and counts of them on its card.

    Args:
        corpus: labelled or graded pairs.
        other: the same. From its positive grade on, graded pairs say the same.

    Raises:
        ValueError: if one of the two is of documents, or all further pairs have a text of the corpus.
    """
    for one in (corpus, other):
        if one.kind == "documents":
            raise ValueError(f"further pairs are for pairs, but {one.name} is of documents, which have none")
    pairs = other.pairs["train"]
    ends = np.stack([pairs.left, pairs.right])  # (2, P)
    shared = pc.is_in(other.texts, value_set=corpus.texts).to_numpy(zero_copy_only=False)
    kept = ~shared[ends].any(axis=0)
    if not kept.any():
        raise ValueError(
            f"all {len(pairs):,} train pairs of {other.name} have a text that {corpus.name} has as well: nothing is "
            "left to train on besides"
        )
    texts, places = np.unique(ends[:, kept], return_inverse=True)
    left, right = places.reshape(2, -1).astype(np.int64)
    same = (pairs.label[kept] >= other.positive_label).astype(np.float32)
    (label,) = other.groups  # pairs have one: the duplicate clusters of train
    further = FurtherPairs(other.texts.take(pa.array(texts)), Pairs(left, right, same), other.groups[label][texts])
    counts = {"of": other.name, "pairs": len(same), "with_a_text_of_its_own": int((~kept).sum())}
    return replace(corpus, further=further, card={**corpus.card, "further_pairs": counts})
