"""Scores and search vectors of texts that an encoder reads, for validation, evaluation and models in use.

A family whose scores are dot products embeds each text once; any other family scores batches of pairs.
Documents are compared each with each, so by dot products whatever the family: a family with another score ranks them by
its embeddings, and a model that was trained on documents scores pairs in the same way.

Shape letters: N texts of the corpus, P pairs, M documents of a split, D columns of the search vectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.features.rows import CsrRows, Featuriser
from twicetold.neighbours.nearest import Matrix, row_dots
from twicetold.trained.columns import ColumnEncoder

if TYPE_CHECKING:
    from twicetold.trained.neural import Neural

AnyEncoder: TypeAlias = Any
"""A `ColumnEncoder`, or a family's module (`models.protocol.Encoder`), whose type only PyTorch knows."""
SAMPLE = 20_000
"""Documents of a sample that is compared each with each, as by an epoch's validation: their pairs grow with the square,
and 84,000 take 40 s of a core."""


@dataclass(frozen=True)
class TextVectors:
    """Search vectors of some texts of a corpus, kept so that each text is encoded once.

    Args:
        texts: (M,) row numbers, ascending.
        queries: (M, D) vectors as queries, dense or CSR.
        documents: (M, D) vectors as documents; the same object if the two roles do not differ.
    """

    texts: NDArray[np.int64]
    queries: Matrix
    documents: Matrix

    def of(self, rows: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """Return query and document vectors of the given rows, which must be among the texts."""
        if np.array_equal(rows, self.texts):
            return self.queries, self.documents
        places = np.searchsorted(self.texts, rows)
        queries = self.queries[places]
        return queries, queries if self.documents is self.queries else self.documents[places]


def in_use(encoder: AnyEncoder) -> "ColumnEncoder | Neural":
    """Return an encoder for feature rows: by NumPy itself, or by PyTorch."""
    if isinstance(encoder, ColumnEncoder):
        return encoder
    from twicetold.trained.neural import Neural  # takes PyTorch, which the others do without

    return Neural(encoder)


def score_pairs(
    encoder: AnyEncoder,
    rows: CsrRows,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    *,
    as_documents: bool = False,
    vectors: TextVectors | None = None,
) -> NDArray[np.float32]:
    """Return (P,) score of each pair of texts; higher means more alike.

    Args:
        encoder: any family.
        rows: feature rows of the whole corpus.
        left: (P,) row numbers.
        right: (P,) row numbers.
        as_documents: score as search vectors rank documents, which is not the score of every family.
        vectors: of all these texts, where they have been computed already.
    """
    used = in_use(encoder)
    if not (as_documents or used.score_is_dot_product):
        return used.score_pairs(rows, left, right)
    if vectors is None:
        texts = np.unique(np.concatenate([left, right]))
        vectors = TextVectors(texts, *used.search_matrices(rows, texts))
    ends = (np.searchsorted(vectors.texts, side) for side in (left, right))
    return row_dots(vectors.queries, next(ends), vectors.documents, next(ends)).astype(np.float32)


class ReadTexts(Protocol):
    """Texts that a model has read, known by their numbers from here on."""

    @property
    def searchable(self) -> bool:
        """True if texts have search vectors; if not, the model scores pairs only."""

    @property
    def score_is_dot_product(self) -> bool:
        """True if the score of a pair is the dot product of its texts' search vectors."""

    def score(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (P,) score of each pair of texts; higher means more alike."""

    def search_matrices(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """Return (M, D) search vectors of texts, as queries and as documents; one object twice if the roles are equal.

        Raises:
            TypeError: if there are none.
        """

    def keeping(self, texts: NDArray[np.int64]) -> "ReadTexts":
        """Return the same, with the search vectors of these texts encoded once and kept, where there are any.

        Args:
            texts: (M,) ascending; no other text can be asked for afterwards.
        """


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as feature rows in front of one encoder.

    Args:
        encoder: any family.
        rows: feature rows of the texts.
        as_documents: score as documents are ranked, see `score_pairs`.
        kept: search vectors that are not computed again, see `ReadTexts.keeping`.
    """

    encoder: AnyEncoder
    rows: CsrRows
    as_documents: bool = False
    kept: TextVectors | None = None

    @property
    def searchable(self) -> bool:
        """See `ReadTexts`."""
        return in_use(self.encoder).searchable

    @property
    def score_is_dot_product(self) -> bool:
        """See `ReadTexts`."""
        return in_use(self.encoder).score_is_dot_product or (self.as_documents and self.searchable)

    def score(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `ReadTexts`."""
        return score_pairs(self.encoder, self.rows, left, right, as_documents=self.as_documents, vectors=self.kept)

    def pair_features(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (P, F) features of each pair; F = 0 of a family that has none."""
        return in_use(self.encoder).pair_features(self.rows, left, right)

    def search_matrices(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """See `ReadTexts`."""
        return in_use(self.encoder).search_matrices(self.rows, texts) if self.kept is None else self.kept.of(texts)

    def keeping(self, texts: NDArray[np.int64]) -> "EncodedTexts":
        """See `ReadTexts`."""
        return replace(self, kept=TextVectors(texts, *self.search_matrices(texts))) if self.searchable else self


def sampled(texts: NDArray[np.int64], at_most: int | None) -> NDArray[np.int64]:
    """Return the texts, ascending, or a random sample of `at_most` of them, always the same."""
    if at_most is None or len(texts) <= at_most:
        return texts
    return np.sort(np.random.default_rng(0).choice(texts, at_most, replace=False))


RowsOf: TypeAlias = Callable[[Featuriser, str], CsrRows]
"""From a featuriser, and the name of the member of an ensemble that it belongs to (or ""), to the rows of a corpus."""


def several(texts: Sequence[str]) -> Sequence[str]:
    """Return the texts.

    Raises:
        TypeError: if one text is given in place of several.
    """
    if isinstance(texts, str):
        raise TypeError(f"expected a list of texts, got one text: put it in a list, [{texts!r:.80}]")
    return texts
