"""Corpora of a few texts, made for one test."""

import numpy as np
import pyarrow as pa

from twicetold_lab.data.corpus import Corpus


def corpus_of(texts, *, kind="documents", groups, members=None, pairs=None, **more):
    """Ids are numbers; without members, those of a split are the texts of its pairs."""
    pairs = pairs or {}
    ends = {split: np.concatenate([each.left, each.right]) for split, each in pairs.items()}
    return Corpus(
        name="small",
        kind=kind,
        ids=pa.array([str(number) for number in range(len(texts))]),
        texts=pa.array(texts),
        groups=groups,
        members=members or {split: np.unique(texts) for split, texts in ends.items()},
        pairs=pairs,
        **more,
    )


def documents_of(texts, codes=None):
    """The texts are train, with the group `g`, by default of two each; one more text is in each of val and test."""
    count = len(texts)
    groups = {"g": np.append(np.arange(count) // 2 if codes is None else np.array(codes, np.int64), [0, 0])}
    members = {"train": np.arange(count), "val": np.array([count]), "test": np.array([count + 1])}
    return corpus_of([*texts, "blue val", "blue test"], groups=groups, members=members)
