"""A trained model in use: one encoder with its featuriser, or an ensemble, with the decisions that were made about it.

`reading` computes what a model says of texts; here a threshold and a calibration make a verdict of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.labels import DUPLICATE, Decisions
from twicetold.features.rows import Featuriser
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.reading import AnyEncoder, EncodedTexts, ReadTexts, RowsOf, several

ENCODED = 1 << 16  # texts that are encoded at once


class TrainedModel(ABC):
    """A trained model for new texts: one encoder, or an ensemble."""

    decision: Decision
    """Threshold and calibration about the primary label, chosen on validation: metrics and ensembles rest on it. What
    a verdict is about is among `decisions`."""
    as_documents: bool
    """Whether the decision was chosen on documents, and so on dot products of their vectors."""
    by_label: Decisions | None
    """Of a model of documents, its decision about each label."""

    @property
    def decisions(self) -> Decisions:
        """The decisions by label; that of labelled pairs is about `duplicate`."""
        if self.by_label is None or not self.as_documents:
            return Decisions.about(DUPLICATE, self.decision)
        return self.by_label

    @property
    def unlabelled(self) -> bool:
        """True if nobody has labelled texts like these, so that the decision is that of the generic matcher."""
        return self.decisions.of().unlabelled

    @abstractmethod
    def read(self, texts: Sequence[str]) -> ReadTexts:
        """Prepare new texts for scoring."""

    @abstractmethod
    def read_corpus(self, rows_of: RowsOf) -> ReadTexts:
        """Prepare all texts of a corpus, whose feature rows may be cached."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return (n, D) vectors whose dot products are scores (of an ensemble: up to a constant); CSR for lexical ones.

        Raises:
            TypeError: if the family cannot embed a text alone, or one text is given in place of several.
        """
        return self.read(several(texts)).search_matrices(np.arange(len(texts)))[0]

    def score(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) score of each pair; higher means more alike.

        Raises:
            ValueError: if the two sides differ in length.
            TypeError: if one text is given in place of several.
        """
        left, right = several(left), several(right)
        if len(left) != len(right):
            raise ValueError(f"expected equal numbers of left and right texts, got {len(left)} and {len(right)}")
        if not left:
            return np.empty(0, np.float32)
        numbers = np.arange(2 * len(left))
        return self.read([*left, *right]).score(numbers[: len(left)], numbers[len(left) :])


@dataclass(frozen=True)
class Scorer(TrainedModel):
    """A trained encoder with its featuriser."""

    featuriser: Featuriser
    encoder: AnyEncoder
    decision: Decision
    as_documents: bool = False
    by_label: Decisions | None = None

    def read(self, texts: Sequence[str]) -> EncodedTexts:
        """Compute the feature rows of new texts."""
        return EncodedTexts(self.encoder, self.featuriser.transform(texts), self.as_documents)

    def read_corpus(self, rows_of: RowsOf) -> EncodedTexts:
        """Take the feature rows of a corpus from the cache, or compute them."""
        return EncodedTexts(self.encoder, rows_of(self.featuriser, ""), self.as_documents)


def search_vectors(model: TrainedModel, texts: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Return (N, D) vectors of texts as queries and as documents; one object twice where the roles do not differ.

    Raises:
        TypeError: if the family scores pairs only, or one text is given in place of several.
    """
    blocks = [several(texts)[at : at + ENCODED] for at in range(0, len(texts), ENCODED)]
    pairs = [model.read(block).search_matrices(np.arange(len(block))) for block in blocks]
    if len(pairs) == 1:
        return pairs[0]
    queries, documents = (list(side) for side in zip(*pairs, strict=True))
    same = all(query is document for query, document in pairs)
    pairs, documents = [], [] if same else documents
    whole = _stacked(queries)
    return whole, whole if same else _stacked(documents)


def _stacked(blocks: list[Matrix]) -> Matrix:
    """Stack blocks, which are freed one by one."""
    if sparse.issparse(blocks[0]):
        return sparse.vstack(blocks)
    whole, start = np.empty((sum(map(len, blocks)), blocks[0].shape[1]), blocks[0].dtype), 0
    while blocks:
        block = blocks.pop(0)
        whole[start : start + len(block)] = block
        start += len(block)
    return whole
