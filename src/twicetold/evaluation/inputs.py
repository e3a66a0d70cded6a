"""Inputs of evaluation: scores of labelled pairs, or vectors of labelled documents.

Shape letters: P pairs, M documents, d dimensions.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Vectors: TypeAlias = Any
"""(M, d) float32 array, or a SciPy CSR matrix of the same shape."""

UNKNOWN = -1  # group code of a document whose group is not known


@dataclass(frozen=True)
class ScoredPairs:
    """Scores and labels of pairs of texts.

    Args:
        score: (P,) one number per pair, higher = more alike.
        label: (P,) 0 or 1, or a grade.

    Raises:
        ValueError: if the lengths differ, there is no pair, or a number is not finite.
    """

    score: NDArray[np.floating[Any]]
    label: NDArray[Any]

    def __post_init__(self) -> None:
        if self.score.ndim != 1 or self.score.shape != self.label.shape:
            raise ValueError(f"expected one score per label, got shapes {self.score.shape} and {self.label.shape}")
        finite(self.score, "scores")
        finite(self.label, "labels")

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True)
class DocumentVectors:
    """Documents as vectors, similarity(i, j) = ⟨left_i, right_j⟩, with the groups they belong to.

    The similarity is symmetric by contract: pairs are read once, with i < j. For cosine, `right is left` and
    rows have unit length; a symmetrised BM25 has stacked columns on each side.

    Args:
        left: (M, d) float32 array or CSR matrix.
        right: the same shape and kind.
        groups: name -> (M,) int64 codes, -1 = unknown: such a document takes part in no pair of that label.

    Raises:
        ValueError: if the parts do not fit each other or a number is not finite.
    """

    left: Vectors
    right: Vectors
    groups: Mapping[str, NDArray[np.int64]]

    def __post_init__(self) -> None:
        if self.left.ndim != 2 or self.left.shape != self.right.shape:
            raise ValueError(f"expected left and right of one shape (M, d), got {self.left.shape}, {self.right.shape}")
        if sparse.issparse(self.left) != sparse.issparse(self.right):
            raise ValueError("expected left and right to be both dense or both sparse")
        if not self.groups:
            raise ValueError("documents need at least one group (category, story) to be evaluated against")
        for name, codes in self.groups.items():
            if codes.shape != (len(self),):
                raise ValueError(f"group {name!r} has shape {codes.shape}, but there are {len(self)} documents")
        for side in (self.left,) if self.right is self.left else (self.left, self.right):
            finite(side.data if sparse.issparse(side) else side, "vectors", empty=sparse.issparse(side))

    def __len__(self) -> int:
        return int(self.left.shape[0])

    def take(self, rows: NDArray[np.int64]) -> "DocumentVectors":
        """Return the documents at `rows`, in that order."""
        left = self.left[rows]
        right = left if self.right is self.left else self.right[rows]
        return DocumentVectors(left, right, {name: codes[rows] for name, codes in self.groups.items()})

    def by_known(self) -> Iterator[tuple[NDArray[np.int64], "DocumentVectors"]]:
        """Yield the documents whose group is known, with their rows, once for each set of groups known for the same.

        Raises:
            ValueError: if a group is unknown for all documents.
        """
        together: dict[bytes, list[str]] = {}
        for name, codes in self.groups.items():
            together.setdefault((codes != UNKNOWN).tobytes(), []).append(name)
        for names in together.values():
            groups = {name: self.groups[name] for name in names}
            rows = np.flatnonzero(groups[names[0]] != UNKNOWN)
            if rows.size == 0:
                raise ValueError(f"group {names[0]!r} is unknown for every document: leave it out of the groups")
            part = DocumentVectors(self.left, self.right, groups)
            yield rows, part if len(rows) == len(self) else part.take(rows)


def finite(values: ArrayLike, what: str, *, empty: bool = False) -> NDArray[np.float64]:
    """Return `values` as float64, after a check that all are finite.

    Raises:
        ValueError: if there are none (unless `empty`) or one is NaN or infinite.
    """
    array = np.asarray(values)
    if array.size == 0 and not empty:
        raise ValueError(f"there are no {what} to evaluate")
    bad = array.size - int(np.isfinite(array).sum())
    if bad:
        raise ValueError(
            f"{bad} of {array.size} {what} are NaN or infinite: training may have diverged "
            "(try a lower learning rate or gradient clipping), or an input row is broken"
        )
    return array.astype(np.float64)


def is_number(value: Any) -> TypeGuard[float]:
    """Return true if a value from JSON is a finite number: no truth value, no whole number beyond a float's range."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def described(value: Any) -> str:
    """Describe a value from JSON that is not what it should be, for a message: texts and large ones by kind."""
    if value is None or isinstance(value, (bool, float)) or (type(value) is int and abs(value) < 1 << 63):
        return repr(value)
    if isinstance(value, int):
        return f"a whole number of {value.bit_length()} bits"
    kinds: dict[type, str] = {str: "text", list: "a list", dict: "an object"}
    return f"{kinds.get(type(value), type(value).__name__)} of length {len(value)}"


def binary(labels: ArrayLike) -> NDArray[np.bool_]:
    """Return `labels` as booleans.

    Raises:
        ValueError: if a label is neither 0 nor 1, or only one of the two occurs.
    """
    array = np.asarray(labels)
    if not np.isin(array, (0, 1)).all():
        raise ValueError(f"expected labels 0 or 1, got also {np.setdiff1d(array, (0, 1))[:3].tolist()}")
    truth: NDArray[np.bool_] = array.astype(bool)
    if truth.all() or not truth.any():
        raise ValueError(f"expected pairs of both classes, but all {truth.size} labels are {int(truth[0])}")
    return truth


def finest_clusters(groups: Mapping[str, NDArray[np.int64]], classes: Sequence[str]) -> NDArray[np.int64]:
    """Return (M,) cluster of each document: its code in the finest group that is not a class, or a cluster of its own.

    Args:
        groups: name -> (M,) codes; at least one.
        classes: groups that are classes to predict.
    """
    name = finest_group(groups, classes)
    finest = np.full_like(next(iter(groups.values())), UNKNOWN) if name is None else groups[name]
    return np.where(finest == UNKNOWN, finest.max() + 1 + np.arange(len(finest)), finest)


def finest_group(groups: Mapping[str, NDArray[np.int64]], classes: Sequence[str]) -> str | None:
    """Return the name of the group with the most codes that is not a class, if there is one.

    Args:
        groups: name -> (M,) codes.
        classes: groups that are classes to predict.
    """
    clusters = [name for name in groups if name not in classes]
    return max(clusters, key=lambda name: len(np.unique(groups[name])), default=None)


def group_sizes(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (M,) number of documents that share each document's code, itself included."""
    _, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray(sizes[place])
