"""Training examples as index arrays, and their batches.

An `Examples` leaf of `conf/` turns a corpus into index arrays once. After that an epoch is a permutation, and a batch
is one vectorised gather of feature rows.

Shape letters: X examples, B examples of a batch, H mined negatives of an example.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from twicetold.encoding import SparseRows
from twicetold.features.rows import CsrRows
from twicetold_lab.data.corpus import UNKNOWN, Corpus

WINDOW = 50  # batches that are sorted by length together


@dataclass(frozen=True)
class ExampleIndex:
    """Training examples by text number; parts that a kind of example lacks are None."""

    anchor: NDArray[np.int64]
    positive: NDArray[np.int64] | None = None
    negative: NDArray[np.int64] | None = None
    """(X,), or (X, H) for several mined negatives of each example."""
    label: NDArray[Any] | None = None
    """(X,) int64 group code of each anchor, or float32 of each pair: 0/1, the probability of 1, or a similarity."""
    group: NDArray[np.int64] | None = None
    """(X,) duplicate cluster of each anchor; without blocks, examples of one cluster are kept out of each other's
    batches."""
    positive_group: NDArray[np.int64] | None = None
    """(X,) duplicate cluster of each positive."""
    negative_group: NDArray[np.int64] | None = None
    """(X,) or (X, H) duplicate cluster of each negative."""
    block: NDArray[np.int64] | None = None
    """(X,) examples of one block are kept side by side in an epoch, so that they meet in one batch."""
    extra_texts: Sequence[str] | None = None
    """Texts that are not in the corpus (sentences); they are numbered after those of the corpus."""

    def __len__(self) -> int:
        return len(self.anchor)


@dataclass(frozen=True)
class Batch:
    """Feature rows of a batch of examples."""

    anchor: SparseRows
    positive: SparseRows | None = None
    negative: SparseRows | None = None
    """H · B rows: the first mined negative of every example, then the second of every example, and so on."""
    label: Tensor | None = None
    group: Tensor | None = None
    positive_group: Tensor | None = None
    negative_group: Tensor | None = None

    def __len__(self) -> int:
        return len(self.anchor)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Return the same batch on another device."""
        parts = {name: part for name, part in vars(self).items() if isinstance(part, SparseRows | Tensor)}
        moved = {name: part.to(device, non_blocking=non_blocking) for name, part in parts.items()}
        return replace(self, **cast("dict[str, Any]", moved))


class Examples(Protocol):
    """A leaf of `conf/examples/`."""

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return the examples of the train split; `triplets` is the mining stage's folder."""
        ...


class GatheredExamples(Dataset[Batch]):
    """Examples with their feature rows; one fetch gathers a whole batch."""

    def __init__(self, examples: ExampleIndex, rows: CsrRows) -> None:
        self.examples = examples
        self.rows = rows

    def __len__(self) -> int:
        return len(self.examples)

    def __getitems__(self, chosen: NDArray[np.int64]) -> Batch:
        """Return the batch of the given examples."""
        sides = {
            side: self.rows.gather(texts[chosen].T.ravel())
            for side in ("anchor", "positive", "negative")
            if (texts := getattr(self.examples, side)) is not None
        }
        tensors = {
            name: torch.from_numpy(values[chosen].T.ravel())
            for name in ("label", "group", "positive_group", "negative_group")
            if (values := getattr(self.examples, name)) is not None
        }
        return Batch(**cast("dict[str, Any]", {**sides, **tensors}))


@dataclass
class EpochBatches:
    """Batches of an epoch as index arrays; the order depends on seed and epoch alone.

    No state is carried from one epoch to the next, so training that resumes at an epoch gets the same batches.

    Args:
        examples: what to batch.
        batch_size: examples per batch. The last one may be smaller; but a single example, which has nothing to be
            compared with in its batch, nor a variance, joins the batch before.
        seed: of the order.
        lengths: (X,) entries of each example, or None. If given, examples of like length meet in one batch, so that
            sequences are padded little: the shuffled examples are sorted by length within windows of `WINDOW` batches.
        epoch: which epoch's order `__iter__` gives.
        renew: called with the number of each epoch before its batches are made, to change what is gathered for them.
    """

    examples: ExampleIndex
    batch_size: int
    seed: int
    lengths: NDArray[np.int64] | None = None
    epoch: int = 0
    renew: Callable[[int], None] | None = None

    def __len__(self) -> int:
        return -(-len(self.examples) // self.batch_size) - self._single_left

    @property
    def sampler(self) -> "EpochBatches":
        """Object on which Lightning calls `set_epoch`."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; Lightning calls this before each, the first one after a resume included."""
        self.epoch = epoch
        if self.renew is not None:
            self.renew(epoch)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        random = np.random.default_rng([self.seed, self.epoch])
        order = self._order(random)
        batches = np.split(order, range(self.batch_size, self.batch_size * len(self), self.batch_size))
        if self.lengths is not None:  # else the windows would come from short to long
            random.shuffle(batches)
        yield from batches

    @property
    def _single_left(self) -> bool:
        return len(self.examples) > self.batch_size > 1 == len(self.examples) % self.batch_size

    def _order(self, random: np.random.Generator) -> NDArray[np.int64]:
        examples = self.examples
        if examples.block is not None:
            rank = random.permutation(examples.block.max() + 1)
            return np.argsort(rank[examples.block], kind="stable")
        order = random.permutation(len(examples))
        if examples.group is not None:
            order = order[np.argsort(_spread(examples.group[order], random), kind="stable")]
        if self.lengths is not None:
            window = np.arange(len(order)) // (WINDOW * self.batch_size)
            order = order[np.lexsort((self.lengths[order], window))]
        return order


@dataclass(frozen=True)
class Again:
    """The batches of an epoch, repeated until there are `steps` of them."""

    batches: EpochBatches
    steps: int

    def __len__(self) -> int:
        return max(len(self.batches), self.steps)

    @property
    def sampler(self) -> EpochBatches:
        """Object on which Lightning calls `set_epoch`."""
        return self.batches

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return islice(chain.from_iterable(repeat(self.batches)), len(self))


def lengths_of(examples: ExampleIndex, rows: CsrRows) -> NDArray[np.int64]:
    """Return (X,) entries of the longest text of each example."""
    sides = (examples.anchor, examples.positive, examples.negative)
    entries = np.diff(rows.indptr)
    longest: NDArray[np.int64] = np.max(
        [entries[side].reshape(len(side), -1).max(axis=1) for side in sides if side is not None], axis=0
    )
    return longest


class FromFirstBatch(DataLoader[Batch]):
    """Begins with the first batch that is asked for, and not before.

    Lightning makes the first iterator of a training, also of one that resumes, before it sets the epoch, and processes
    would already load batches of another.
    """

    def __iter__(self) -> Any:
        yield from super().__iter__()


def train_loader(examples: ExampleIndex, rows: CsrRows, batches: EpochBatches, *, workers: int) -> DataLoader[Batch]:
    """Return a loader of the batches that `GatheredExamples` gathers."""
    # PyTorch's annotations want lists of ints and of samples; it hands on whatever __iter__ and __getitems__ give.
    batch_sampler, as_is = cast("Any", batches), cast("Any", _as_is)
    return FromFirstBatch(
        GatheredExamples(examples, rows), batch_sampler=batch_sampler, collate_fn=as_is, num_workers=workers
    )


def _spread(group: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return (X,) places in [0, 1) at which the members of each group lie evenly apart, from a random start.

    Sorted by place, two members of a group of k stand about X / k examples apart: not in one batch, unless the group
    has more members than the epoch has batches. Examples of no known group lie anywhere.
    """
    code, counts, within = _places(group)
    place = (random.random(len(counts))[code] + within / counts[code]) % 1
    return np.where(group == UNKNOWN, random.random(len(group)), place)


def _as_is(batch: Batch) -> Batch:
    return batch


def blocks(codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return number the members of each group in runs of `size`; each run is a block."""
    code, counts, within = _places(codes)
    blocks = -(-counts // size)
    numbers: NDArray[np.int64] = (np.cumsum(blocks) - blocks)[code] + within // size
    return numbers


def _places(group: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(X,) number of each member's group, members of each group, and (X,) place of each member within its group."""
    _, number, counts = np.unique(group, return_inverse=True, return_counts=True)
    within = np.empty(len(group), np.int64)
    within[np.argsort(number, kind="stable")] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return number, counts, within
