"""Vectors of words from a pretrained transformer that reads each word by itself: a table of what it has learnt of them.

Reading a table costs nothing beside running the network, which is why Model2Vec (Tulkens and van Dongen, 2024,
https://github.com/MinishLab/model2vec) makes embeddings of texts from such a table; here it is what word vectors of
GloVe are, an input to a family that reads words.

    h_t = Transformer([CLS] w [SEP])_t
    v   = Σ_t h_t / T,  of length 1                 as `minilm` embeds a text
    vector = its first principal components over all the words

What the transformer was pretrained on, it hands on: a family that reads such vectors is as little clean as `minilm`.

Shape letters: W words, H dimensions of a state, D of a vector.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import clone

from twicetold.features.model_tokens import ModelTokens
from twicetold.features.vectors import about_their_mean
from twicetold.layers.pooling import Pooling, unit
from twicetold.layers.transformer import Transformer

BATCH = 4096  # words at once, whose tokens' states are held in memory


class Distilled:
    """A source of word vectors.

    Args:
        tokens: names the transformer, and says what it was pretrained on.
        size: D.

    Raises:
        ValueError: if there would be no dimension.
    """

    def __init__(self, tokens: ModelTokens, size: int) -> None:
        if size < 1:
            raise ValueError(f"distilled.size must be at least 1; got {size}")
        self.tokens = tokens
        self.size = size

    def vectors(self, words: Sequence[str]) -> Float[np.ndarray, "W D"]:
        """(W, D); zeros where the tokenizer knows nothing of a word.

        Raises:
            ModelUnavailable: if the transformer cannot be had, or the package `transformers` is not installed.
            ValueError: if its states have fewer dimensions than are asked for.
        """
        tokens = clone(self.tokens).fit([])
        transformer = Transformer(**tokens.shape["transformer"]).eval()
        if self.size > transformer.size:
            raise ValueError(
                f"distilled.size={self.size}, but states of {self.tokens.model} have {transformer.size} dimensions: "
                "set it to so many, or fewer"
            )
        pool, rows = Pooling("mean", transformer.size), tokens.transform(words)
        read: list[NDArray[np.float32]] = [np.zeros((0, transformer.size), np.float32)]
        with torch.inference_mode():
            for start in range(0, len(rows), BATCH):
                batch = rows.gather(np.arange(start, min(start + BATCH, len(rows))))
                pooled = unit(pool(transformer(batch), batch.offsets))  # (K,) -> (K, H) -> (B, H)
                read.append((pooled * transformer.known(batch)[:, None]).numpy())
        return principal(np.concatenate(read), self.size)


def principal(values: Float[np.ndarray, "W H"], size: int) -> Float[np.ndarray, "W D"]:
    """(W, D) the first principal components of the rows that are not zero; the others stay zero."""
    centred = about_their_mean(values).astype(np.float64)
    directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :size]  # (H, D), the widest first
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[largest, np.arange(size)])  # either sign is as good: choose one
    components: NDArray[np.float32] = (centred @ directions).astype(np.float32)
    return components
