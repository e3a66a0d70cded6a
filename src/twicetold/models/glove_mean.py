"""Mean of pretrained word vectors, compared by cosine. Nothing is trained.

Pennington, Socher and Manning, GloVe: Global Vectors for Word Representation, EMNLP 2014; used as a
baseline in Tang and Aw, FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching,
2020 (arXiv:2010.05523), and elsewhere. With the featuriser's `sif_a` and `remove_components` of 1 it is the
baseline of Arora, Liang and Ma, ICLR 2017.

Shape letters: V tokens of the vocabulary, E dimensions.
"""

from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Float

from twicetold.encoding import SparseRows
from twicetold.layers.vector_mean import VectorMean


class GloveMean(VectorMean):
    """Sum of pretrained vectors; words without a vector are ignored.

    Args:
        width: V, numbers of tokens.
        embedding: E, dimensions of the pretrained vectors.
        remove_components: how many directions that all train texts share are removed; 0 for a plain mean.
        vectors: (V, E) from the featuriser; None only where a trained model, which contains them, is loaded.

    Raises:
        ValueError: if the vectors have another shape.
    """

    def __init__(
        self, *, width: int, embedding: int, remove_components: int, vectors: Float[np.ndarray, "V E"] | None = None
    ) -> None:
        super().__init__(embedding=embedding, remove_components=remove_components)
        given = np.zeros((width, embedding), np.float32) if vectors is None else vectors
        if given.shape != (width, embedding):
            raise ValueError(
                f"the pretrained vectors have {given.shape[1]} dimensions, but the encoder wants {embedding}: "
                f"set encoder.embedding={given.shape[1]}"
            )
        self.register_buffer("table", torch.from_numpy(np.asarray(given, np.float32)))

    def settle(self, texts: Iterable[SparseRows]) -> None:
        """Refuse texts without a known word as `VectorMean` does.

        Raises:
            ValueError: if no word of train has a vector.
        """
        if not self.table.any():
            raise ValueError(
                "no word of the train texts has a pretrained vector: set features.vectors to a file in GloVe's text "
                "format, of the texts' language, and features.lower_case as its words are written"
            )
        super().settle(texts)
