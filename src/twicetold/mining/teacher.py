"""What mining asks of a trained model, the teacher: search vectors, similarities and probabilities.

`twicetold.teacher` implements it for a model in a run folder, so that mining imports no model.

Shape letters: M texts, P pairs, D columns of the search vectors.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from twicetold.search import Matrix


class Teacher(Protocol):
    """Answers about texts of one corpus, by their numbers."""

    def vectors(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """(M, D) search vectors of texts, as queries and as documents; one object twice if the two are the same."""
        ...

    def similarity(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """(P,) dot products of the search vectors of `left` as queries and `right` as documents."""
        ...

    def probability(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        """(P,) calibrated probability that two texts say the same."""
        ...
