"""Cells of dense vectors over common centres, and the vectors in 8 bits.

The rows of a part are sorted by the centre that is most similar to them, an inverted file (Jégou, Douze and Schmid
2011, "Product quantization for nearest neighbor search", without the product quantisation). A row is also kept as whole
numbers c from -127 to 127 and a scale s of its own, vector ≈ s · c, so neither depends on other rows. A query visits
the cells whose centres are most similar to it, and compares itself with these whole numbers. What is nearest by them is
compared again by the vectors (`probing`).

The sums of whole numbers are exact whatever the order: a query is rounded to whole numbers as well, so coarsely that no
sum reaches 2²⁴. So what is found does not depend on how the texts are divided into parts, to the last bit.

Shape letters: M texts of a part, Q queries, D dimensions, C cells, m rows of a cell.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from twicetold.errors import require
from twicetold.index.centres import LARGEST, Centres, Dense

ROWS = 1 << 14  # rows that are compared at once
PART = 1 << 18  # rows whose cells are found at once
CELLS = "cells.safetensors"
CODES = "codes.npy"
SCALES = "scales.npy"


@dataclass(frozen=True)
class Cells:
    """The cells of a part, whose rows are sorted by them.

    Args:
        starts: (C + 1,) first row of each cell, and M.
        codes: (M, D) whole numbers of the rows.
        scales: (M,) that they are multiplied by.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int8]
    scales: Dense

    @classmethod
    def of(cls, vectors: Dense, centres: Centres) -> tuple["Cells", NDArray[np.int64]]:
        """Cells of (M, D) vectors over centres, and the (M,) rows in their order."""
        step = range(0, len(vectors), PART)
        cell = np.concatenate([centres.nearest(vectors[at : at + PART], 1)[:, 0] for at in step])
        order = np.argsort(cell, kind="stable")
        codes, scales = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
        for at in range(0, len(vectors), ROWS):
            rows = slice(at, at + ROWS)
            codes[rows], scales[rows] = in_8_bits(vectors[order[rows]])
        return cls(np.searchsorted(cell[order], np.arange(len(centres) + 1)), codes, scales), order

    def scores(self, queries: Dense, cell: int, alive: NDArray[np.bool_]) -> Iterator[tuple[int, Dense]]:
        """Dot products with the rows of a cell, by 8 bits, some rows at a time.

        Args:
            queries: (Q, D) `whole_numbers`.
            cell: number of the cell.
            alive: (M,) rows that may be found; the others have -inf.

        Yields:
            Place of the first row in the cell, and (Q, m) dot products.
        """
        start, end = (int(row) for row in self.starts[cell : cell + 2])
        for at in range(start, end, ROWS):
            rows = slice(at, min(at + ROWS, end))
            scores = (queries @ self.codes[rows].astype(np.float32).T) * self.scales[rows]
            if not alive[rows].all():
                scores[:, ~alive[rows]] = -np.inf
            yield at - start, scores

    def save(self, folder: Path) -> None:
        """Write the cells to the folder of a part."""
        save_file({"starts": self.starts}, folder / CELLS)
        np.save(folder / CODES, self.codes, allow_pickle=False)
        np.save(folder / SCALES, self.scales, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path, shape: tuple[int, int], centres: Centres | None) -> "Cells | None":
        """Read what `save` wrote; codes and scales are memory-mapped.

        Args:
            folder: of the part.
            shape: of its vectors.
            centres: of the index.

        Returns:
            None if there are no cells, or those of an earlier format, which had centres of their own.

        Raises:
            ValueError: if they are not those of such vectors and centres.
        """
        if not (folder / CELLS).exists():
            return None
        arrays = load_file(folder / CELLS)
        if set(arrays) == {"starts", "centres"}:
            return None
        require(set(arrays) == {"starts"}, f"{CELLS} has other arrays: {sorted(arrays)}")
        starts = arrays["starts"]
        fit = centres is not None and starts.dtype == np.int64 and starts.shape == (len(centres) + 1,)
        fit = fit and starts[0] == 0 and starts[-1] == shape[0] and bool((np.diff(starts) >= 0).all())
        require(fit, f"the cells of {CELLS} are not those of the vectors and centres")
        codes: Any = np.load(folder / CODES, mmap_mode="r", allow_pickle=False)
        require(codes.dtype == np.int8 and codes.shape == shape, f"{CODES} has not a number for each of the vectors'")
        scales: Any = np.load(folder / SCALES, mmap_mode="r", allow_pickle=False)
        require(scales.dtype == np.float32 and scales.shape == shape[:1], f"{SCALES} has not a number for each vector")
        return cls(starts, codes, scales)


def in_8_bits(vectors: Dense) -> tuple[NDArray[np.int8], Dense]:
    """(M, D) whole numbers and (M,) scales of vectors; no number is off by more than half the scale."""
    scales = np.abs(vectors).max(axis=1) / np.float32(LARGEST)
    codes = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None])
    return codes.astype(np.int8), scales.astype(np.float32)
