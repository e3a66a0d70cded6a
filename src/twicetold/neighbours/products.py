"""Products of blocks of dense rows, each on one thread, by whichever of NumPy and PyTorch multiplies faster here.

Each brings a library of its own (OpenBLAS, oneMKL), and which one is faster depends on the processor. The last bits of
a product depend on it as well, so what is published is computed anew from the rows (`grouping.row_dots`): a product
only says which pairs are looked at.

Shape letters: b and c rows of two blocks, d columns.
"""

import functools
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float32]
TRIED, REPEATS = (1024, 128, 1024), 4  # b, d, c of the product that is timed (a few milliseconds), and how often


def multiply(left: Block, right: Block, out: Block) -> Block:
    """(b, c) products of the rows of (b, d) `left` and (c, d) `right`, written to `out`, which is contiguous."""
    return _fastest()(left, right, out)


def with_numpy(left: Block, right: Block, out: Block) -> Block:
    """By NumPy's BLAS."""
    return np.matmul(left, right.T, out=out)


def with_torch(left: Block, right: Block, out: Block) -> Block:
    """By PyTorch's BLAS."""
    import torch  # takes a second

    # The same memory, unless it is read-only, which torch does not know.
    one, other = (torch.from_numpy(np.require(block, np.float32, ["W"])) for block in (left, right))
    torch.mm(one, other.T, out=torch.from_numpy(out))
    return out


@functools.cache
def _fastest() -> Callable[[Block, Block, Block], Block]:
    """The faster one of both in this process, by processor time of this thread."""
    rows, columns, others = TRIED
    left, right = np.ones((rows, columns), np.float32), np.ones((others, columns), np.float32)
    out = np.empty((rows, others), np.float32)

    def seconds(product: Callable[[Block, Block, Block], Block]) -> float:
        took = []
        for _ in range(REPEATS):
            started = time.thread_time()
            product(left, right, out)
            took.append(time.thread_time() - started)
        return min(took)

    return min((with_numpy, with_torch), key=seconds)
