"""Pretrained static vectors: the sum of the vectors of a text's tokens, compared by cosine.

The table comes ready-made: WordLlama (Miller 2024), from the token table of a large language model; model2vec (Tulkens
and van Dongen 2024), from a sentence transformer; `StaticEmbedding` of sentence-transformers (Aarsen 2025), from random
numbers. Encoding a text is one sum of rows.

    v = Σ_t x_t E[t]                       x_t: weight of token t, from the featuriser; 1 in a plain mean
    s(l, r) = cos(v_l, v_r)                the same for the sum and the mean

Without an objective the vectors are used as they are. With one, what is `trained` is

    table:          E                      every number of it
    low_rank:       E = E₀ + A B           A: (V, R), 0 at the start; B: (R, D) (Hu et al., LoRA, ICLR 2022)
    token_weights:  E[t] = exp(w_t) E₀[t]  one number per token, 0 at the start

Shape letters: B texts, V columns, T of them tokens with a vector, D dimensions, R rank.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.corruption import drop_entries
from twicetold.layers.first_layer import product
from twicetold.layers.two_tower import TwoTower


class PretrainedStatic(TwoTower):
    """A table of vectors that is not learnt from nothing.

    Args:
        width: V.
        embedding: D; fewer than the vectors have keeps the first ones, as vectors with the Matryoshka property allow
            (Kusupati et al., NeurIPS 2022). More are possible beside columns without a vector, such as letters.
        init: `random` draws the table anew with the standard deviation of the vectors, for comparison.
        trained: what is trained.
        rank: R of `low_rank`.
        input_dropout: share of tokens that are dropped in training.
        vectors: (T, D or more) of the first T columns, from the featuriser; None only where a trained model, which
            contains them, is loaded.

    Raises:
        ValueError: if the vectors have fewer dimensions, or a setting has another value than the above.
    """

    def __init__(
        self,
        *,
        width: int,
        embedding: int,
        init: str,
        trained: str,
        rank: int,
        input_dropout: float,
        vectors: Float[np.ndarray, "T _"] | None = None,
    ) -> None:
        super().__init__()
        table = torch.zeros(width, embedding) if vectors is None else _start(vectors, width, embedding, init)
        self.input_dropout = input_dropout
        match trained:
            case "table":
                self.table = nn.Parameter(table)
            case "low_rank":
                self.register_buffer("table", table)
                self.change = nn.Parameter(torch.zeros(width, rank))  # A
                self.directions = nn.Parameter(torch.randn(rank, embedding) * rank**-0.5)  # B
            case "token_weights":
                self.register_buffer("table", table)
                self.log_weight = nn.Parameter(torch.zeros(width))  # w
            case _:
                raise ValueError(f"expected table, low_rank or token_weights as encoder.trained, got {trained!r:.80}")
        self.trained = trained

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, D); 0 for a text without a known token."""
        features = drop_entries(features, self.input_dropout, self.training)
        if self.trained == "token_weights":
            values = features.values_or_ones() * self.log_weight[features.indices].exp()  # (K,)
            features = SparseRows(features.indices, features.offsets, values, features.width)
        summed = product(features, self.table, but=UNKNOWN_TOKEN)  # sparse (B, V) @ (V, D) -> (B, D)
        if self.trained == "low_rank":
            summed = summed + product(features, self.change, but=UNKNOWN_TOKEN) @ self.directions
        return Encoding(summed)


def _start(vectors: Float[np.ndarray, "T _"], width: int, embedding: int, init: str) -> Float[Tensor, "V D"]:
    """Return the table at the start; the unknown token has no vector.

    Columns that have no pretrained vector are random directions, of the vectors' mean length. Beside such columns, the
    vectors may have fewer dimensions than the table: the others are 0.
    """
    if vectors.shape[1] < embedding and width == len(vectors):
        raise ValueError(
            f"the pretrained vectors have {vectors.shape[1]} dimensions, and the encoder wants {embedding}: set "
            f"encoder.embedding={vectors.shape[1]} or less"
        )
    table = torch.from_numpy(np.ascontiguousarray(vectors[:, :embedding], np.float32))
    table = torch.nn.functional.pad(table, (0, embedding - table.shape[1]))
    match init:
        case "pretrained":
            table = table.clone()
        case "random":
            table = torch.randn_like(table) * table[UNKNOWN_TOKEN + 1 :].std()
            table[UNKNOWN_TOKEN] = 0
        case _:
            raise ValueError(f"expected pretrained or random as encoder.init, got {init!r:.80}")
    length = table[UNKNOWN_TOKEN + 1 :].norm(dim=1).mean()
    return torch.cat([table, torch.randn(width - len(table), embedding) * length * embedding**-0.5])
