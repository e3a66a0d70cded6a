"""The functions of a trained model, the teacher, that mining calls.

`twicetold_lab.scoring.teacher` makes them for a model in a run folder, so that mining imports no model.

Shape letters: M texts, P pairs, D columns of the search vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.nearest import Matrix

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Teacher:
    """Functions of the texts of one corpus, which are given by their numbers."""

    vectors: Callable[[Numbers], tuple[Matrix, Matrix]]
    """(M, D) search vectors of texts, as queries and as documents; the same object twice if the two are equal."""
    probability: Callable[[Numbers, Numbers], NDArray[np.float64]]
    """(P,) probability, calibrated on validation, that the two texts are duplicates."""
