"""Texts as sequences of a pretrained transformer's tokens, including special tokens ([CLS] ... [SEP]).

Nothing is learnt from the train texts. Tokens are numbered from 1, one more than the model's own ids; 0 is its unknown
token. The fitted state contains tokenizer and architecture, so that a saved model needs neither the model's folder nor
the hub. The weights are saved with the encoder, which is initialised with them.

Shape letters: N texts, K tokens.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from twicetold import pretrained
from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.rows import CsrRows, Declared
from twicetold.features.tokenizer_parts import loaded, token_ids

Pooled = Literal["auto", "mean", "cls"]


@dataclass(eq=False)
class ModelTokens(Declared):
    """Tokens of a pretrained transformer, in order.

    Args:
        model: folder, or name in the mirror or at the Hugging Face hub.
        pretrained_on: description of its training data; the report shows it beside every result.
        max_length: tokens of a text that are read, special ones included.
        prefix: put before each text that is not empty, such as `query: ` for E5.
        pooling: of the states of a text, by an encoder that embeds texts alone: `mean`, `cls` for the first token's,
            or `auto`, as the folder says in the format of sentence-transformers, else `mean`.
        seen: sources of our data among these, such as `quora`; None where nobody knows.

    Attributes:
        tokenizer_: as JSON of the `tokenizers` library.
        architecture_: configuration of the network, as JSON.
        unknown_: the model's id of its unknown token; None if it has none.
        special_: the model's ids of special tokens.
        pooling_: `mean` or `first`.
    """

    model: str
    pretrained_on: str
    max_length: int
    prefix: str = ""
    pooling: Pooled = "auto"
    seen: Sequence[str] | None = None
    _weights: str | None = field(default=None, init=False)
    ordered = True
    pooling_ = "mean"  # of a model of an earlier version

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Look the model up.

        Raises:
            ModelUnavailable: if it cannot be had.
            PackageMissing: if `transformers` is not installed.
            ValueError: if `pooling` is none of the above, or the folder asks for another one or for further layers.
        """
        if self.pooling not in get_args(Pooled):
            raise ValueError(f"expected one of {', '.join(get_args(Pooled))} as pooling, got {self.pooling!r:.40}")
        where = pretrained.located(self.model)
        tokenizer, config = pretrained.read(where)
        described = config.to_dict()
        described.pop("_name_or_path", None)  # a place on this machine
        self.architecture_: str = json.dumps(described, sort_keys=True)
        self.tokenizer_: str = tokenizer.backend_tokenizer.to_str()
        self.unknown_: int | None = tokenizer.unk_token_id
        self.special_: list[int] = sorted(set(tokenizer.all_special_ids) - {self.unknown_})
        pooling = pretrained.pooling(where) if self.pooling == "auto" else self.pooling
        self.pooling_ = "first" if pooling == "cls" else "mean"
        self._weights = where  # not part of the saved state: the encoder's weights begin with them and are saved
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence of numbers per text."""
        self.require_fitted()
        read = [self.prefix + text if text else text for text in texts] if self.prefix else texts
        indptr, ids = token_ids(self.tokenizer_, read, max_length=self.max_length, special=True)
        numbers = self._numbers(ids)
        return CsrRows(indptr, numbers.astype(np.int32), None, self._width())

    @property
    def shape(self) -> dict[str, Any]:
        """`width`: how many numbers there are; `transformer`: what `layers.transformer.Transformer` must know."""
        joined, width = loaded(self.tokenizer_, None).encode("a", "a"), self._width()
        if beyond := [i for i in (*joined.ids, self.unknown_ or 0) if not 0 <= i < width - 1]:
            raise ValueError(
                f"expected tokens from 0 to {width - 2}, as many as the network has, got {beyond[0]!r:.40}"
            )
        texts = joined.sequence_ids  # None for a special token, else which text a token is of
        begins, second = texts.index(0), texts.index(1)
        ends = texts[::-1].index(1)
        between = joined.ids[second - texts[:second][::-1].index(0) + ends : second]  # the first text ends anyway
        transformer = {
            "architecture": self.architecture_,
            "unknown": self.unknown_,
            "special": [1 + i for i in self.special_],
            "begins": begins,
            "between": [1 + i for i in between],
            "weights": self._weights,
            "pooling": self.pooling_,
        }
        return {"width": width, "transformer": transformer}

    def _numbers(self, ids: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return np.where(ids == (-1 if self.unknown_ is None else self.unknown_), UNKNOWN_TOKEN, ids + 1)

    def _width(self) -> int:
        """Return the number of codes the network reads: one for each of its vectors, and one for unknown tokens."""
        ids = json.loads(self.architecture_).get("vocab_size")
        if type(ids) is not int:
            raise ValueError(f"expected the number of tokens as vocab_size of the architecture, got {ids!r:.40}")
        return ids + 1
