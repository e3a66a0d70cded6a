"""A pretrained transformer over a batch of token sequences of any length.

A batch is its K tokens, concatenated, as in `sequence`. Texts are processed in groups of similar length, each padded to
its longest, with a mask, so that a text's result does not depend on its neighbours.

Shape letters: B texts, K tokens of a batch, T tokens of the longest text of a group, H dimensions of a state.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from twicetold import pretrained
from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import SparseRows
from twicetold.layers.sequence import GROUP, groups_of_like_length, padded

GROUP_GPU = 1024  # texts that are processed together on a GPU


class Transformer(nn.Module):
    """States of tokens.

    Args:
        architecture: its configuration, as JSON.
        unknown: the model's id of its unknown token, if it has one.
        special: ids of special tokens.
        begins: number of special tokens at the start of a text.
        between: ids of the tokens before a second text, in addition to those at the end of the first.
        weights: folder of the pretrained weights; None if saved ones will be loaded.
        pooling: how its authors make one vector of a text's states: a way of `layers.pooling`.
    """

    special: Tensor
    between: Tensor

    def __init__(
        self,
        *,
        architecture: str,
        unknown: int | None,
        special: Sequence[int],
        begins: int,
        between: Sequence[int],
        weights: str | None,
        pooling: str = "mean",
    ) -> None:
        super().__init__()
        self.pooling = pooling
        self.model: Any = pretrained.build(architecture, weights)
        if getattr(self.model, "pooler", None) is not None:
            self.model.pooler = None  # not used here
        self.size: int = self.model.config.hidden_size
        self.longest: int = getattr(self.model.config, "max_position_embeddings", 1 << 30)
        self.tells_texts_apart: bool = getattr(self.model.config, "type_vocab_size", 0) > 1
        self.unknown = unknown or 0
        self.begins = begins
        self.register_buffer("special", torch.tensor([UNKNOWN_TOKEN, *special]), persistent=False)
        self.register_buffer("between", torch.tensor(between, dtype=torch.int64), persistent=False)

    def forward(self, rows: SparseRows, *, second: Bool[Tensor, " K"] | None = None) -> Float[Tensor, "K H"]:
        """The last layer's state of each token.

        Args:
            rows: token ids, from `features.model_tokens`.
            second: which tokens belong to the second of two joined texts.

        Raises:
            ValueError: if a text is longer than the model's limit.
        """
        ids = torch.where(rows.indices == UNKNOWN_TOKEN, self.unknown, rows.indices - 1)
        states, places = [torch.zeros(0, self.size, device=ids.device)], [ids[:0]]
        size = GROUP if ids.device.type == "cpu" else GROUP_GPU
        for _, place in groups_of_like_length(rows.offsets, size, rows.lengths):
            if place.shape[1] > self.longest:
                raise ValueError(
                    f"a sequence of {place.shape[1]} tokens is longer than the {self.longest} that the model reads: "
                    "lower features.max_length"
                )
            inside = place < len(ids)  # (texts, T)
            kinds = (
                {"token_type_ids": padded(second.long(), place)}
                if second is not None and self.tells_texts_apart
                else {}
            )
            read = self.model(input_ids=padded(ids, place), attention_mask=inside.long(), **kinds)
            states.append(read.last_hidden_state[inside])  # (texts, T, H) -> (tokens, H)
            places.append(place[inside])
        back = torch.empty_like(ids)
        back[torch.cat(places)] = torch.arange(len(ids), device=ids.device)
        return torch.cat(states).index_select(0, back)

    def known(self, rows: SparseRows) -> Bool[Tensor, " B"]:
        """(B,) which texts have a token of the model's vocabulary; the embedding of the others is zero."""
        return rows.rows_with(~torch.isin(rows.indices, self.special))
