"""Corpora of a few texts, made for one test."""

import numpy as np
import pyarrow as pa

from twicetold_lab.data.corpus import Corpus


def documents_of(texts, codes=None):
    """The texts are train, with the group `g`, by default of two each; one more text is in each of val and test."""
    count = len(texts)
    return Corpus(
        name="small",
        kind="documents",
        ids=pa.array([str(i) for i in range(count + 2)]),
        texts=pa.array([*texts, "blue val", "blue test"]),
        groups={"g": np.append(np.arange(count) // 2 if codes is None else np.array(codes, np.int64), [0, 0])},
        members={"train": np.arange(count), "val": np.array([count]), "test": np.array([count + 1])},
    )
