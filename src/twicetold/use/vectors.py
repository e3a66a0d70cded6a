"""Vectors that a person brings: of these texts, or of tokens, from which vectors of any text are summed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from twicetold.tables.columns import BadValues
from twicetold.tables.vectors import matrix_in, unit_rows
from twicetold.trained.given_vectors import GivenVectors

Vectors: TypeAlias = Any
"""(n, D) numbers, a column of n lists, or the path of a file of `numpy.save` or of a folder of model2vec."""


def folder_in(vectors: Vectors) -> Path | None:
    """The folder that the vectors of tokens are in; None if there is none, and the vectors are those of the texts."""
    return Path(vectors) if isinstance(vectors, str | Path) and Path(vectors).is_dir() else None


def given(texts: Sequence[str], vectors: Vectors) -> GivenVectors:
    """The model of n texts with vectors of their own.

    Raises:
        FileNotFoundError: if there is no such file.
        TypeError: as `unit_rows`.
        ValueError: if there is no text; as `matrix_in` and `unit_rows`.
    """
    if not texts:
        raise ValueError("there are no texts to compare")
    if not isinstance(vectors, str | Path):
        return GivenVectors(texts, unit_rows(vectors, count=len(texts)))
    try:
        return GivenVectors(texts, unit_rows(matrix_in(Path(vectors)), count=len(texts), name=str(vectors)))
    except BadValues as error:
        raise ValueError(f"{vectors}: {error}") from error
