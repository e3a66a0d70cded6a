"""Feature rows of a whole corpus in compressed sparse row form, and batches gathered from them.

The rows are three flat arrays, memory-mapped from disk. A batch of B rows is one vectorised gather for any B, and rows
are never dense.

Shape letters: N rows, K stored entries, B rows of a batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.files import write_folder

if TYPE_CHECKING:
    from twicetold.encoding import SparseRows

Texts: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]
"""Texts, or (for a featuriser with several `fields`) columns of texts by name, `text` among them."""


@dataclass(frozen=True)
class CsrRows:
    """Sparse rows (bags of words) or token sequences of N texts.

    Args:
        indptr: (N + 1,) int64; row i holds entries `indptr[i]` to `indptr[i + 1]`.
        indices: (K,) int32 column or token id of each entry.
        values: (K,) float32, or None where every entry is 1; (K, H) float16 where each token comes with a frozen
            vector (`training.cell`).
        width: number of columns.

    Raises:
        ValueError: if an entry is in no column: SciPy and some kernels of PyTorch would read outside their arrays.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32] | NDArray[np.float16] | None
    width: int

    def __post_init__(self) -> None:
        if len(self.indices) and not (self.indices.min() >= 0 and self.indices.max() < self.width):
            raise ValueError(
                f"expected columns from 0 to {self.width - 1}, got {self.indices.min()} to {self.indices.max()}: the "
                "featuriser's vocabulary does not fit its rows"
            )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def from_scipy(cls, matrix: sp.csr_matrix, *, binary: bool = False) -> Self:
        """Return rows of a scipy CSR matrix; `binary` drops the values, which must then all be 1."""
        matrix.sort_indices()
        values = None if binary else matrix.data.astype(np.float32)
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), values, matrix.shape[1])

    def to_scipy(self) -> sp.csr_matrix:
        """Return the rows as a float32 SciPy CSR matrix; ones where no values are stored."""
        values = np.ones(len(self.indices), np.float32) if self.values is None else self.values
        return sp.csr_matrix((values, self.indices, self.indptr), shape=(len(self), self.width))

    def gather(self, rows: NDArray[np.int64]) -> "SparseRows":
        """Return the given rows, in the given order, as one batch of tensors.

        Args:
            rows: (B,) row numbers.
        """
        import torch  # which features do without

        from twicetold.encoding import SparseRows

        starts = self.indptr[rows]
        lengths = self.indptr[rows + 1] - starts
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        entries = runs(starts, lengths)
        return SparseRows(
            torch.from_numpy(self.indices[entries].astype(np.int64)),
            torch.from_numpy(offsets),
            None if self.values is None else torch.from_numpy(self.values[entries]),
            self.width,
            lengths,
        )

    def followed_by(self, more: "CsrRows") -> Self:
        """Return these rows followed by those of more texts, in memory.

        Raises:
            ValueError: if the widths differ, or only one side has values.
        """
        if self.width != more.width or (self.values is None) != (more.values is None):
            raise ValueError(
                "expected rows of one featuriser, of one width and all or none with values; got widths "
                f"{self.width} and {more.width}, values {self.values is not None} and {more.values is not None}"
            )
        values = None
        if self.values is not None and more.values is not None:
            values = np.concatenate([self.values, more.values])
        return type(self)(
            np.concatenate([self.indptr, self.indptr[-1] + more.indptr[1:]]),
            np.concatenate([self.indices, more.indices]),
            values,
            self.width,
        )

    def beside(self, more: "CsrRows") -> Self:
        """Put these columns before those of other rows of the same texts, in memory; the columns of a row ascend.

        Raises:
            ValueError: if the numbers of rows differ.
        """
        if len(self) != len(more):
            raise ValueError(f"expected rows of the same texts on both sides, got {len(self)} and {len(more)}")
        whole = sp.hstack([self.to_scipy(), more.to_scipy()], format="csr")
        return self.from_scipy(whole, binary=self.values is None and more.values is None)

    def save(self, folder: Path) -> None:
        """Write the arrays to `folder`, all of them or none."""
        with write_folder(folder) as target:
            np.save(target / "indptr.npy", self.indptr)
            np.save(target / "indices.npy", self.indices)
            np.save(target / "width.npy", np.asarray(self.width))
            if self.values is not None:
                np.save(target / "values.npy", self.values)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Memory-map the arrays that `save` wrote."""

        def mapped(name: str) -> Any:
            return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)

        values = mapped("values") if (folder / "values.npy").exists() else None
        return cls(mapped("indptr"), mapped("indices"), values, int(mapped("width")))


def runs(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers start, …, start + length − 1 of every run, one run after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def weighted(counts: sp.csr_matrix | sp.csr_array, weights: sp.csr_matrix) -> CsrRows:
    """Return rows of counts times the weight of each column, a `diagonal` matrix, at unit length."""
    rows = counts @ weights
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    length = np.sqrt(np.bincount(row, rows.data * rows.data))
    length[length == 0] = 1
    rows.data = (rows.data / length[row]).astype(np.float32)
    return CsrRows.from_scipy(rows)


class Parameters:
    """Settings that are read and changed as those of scikit-learn's estimators, so that its `clone` takes the object.

    `BaseEstimator` is not inherited: to import scikit-learn takes half a second, and a dedupe does without it.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name; `deep`: those of a setting that has some as well, as `name__setting`."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]
        parts = {name: value.get_params() for name, value in own.items() if deep and hasattr(value, "get_params")}
        return own | {f"{name}__{key}": value for name, part in parts.items() for key, value in part.items()}

    def set_params(self, **settings: Any) -> Self:
        """Change settings.

        Raises:
            ValueError: if there is no setting of a name.
        """
        for name, value in settings.items():
            part, _, further = name.partition("__")
            known = self.get_params(deep=False)
            if part not in known:
                raise ValueError(f"expected settings of {type(self).__name__}, {', '.join(known)}; got {part!r}")
            if further:
                known[part].set_params(**{further: value})
            else:
                setattr(self, part, value)
        return self

    def require_fitted(self) -> None:
        """Raise scikit-learn's `NotFittedError`, a `ValueError`, before `fit`."""
        if not any(name.endswith("_") and not name.startswith("__") for name in vars(self)):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"{type(self).__name__} is not fitted: call fit with train texts before")

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


class Declared(Parameters):
    """Defaults of a featuriser's declarations."""

    ordered: bool = False
    """Rows are sequences, which are then batched by length."""

    card_: Mapping[str, Any] | None = None
    """The word hashing report, of a fitted featuriser that hashes words (`word_hashing.card`)."""

    @property
    def fields(self) -> Sequence[str] | None:
        """The columns that it reads besides the text; None: it reads texts alone."""
        return None


class Featuriser(Protocol):
    """A scikit-learn transformer from texts to sparse rows.

    It is fitted on train texts only. Fitted state is in attributes that end in `_`, as strings, numbers, lists
    of these or arrays, so that `saved.save_fitted` can write it without pickle. It inherits `Declared`.
    """

    ordered: bool
    card_: Mapping[str, Any] | None

    @property
    def fields(self) -> Sequence[str] | None: ...  # noqa: D102

    def fit(self, texts: Texts) -> Self:
        """Learn vocabulary and weights from train texts."""
        ...

    def transform(self, texts: Texts) -> CsrRows:
        """Return one row per text; words never seen in `fit` are left out."""
        ...

    @property
    def shape(self) -> Mapping[str, Any]:
        """Constructor arguments of an encoder that describe its features: at least `width`."""
        ...


def keep_state(owner: object, part: object, prefix: str) -> None:
    """Keep the fitted state of a featuriser that another one holds, as attributes of the owner, `<prefix><attribute>`.

    Args:
        owner: the featuriser that is saved; it has a `card_` of its own.
        part: the fitted featuriser that it holds.
        prefix: ends in `__`.
    """
    for attribute, value in vars(part).items():
        if attribute.endswith("_") and not attribute.startswith("_") and attribute != "card_":
            setattr(owner, prefix + attribute, value)


def with_state(owner: object, part: Any, prefix: str) -> Featuriser:
    """Return a copy of the featuriser `part`, with the state that `keep_state` left in the owner."""
    from sklearn.base import clone  # see `Parameters`

    fitted: Featuriser = clone(part)
    for attribute, value in vars(owner).items():
        if attribute.startswith(prefix):
            setattr(fitted, attribute.removeprefix(prefix), value)
    return fitted
