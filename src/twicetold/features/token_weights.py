"""Weights of tokens in the sum of their vectors (frequent tokens say little), and the name of unknown ones."""

import numpy as np
from numpy.typing import NDArray

UNKNOWN_NAME = "(unknown)"


def smooth_weights(counts: NDArray[np.int64], a: float) -> NDArray[np.float32]:
    """Return (width,) smooth inverse frequency a / (a + p) of tokens with probability p; 1 for those never seen.

    Arora, Liang and Ma, A Simple but Tough-to-Beat Baseline for Sentence Embeddings, ICLR 2017, algorithm 1.
    """
    weights: NDArray[np.float32] = (a / (a + counts / max(counts.sum(), 1))).astype(np.float32)
    return weights


def zipf_weights(width: int) -> NDArray[np.float32]:
    """Return (width,) log(1 + rank) of tokens in the order of their vocabulary, the frequent ones first (Zipf's law).

    As in model2vec (Tulkens and van Dongen 2024), `apply_zipf`: the first token has weight 0.
    """
    weights: NDArray[np.float32] = np.log(1 + np.arange(width)).astype(np.float32)
    return weights
