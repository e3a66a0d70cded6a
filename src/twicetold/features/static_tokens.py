"""Texts as tokens of pretrained static vectors: each token has one vector, whatever stands beside it.

A folder of model2vec (Tulkens and van Dongen 2024) or of sentence-transformers' `StaticEmbedding`, or WordLlama's two
files, has a tokenizer and a table with a row per token. Tokens are numbered from 1, one more than the tokenizer's own
ids; 0 is its unknown token, which has no vector. No special token is added to a text. The fitted state contains
the tokenizer, so that a saved model needs no folder; the vectors are saved with the encoder.

Shape letters: N texts, K tokens, T tokens of the vocabulary, D dimensions.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from twicetold import pretrained
from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.rows import CsrRows, Declared
from twicetold.features.token_weights import UNKNOWN_NAME, smooth_weights, zipf_weights
from twicetold.features.tokenizer_parts import loaded, token_ids

Weighting = Literal["none", "sif", "zipf"]
SUBFOLDER = "0_StaticEmbedding"  # where sentence-transformers has the files
TABLES = ("embeddings", "embedding.weight")  # the table's name: model2vec's, and sentence-transformers' and WordLlama's


@dataclass(eq=False)
class StaticTokens(Declared):
    """Tokens of pretrained static vectors, in order.

    Args:
        model: folder with tokenizer.json and model.safetensors, or its name in the mirror or at the Hugging Face hub.
        pretrained_on: description of the vectors' training data; the report shows it beside every result.
        max_length: tokens of a text that are read; None for all. As in model2vec, a text is first cut to so many times
            the characters of a token of median length.
        weighting: of tokens, beside the weights that the folder may have. `sif`: smooth inverse frequency in the train
            texts; `zipf`: by the place in the vocabulary (`zipf_weights`).
        sif_a: a of `sif`.
        seen: sources of our data among the training data, such as `quora`; None where nobody knows.

    Attributes:
        tokenizer_: as JSON of the `tokenizers` library.
        unknown_: the tokenizer's id of its unknown token; None if it has none.
        width_: T + 1.
        characters_: of a text that are read; None for all.
        weights_: (T + 1,) float32 of each number, or None where all are 1.
    """

    model: str
    pretrained_on: str
    max_length: int | None = None
    weighting: Weighting = "none"
    sif_a: float = 0.001
    seen: Sequence[str] | None = None
    _vectors: NDArray[np.float32] | None = field(default=None, init=False)
    ordered = True

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Read the folder; with `sif`, count the tokens of the train texts.

        Raises:
            ModelUnavailable: if it cannot be had.
            ValueError: if its files are of another kind, or `weighting` is none of the above.
        """
        folder = _folder(self.model)
        self.tokenizer_: str = (folder / "tokenizer.json").read_text(encoding="utf-8")
        vectors, weights = _table(folder / "model.safetensors")
        self.unknown_: int | None = _unknown(self.tokenizer_)
        self.width_: int = len(vectors)
        self.characters_: int | None = None
        if self.max_length is not None:
            self.characters_ = self.max_length * int(median(map(len, self._vocabulary())))
        self.weights_: NDArray[np.float32] | None = None
        further = self._weighting(texts)
        if weights is not None or further is not None:
            self.weights_ = np.ones(self.width_, np.float32)
            self.weights_[1:] *= 1 if weights is None else weights
            self.weights_ *= 1 if further is None else further
        self._vectors = vectors  # not part of the saved state: the encoder's weights are
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence of numbers per text, with weights if tokens have some."""
        self.require_fitted()
        indptr, numbers = self._numbers(texts)
        if self.weights_ is None:
            return CsrRows(indptr, numbers, None, self.width_)
        if self.weights_.shape != (self.width_,) or self.weights_.dtype != np.float32:
            raise ValueError(
                f"expected {self.width_} float32 as weights_, got {self.weights_.shape} of {self.weights_.dtype}"
            )
        return CsrRows(indptr, numbers, self.weights_[numbers], self.width_)

    @property
    def shape(self) -> dict[str, Any]:
        """`width`: how many numbers there are; `vectors`, (width, D), where they have just been read.

        The unknown token has a row of zeros there.
        """
        return {"width": self.width_} | ({} if self._vectors is None else {"vectors": self._vectors})

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) the tokens in column order, as the tokenizer writes them."""
        names = [UNKNOWN_NAME] * self.width_
        for token, i in self._vocabulary().items():
            if 0 <= i < self.width_ - 1 and i != self.unknown_:
                names[i + 1] = token
        return np.array(names, object)

    def _vocabulary(self) -> dict[str, int]:
        vocabulary: dict[str, int] = loaded(self.tokenizer_, self.max_length).get_vocab()
        return vocabulary

    def _numbers(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return (N + 1,) where each text's tokens begin, and their (K,) numbers."""
        read = [text[: self.characters_] for text in texts]
        indptr, ids = token_ids(self.tokenizer_, read, max_length=self.max_length, special=False)
        unknown = (ids >= self.width_ - 1) | (ids == (-1 if self.unknown_ is None else self.unknown_))
        ids += 1  # in place, as there are many
        ids[unknown] = UNKNOWN_TOKEN
        return indptr, ids.view(np.int32)

    def _weighting(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Return (width,) weights of the numbers by how frequent they are, if wanted."""
        match self.weighting:
            case "none":
                return None
            case "zipf":
                return np.pad(zipf_weights(self.width_ - 1), (1, 0))
            case "sif":
                return smooth_weights(np.bincount(self._numbers(texts)[1], minlength=self.width_), self.sif_a)
        raise ValueError(f"expected none, sif or zipf as weighting, got {self.weighting!r}")


def _folder(model: str) -> Path:
    """Return the folder of a model's files, which must exist."""
    located = pretrained.folder_of(pretrained.located(model))
    for folder in (located, located / SUBFOLDER):
        if (folder / "tokenizer.json").is_file() and (folder / "model.safetensors").is_file():
            return folder
    raise pretrained.ModelUnavailable(
        f"expected a folder with tokenizer.json and model.safetensors as features.model, got {model!r}: "
        "`python pipelines/download_pretrained.py pretrained=wordllama` makes one; more is in the guide "
        "to ready-made vectors"
    )


def _table(file: Path) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Return (T + 1, D) zeros and vectors of the tokens, and (T,) weights, which a folder of model2vec may have."""
    try:
        with safe_open(file, framework="numpy") as tensors:
            names = set(tensors.keys())
            if not (tables := [name for name in TABLES if name in names]):
                raise ValueError(f"expected {' or '.join(TABLES)} in {file}, got {sorted(names)!r:.80}")
            table = tensors.get_tensor(tables[0])
            weights = tensors.get_tensor("weights").astype(np.float32) if "weights" in names else None
            if "mapping" in names:  # tokens share vectors: each gets a copy of its own
                table = table[tensors.get_tensor("mapping")]
    except SafetensorError as error:
        raise ValueError(f"expected vectors in the format safetensors in {file}: {error}") from error
    if table.ndim != 2 or (weights is not None and weights.shape != table.shape[:1]):
        raise ValueError(
            f"expected a vector and at most one weight per token in {file}, got vectors {table.shape}"
            f"{'' if weights is None else f' and weights {weights.shape}'}"
        )
    vectors = np.zeros((len(table) + 1, table.shape[1]), np.float32)
    vectors[1:] = table
    return vectors, weights


def _unknown(described: str) -> int | None:
    """Return the id of a tokenizer's unknown token."""
    model = json.loads(described)["model"]
    token = model.get("unk_token")
    unknown: int | None = model.get("unk_id") if token is None else model["vocab"][token]
    return unknown
