"""`encode`: a block of distinct texts to their vectors.

Blocks are of the numbers of distinct texts, not of parts, and as large as those that `trained.vectors` encodes at once:
vectors of other blocks may have other last bits.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.distinct import firsts_of, texts_of_rows
from twicetold.staged.plan import BLOCK, Plan, bounds

FEW = 0.02  # share of a block's rows below which they are read one by one


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Encode a block.

    Returns:
        Number of texts without a term that the model knows, and sentences on how texts are unlike the model's.
    """
    from twicetold.staged.model import loaded  # with it may come torch, and other stages read vectors alone
    from twicetold.trained.unlike import Likeness, blank
    from twicetold.trained.vectors import search_vectors

    texts = texts_of_rows(plan, firsts_of(plan).numbers(np.arange(*bounds(name, plan.distinct))))
    model = loaded(plan.settings.model)
    with threadpool_limits(1):  # of torch as well, if the model has just brought it
        vectors, _ = search_vectors(model.trained, texts)
    content: dict[str, NDArray[Any]]
    if plan.sparse:
        vectors = vectors.tocsr()
        content = {
            "starts": vectors.indptr.astype(np.int64),
            "indices": vectors.indices.astype(np.int32),
            "data": vectors.data.astype(np.float32, copy=False),
        }
    else:
        content = {"vectors": np.ascontiguousarray(vectors, np.float32)}
    content["length"] = np.array([len(text) for text in texts], np.int32)
    write_arrays(plan.file("encode", name, "vectors"), content)
    likeness = Likeness(model)
    likeness.add(texts)
    return {"blank": blank(vectors), "unlike": list(likeness.warnings())}


def block(plan: Plan, name: str) -> Any:
    """(b, D) vectors of a block, dense or CSR."""
    found = Arrays(plan.file("encode", name, "vectors"))
    if not plan.sparse:
        return found.read("vectors")
    starts = found.starts
    return sparse.csr_matrix((found.read("data"), found.read("indices"), starts), (len(starts) - 1, plan.width))


def vectors_of(plan: Plan, numbers: Ints) -> Any:
    """(k, D) vectors of some distinct texts, which ascend."""
    parts = [_of_block(plan, name, inside) for name, inside in _by_block(plan, numbers)]
    if plan.sparse:
        return sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, plan.width), dtype=np.float32)
    return np.concatenate(parts) if parts else np.empty((0, plan.width), np.float32)


def lengths_of(plan: Plan, numbers: Ints) -> Ints:
    """(k,) characters of some distinct texts, which ascend."""
    found = [
        Arrays(plan.file("encode", name, "vectors")).read("length")[inside] for name, inside in _by_block(plan, numbers)
    ]
    return np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)


def _by_block(plan: Plan, numbers: Ints) -> Iterator[tuple[str, Ints]]:
    ends = np.searchsorted(numbers, np.arange(len(plan.blocks) + 1) * BLOCK)
    for number, name in enumerate(plan.blocks):
        if ends[number] < ends[number + 1]:
            yield name, numbers[ends[number] : ends[number + 1]] - number * BLOCK


def _of_block(plan: Plan, name: str, rows: Ints) -> Any:
    if plan.sparse or len(rows) > FEW * BLOCK:
        return block(plan, name)[rows]
    return np.asarray(Arrays(plan.file("encode", name, "vectors")).mapped("vectors")[rows])
