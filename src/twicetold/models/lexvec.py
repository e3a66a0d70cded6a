"""LexVec: mean of word vectors whose products with context vectors are the words' associations.

Salle, Idiart and Villavicencio, Matrix Factorization using Window Sampling and Negative Sampling for Improved Word
Representations, ACL 2016 (arXiv:1606.00819); the matrix of positive pointwise mutual information is factorised,

    ⟨v_w, u_c⟩ ≈ PPMI_wc                   `features.word_associations`

by the `lexvec` objective, which meets an entry as often as its words are neighbours or noise. GloVe factorises entries
of neighbours alone, and word2vec's negative sampling a matrix that it never makes; here zeros are entries as well.

    v_w = E[w]                             of a word
    embedding = Σ_w x_w v_w                of a text, compared by cosine

No label is used.

Shape letters: C words of the vocabulary, P pairs with an association, E dimensions.
"""

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from twicetold.encoding import Encoding, SparseRows, WordsInContext
from twicetold.layers.vector_mean import AssociatedWords, SkipGramVectors


class LexVec(SkipGramVectors):
    """One vector per word.

    Args:
        width: numbers of words, with one for unknown words, which are ignored.
        embedding: E, dimensions of a vector.
        remove_components: how many directions that all train texts share are removed; 0 for a plain mean.
        counts: (width,) how often each word occurs in the train texts, from the featuriser.
        pairs: (P,) w · width + c of each pair of a word and a neighbour, ascending; None where a trained model will be
            loaded.
        values: (P,) their associations.
    """

    pairs: Tensor
    values: Tensor

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        remove_components: int,
        counts: Int64[np.ndarray, " C"],
        pairs: Int64[np.ndarray, " P"] | None = None,
        values: Float[np.ndarray, " P"] | None = None,
    ) -> None:
        super().__init__(width=width, embedding=embedding, remove_components=remove_components, counts=counts)
        # Not saved: only training reads them. Before them an entry that is no pair, so that there is one.
        given = np.empty(0, np.int64) if pairs is None else pairs, np.empty(0, np.float32) if values is None else values
        for name, none, known in zip(("pairs", "values"), (-1, 0), given, strict=True):
            entries = np.concatenate([np.array([none], known.dtype), known])
            self.register_buffer(name, torch.from_numpy(entries), persistent=False)

    def encode(self, features: SparseRows) -> Encoding:
        """Embed; in training also return `AssociatedWords`."""
        encoding = super().encode(features)
        if not isinstance(words := encoding.extra, WordsInContext):
            return encoding
        return Encoding(encoding.embedding, AssociatedWords(**vars(words), pairs=self.pairs, values=self.values))
