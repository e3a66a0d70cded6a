"""What one training example is: a labelled text, or a mined triplet; and how examples make up batches.

An `Examples` leaf of `conf/` turns a corpus into index arrays once; from then on an epoch is a permutation and a
batch is one vectorised gather of feature rows.

Shape letters: X examples, B examples of a batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from twicetold import layout
from twicetold.data.corpus import UNKNOWN, Corpus
from twicetold.encoding import SparseRows
from twicetold.features.rows import CsrRows
from twicetold.mining.triplets import Triplets


@dataclass(frozen=True)
class ExampleIndex:
    """Training examples by text number; parts that a kind of example lacks are None."""

    anchor: NDArray[np.int64]
    positive: NDArray[np.int64] | None = None
    negative: NDArray[np.int64] | None = None
    label: NDArray[np.int64] | None = None
    """(X,) group code of each anchor."""
    block: NDArray[np.int64] | None = None
    """(X,) examples of one block are kept side by side in an epoch, so that they meet in one batch."""

    def __len__(self) -> int:
        return len(self.anchor)


@dataclass(frozen=True)
class Batch:
    """Feature rows of a batch of examples."""

    anchor: SparseRows
    positive: SparseRows | None = None
    negative: SparseRows | None = None
    label: Tensor | None = None

    def __len__(self) -> int:
        return len(self.anchor)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """The same batch on another device."""
        moved = {n: p.to(device, non_blocking=non_blocking) for n, p in vars(self).items() if p is not None}
        return replace(self, **moved)


class Examples(Protocol):
    """A leaf of `conf/examples/`."""

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """The examples of the train split; `triplets` is the mining stage's folder."""
        ...


@dataclass(frozen=True)
class LabelledTexts:
    """Every train text that has a group, with its group's code: for objectives that mine within the batch.

    Args:
        label: the group (`category`, `story`, `cluster`).
        together: members of one group come in blocks of up to this many, which stay side by side in an epoch, so
            that small groups (stories, clusters) meet in one batch. None: a plain shuffle, as published.
    """

    label: str
    together: int | None = None

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per train text.

        Raises:
            ValueError: if the corpus has no such group.
        """
        if self.label not in corpus.groups:
            raise ValueError(f"{corpus.name} has no group {self.label!r}, only {sorted(corpus.groups)}")
        members = corpus.members["train"]
        codes = corpus.groups[self.label][members]
        members, codes = members[codes != UNKNOWN], codes[codes != UNKNOWN]
        block = None if self.together is None else _blocks(codes, self.together)
        return ExampleIndex(anchor=members, label=codes, block=block)


@dataclass(frozen=True)
class MinedTriplets:
    """The triplets that the mining stage wrote.

    Args:
        strategy: which file of the mining stage (`random`, `bm25`, `cluster`).
    """

    strategy: str

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per triplet.

        Raises:
            FileNotFoundError: if that strategy was not mined for this corpus.
        """
        path = layout.triplets_file(triplets, self.strategy)
        if not path.exists():
            there = sorted(p.stem for p in triplets.glob("*.parquet")) or "none"
            raise FileNotFoundError(
                f"no triplets mined by {self.strategy!r} for {corpus.name}: {path} is missing (there: {there}). "
                f"Run `dvc repro mine@{corpus.name}`, or choose another examples.strategy."
            )
        mined = Triplets.load(path)
        return ExampleIndex(anchor=mined.anchor, positive=mined.positive, negative=mined.negative)


class GatheredExamples(Dataset[Batch]):
    """Examples with their feature rows; one fetch gathers a whole batch."""

    def __init__(self, examples: ExampleIndex, rows: CsrRows) -> None:
        self.examples = examples
        self.rows = rows

    def __len__(self) -> int:
        return len(self.examples)

    def __getitems__(self, chosen: NDArray[np.int64]) -> Batch:
        """The batch of the given examples."""
        examples = self.examples
        sides = {
            side: self.rows.gather(texts[chosen])
            for side in ("anchor", "positive", "negative")
            if (texts := getattr(examples, side)) is not None
        }
        label = None if examples.label is None else torch.from_numpy(examples.label[chosen])
        return Batch(**sides, label=label)


@dataclass
class EpochBatches:
    """Batches of an epoch as index arrays; the order depends on seed and epoch alone.

    Nothing is carried from one epoch to the next, so training that resumes at an epoch sees what it would have seen.
    """

    examples: ExampleIndex
    batch_size: int
    seed: int
    epoch: int = 0

    def __len__(self) -> int:
        return -(-len(self.examples) // self.batch_size)

    @property
    def sampler(self) -> "EpochBatches":
        """Where Lightning looks for `set_epoch`."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before each epoch, the first one after a resume included."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        random = np.random.default_rng([self.seed, self.epoch])
        if self.examples.block is None:
            order = random.permutation(len(self.examples))
        else:
            rank = random.permutation(self.examples.block.max() + 1)
            order = np.argsort(rank[self.examples.block], kind="stable")
        for start in range(0, len(order), self.batch_size):
            yield order[start : start + self.batch_size]


def train_loader(examples: ExampleIndex, rows: CsrRows, batches: EpochBatches, *, workers: int) -> DataLoader[Batch]:
    """A loader that hands out whole batches as `GatheredExamples` gathers them."""
    # PyTorch's annotations want lists of ints and of samples; it hands on whatever __iter__ and __getitems__ give.
    batch_sampler, as_is = cast("Any", batches), cast("Any", _as_is)
    return DataLoader(
        GatheredExamples(examples, rows), batch_sampler=batch_sampler, collate_fn=as_is, num_workers=workers
    )


def _as_is(batch: Batch) -> Batch:
    return batch


def _blocks(codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Number the members of each group in runs of `size`; each run is a block."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    within = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    new = np.diff(ordered, prepend=ordered[0]) != 0
    block = np.empty(len(codes), np.int64)
    block[order] = np.cumsum(new | ((within % size == 0) & (within > 0)))
    return block
