"""A model of some texts whose vectors were made elsewhere: it compares these texts, by cosine, and no others.

Its threshold is that of a decision file (`threshold_record.read_vector_decision`), or that of a model that was
`fitted`, as nothing is known of what a cosine means.

Shape letters: N texts, M of them, D numbers of a vector, P pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.labels import Decisions
from twicetold.neighbours.nearest import Matrix, row_dots
from twicetold.tables.columns import BadValues
from twicetold.tables.vectors import matrix_in, unit_rows
from twicetold.trained.fitted import unlabelled
from twicetold.trained.fitted_static import FittedStatic
from twicetold.trained.reading import RowsOf
from twicetold.trained.scoring import TrainedModel

Vectors: TypeAlias = Any
"""(n, D) numbers, a column of n lists, a function from a list of n texts to either, or the path of a file of
`numpy.save` or of a folder of model2vec."""
NO_VECTOR = -1


@dataclass(frozen=True)
class TextsWithVectors:
    """Texts by their numbers; see `ReadTexts`.

    Args:
        texts: N of them.
        rows: (N,) row of the vector of each; `NO_VECTOR` if it has none.
        vectors: of length 1.
    """

    texts: Sequence[str]
    rows: NDArray[np.int64]
    vectors: NDArray[np.float32]

    @property
    def searchable(self) -> bool:
        """They have vectors."""
        return True

    @property
    def score_is_dot_product(self) -> bool:
        """It is the cosine."""
        return True

    def score(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (P,) cosine of each pair.

        Raises:
            ValueError: if a text has no vector.
        """
        return row_dots(self.vectors, self._rows(left), self.vectors, self._rows(right)).astype(np.float32)

    def search_matrices(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """Return (M, D) vectors, twice the same object.

        Raises:
            ValueError: if a text has none.
        """
        vectors = self.vectors[self._rows(texts)]
        return vectors, vectors

    def keeping(self, texts: NDArray[np.int64]) -> Self:
        """Return itself: nothing is computed."""
        return self

    def _rows(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = self.rows[texts]
        missing = np.flatnonzero(rows == NO_VECTOR)
        if len(missing):
            raise ValueError(
                f"there is no vector for the text {self.texts[int(texts[missing[0]])]!r:.80}: vectors that were made "
                f"elsewhere are those of {len(self.vectors):,} texts, and no others can be compared"
            )
        return rows


class GivenVectors(TrainedModel):
    """See the head of this module.

    Args:
        texts: N of them; of equal ones the first counts.
        vectors: (N, D) of length 1.
        decisions: what their cosine means; None: nobody has said so.
    """

    as_documents = True

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32], decisions: Decisions | None = None) -> None:
        count = len(texts)
        self._place = dict(zip(map(str.strip, reversed(texts)), range(count - 1, -1, -1), strict=True))
        self._vectors = vectors
        if decisions is None:
            distinct = np.sort(np.fromiter(self._place.values(), np.int64))
            decisions = unlabelled(None, vectors[distinct], [texts[row] for row in distinct.tolist()])[1]
        self.decision, self.by_label = decisions.selected, decisions

    def read(self, texts: Sequence[str]) -> TextsWithVectors:
        """Look their vectors up."""
        rows = np.fromiter(map(self._place.get, map(str.strip, texts), repeat(NO_VECTOR)), np.int64, len(texts))
        return TextsWithVectors(texts, rows, self._vectors)

    def read_corpus(self, rows_of: RowsOf) -> TextsWithVectors:
        """Raise TypeError: there are no features."""
        raise TypeError("vectors that were made elsewhere are of some texts, not of a corpus")


def folder_in(vectors: Vectors) -> Path | None:
    """Find the folder that the vectors of tokens are in; None if there is none, and the vectors are those of texts."""
    return Path(vectors) if isinstance(vectors, str | Path) and Path(vectors).is_dir() else None


def vectors_of(texts: Sequence[str], vectors: Vectors) -> NDArray[np.float32]:
    """Return (n, D) vectors of n texts, of length 1.

    Raises:
        FileNotFoundError: if there is no such file.
        TypeError: as `unit_rows`.
        ValueError: if there is no text; as `matrix_in` and `unit_rows`.
    """
    if not texts:
        raise ValueError("there are no texts to compare")
    if callable(vectors):
        vectors = vectors(list(texts))
    elif (folder := folder_in(vectors)) is not None:
        vectors = FittedStatic.to(texts, folder).vectors[0]
    if not isinstance(vectors, str | Path):
        return unit_rows(vectors, count=len(texts))
    try:
        return unit_rows(matrix_in(Path(vectors)), count=len(texts), name=str(vectors))
    except BadValues as error:
        raise ValueError(f"{vectors}: {error}") from error
