"""Rows of terms and vectors of texts, in an Arrow file for each block of texts, of which what is asked for is read.

Shape letters: N texts, n of a block, k that are asked for, T terms of a kind, D columns.
"""

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from twicetold.files import write_file
from twicetold.matching.pair_features import runs_of
from twicetold.matching.terms import OF_TEXTS, Csr, Terms, Vocabulary
from twicetold.neighbours.grouping import Ints
from twicetold.staged.plan import Plan

VALUES = " values"  # after the name of a kind whose entries are not all 1
WEIGHED = ("letters", "words", "asking")
FORMS = ("spelt", "begins", "halves")
VECTORS = "vectors"


class Mapped(NamedTuple):
    """Columns of a file, of which only what is looked at is read.

    Attributes:
        columns: of n texts.
        pages: of the file.
    """

    columns: pa.RecordBatch
    pages: mmap.mmap

    @classmethod
    def of(cls, path: Path) -> "Mapped":
        """Map a file."""
        with path.open("rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return cls(pa.ipc.open_file(pa.py_buffer(pages)).get_batch(0), pages)


@dataclass(frozen=True)
class FiledRows:
    """Rows of N texts, dense or CSR, of which some are taken as those of a matrix are.

    Args:
        blocks: of texts.
        kind: of the rows.
        shape: N, and T or D.
        step: texts of a block.
    """

    blocks: Sequence[Mapped]
    kind: str
    shape: tuple[int, int]
    step: int

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, asked: "Ints | slice") -> Any:
        texts = np.arange(*asked.indices(len(self))) if isinstance(asked, slice) else asked
        rows, place = np.unique(texts, return_inverse=True)
        ends = np.searchsorted(rows, np.arange(len(self.blocks) + 1) * self.step)
        some = [
            (slice(start, stop), block.columns, rows[start:stop] - number * self.step)
            for number, (block, start, stop) in enumerate(zip(self.blocks, ends, ends[1:], strict=False))
            if number == 0 or start < stop
        ]
        if pa.types.is_list(some[0][1].column(self.kind).type):
            whole = sparse.csr_array(sparse.vstack([self._of_block(block, its) for _, block, its in some], "csr"))
        else:
            parts = [(where, rows_of(block.column(self.kind)), its) for where, block, its in some]
            kind = np.result_type(*(part.dtype for _, part, _ in parts))
            whole = np.empty((len(rows), *parts[0][1].shape[1:]), kind)
            for where, part, its in parts:  # a second copy would be large
                whole[where] = part[its]
        for block in self.blocks:
            block.pages.madvise(mmap.MADV_DONTNEED)  # else all that was ever looked at counts as held
        return whole if len(rows) == len(texts) and (rows == texts).all() else whole[place]

    def _of_block(self, block: pa.RecordBatch, rows: Ints) -> Any:
        column = block.column(self.kind)
        offsets = column.offsets.to_numpy()
        first = offsets[rows].astype(np.int64)
        number = offsets[rows + 1] - first
        at = runs_of(first, number)
        indices = column.values.to_numpy()[at]
        weighed = self.kind in WEIGHED
        data = block.column(self.kind + VALUES).values.to_numpy()[at] if weighed else np.ones(len(at), np.float32)
        indptr = np.append(0, np.cumsum(number)).astype(indices.dtype)
        return sparse.csr_array((data, indices, indptr), shape=(len(rows), self.shape[1]))


def rows_of(column: pa.Array) -> NDArray[Any]:
    """Return (n,) numbers of a column, or (n, D) of lists of D numbers, without a copy."""
    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.to_numpy())
    return np.asarray(column.values.to_numpy().reshape(len(column), column.type.list_size))


def write_rows(plan: Plan, stage: str, name: str, rows: Mapping[str, Any]) -> None:
    """Write rows of a block by kind, dense ones and CSR, as the file of a task."""
    columns: dict[str, pa.Array] = {}
    for kind, each in rows.items():
        if not isinstance(each, np.ndarray):
            indptr = each.indptr.astype(np.int32)
            columns[kind] = pa.ListArray.from_arrays(indptr, each.indices)
            if kind in WEIGHED:
                columns[kind + VALUES] = pa.ListArray.from_arrays(indptr, each.data)
        elif each.ndim == 1:
            columns[kind] = pa.array(each)
        else:
            columns[kind] = pa.FixedSizeListArray.from_arrays(pa.array(each.ravel()), each.shape[1])
    write_batch(plan, stage, name, columns)


def write_batch(plan: Plan, stage: str, name: str, columns: Mapping[str, pa.Array]) -> None:
    """Write columns as the Arrow file of a task.

    Raises:
        DiskFullError: if there is no room.
    """
    batch = pa.record_batch(dict(columns))
    with (
        write_file(plan.file(stage, name, "arrow")) as temporary,
        pa.ipc.new_file(f"{temporary}", batch.schema) as file,
    ):
        file.write_batch(batch)


def mapped_batch(path: Path) -> pa.RecordBatch:
    """Return the columns of a file that is mapped."""
    return Mapped.of(path).columns


def write_vocabulary(plan: Plan, stage: str, name: str, known: Vocabulary) -> None:
    """Write the terms of a block, or of all."""
    names = {kind: pa.array([each], pa.large_list(pa.large_string())) for kind, each in known.names.items()}
    counts = {kind + VALUES: pa.array([each], pa.large_list(pa.int64())) for kind, each in known.frequency.items()}
    write_batch(plan, stage, name, {**names, **counts, "texts": pa.array([known.texts])})


def read_vocabulary(path: Path) -> Vocabulary:
    """Return the terms of a block, or of all."""
    batch = mapped_batch(path)
    kinds = [kind for kind in batch.schema.names if not kind.endswith(VALUES) and kind != "texts"]
    counted = [kind.removesuffix(VALUES) for kind in batch.schema.names if kind.endswith(VALUES)]
    return Vocabulary(
        batch["texts"][0].as_py(),
        {kind: batch[kind].values.to_pylist() for kind in kinds},
        {kind: np.array(batch[kind + VALUES].values.to_numpy()) for kind in counted},
    )


def vocabulary_of(plan: Plan) -> Vocabulary:
    """Return the terms of all, which a process reads once."""
    path = plan.file("vocabulary", "all", "arrow")
    return _vocabulary(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _vocabulary(path: Path, changed: int) -> Vocabulary:
    return read_vocabulary(path)


def terms_in_files(plan: Plan) -> Terms:
    """Return terms of the N texts, whose rows are read as they are asked for."""
    known, blocks, forms = vocabulary_of(plan), _blocks(plan), Mapped.of(plan.file("forms", "all", "arrow"))
    words = len(known.names["words"])
    width = {kind: len(names) for kind, names in known.names.items()}
    width |= {"letters": width["grams"] + width["marks"], "present": words, "joined": words, "order": words**2}
    width |= {"contained": width["codes"], "prefix": 0, "length": 0}
    rows = {kind: FiledRows(blocks, kind, (plan.distinct, width[kind]), plan.settings.block) for kind in OF_TEXTS}
    square = {kind: FiledRows([forms], kind, (words, words), words)[:words] for kind in FORMS}
    return known.terms(rows, {**square, "crowded": plan.crowded}, plan.shortened)


def vectors_in_files(plan: Plan) -> Any:
    """Return (N, D) vectors of the texts; None if they have none."""
    return FiledRows(_blocks(plan), VECTORS, (plan.distinct, plan.width), plan.settings.block) if plan.width else None


def asking_rows(plan: Plan, name: str, terms: int) -> Csr:
    """Return (n, T) entries by which the texts of a block look for others."""
    block = Mapped.of(plan.file("rows", name, "arrow"))
    count = len(block.columns)
    return FiledRows([block], "asking", (count, terms), count)[:count]


def _blocks(plan: Plan) -> list[Mapped]:
    return [Mapped.of(plan.file("rows", name, "arrow")) for name in plan.blocks]
