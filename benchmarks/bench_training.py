"""How much faster training and its data path are than the obvious ways: on CPU, as ratios in one run.

    python benchmarks/bench_training.py [--quick] [--threads N]

The data are synthetic headlines of about 8 words, drawn by Zipf's law from V words, in 4 classes.

1. An epoch of the denoising autoencoder (E = 50, masking 0.3, batch-all triplets, Adam), B = 256:
   - `twicetold`: `twicetold_lab.training.fit`, from the end of one epoch to the end of the next, checkpoint included;
     validation is left out.
   - `plain loop`: the same encoder, objective and loader without Lightning and checkpoints.
   - `dense`: the same maths on dense (B, V) rows: `nn.Linear`, and a binary cross-entropy to a dense target.
2. An epoch of batches alone, from memory-mapped rows, no workers:
   - `twicetold`: `train_loader`, one gather a batch.
   - `row by row`: a Dataset with one `__getitem__` a row, and a `collate_fn` that puts the tensors together.
3. Steps of a large table, V = 100,000 vectors of 128: the sum of each batch's vectors, and its gradient.
   - `twicetold`: with `training.memory.keep_freed_memory`, as `fit` does it.
   - `given back`: as the C library comes, which takes each gradient's memory from the system anew. Measured before the
     rest, since memory that is kept stays kept.
4. Steps of the same table with Adam and clipping, as `fit` does them.
   - `twicetold`: `training.adam_by_rows`.
   - `all rows`: `torch.optim.Adam(fused=True)`.

Runs take turns; shown are medians of processor time, on one thread unless `--threads` says more. If the dense and the
sparse loss of one batch differ, or the tables after the steps of 4, the run ends.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from twicetold.encoding import EncodedBatch, SparseRows
from twicetold.features.rows import CsrRows
from twicetold.layers.first_layer import product
from twicetold.models.dae import DenoisingAutoencoder
from twicetold_lab.examples.batches import EpochBatches, ExampleIndex, train_loader
from twicetold_lab.objectives.class_triplets import batch_all
from twicetold_lab.objectives.denoising_triplet import DenoisingTriplet
from twicetold_lab.objectives.reconstruction import weighted_mean
from twicetold_lab.training.adam_by_rows import AdamByRows
from twicetold_lab.training.fit import fit, keep_freed_memory
from twicetold_lab.training.learner import Learner, clip_gradients
from twicetold_lab.training.schedule import Runtime, Schedule

WORDS, CLASSES, BATCH, HIDDEN, MASKED, ALPHA = 8, 4, 256, 50, 0.3, 10.0

TABLE = 100_000, 128
SETTLING = 10

Way = Callable[[CsrRows, ExampleIndex, int], list[float]]
"""From the rows, the examples and a number of epochs to the seconds of each."""


class DenseAutoencoder(nn.Module):
    """The encoder and objective of `twicetold` on dense rows, tied weights included."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hide = nn.Linear(width, HIDDEN)
        self.visible_bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, label: Tensor, masked: float = MASKED) -> Tensor:
        """The loss of clean rows (B, V)."""
        kept = x * (torch.rand_like(x) >= masked)
        embedding = torch.sigmoid(self.hide(kept)) - torch.sigmoid(self.hide.bias)
        logits = embedding @ self.hide.weight + self.visible_bias
        rows = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
        triplets = batch_all(embedding, label)
        loss: Tensor = weighted_mean(rows, triplets.data_weight) + ALPHA * triplets.loss
        return loss


class RowByRow(Dataset[tuple[Tensor, Tensor]]):
    """The obvious Dataset: one row at a time."""

    def __init__(self, rows: CsrRows, label: NDArray[np.int64]) -> None:
        self.rows, self.label = rows, label

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        start, end = self.rows.indptr[row], self.rows.indptr[row + 1]
        return torch.from_numpy(self.rows.indices[start:end].astype(np.int64)), torch.tensor(self.label[row])


def collate(samples: list[tuple[Tensor, Tensor]], width: int) -> tuple[SparseRows, Tensor]:
    """One batch of rows."""
    lengths = torch.tensor([0, *(len(indices) for indices, _ in samples)])
    indices = torch.cat([indices for indices, _ in samples])
    return SparseRows(indices, lengths.cumsum(0), None, width), torch.stack([label for _, label in samples])


def headlines(count: int, width: int) -> CsrRows:
    """Binary rows; the words of a headline are distinct."""
    rng = np.random.default_rng(0)
    chance = 1 / np.arange(1, width + 1)
    lengths = 1 + rng.poisson(WORDS, count)
    words = rng.choice(width, lengths.sum(), p=chance / chance.sum())
    cells = np.repeat(np.arange(count), lengths), words
    matrix = sp.csr_matrix((np.ones(len(words), np.float32), cells), shape=(count, width))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return CsrRows.from_scipy(matrix, binary=True)


def encoder_of(width: int) -> DenoisingAutoencoder:
    """The autoencoder as published."""
    torch.manual_seed(0)
    return DenoisingAutoencoder(
        width=width,
        hidden=HIDDEN,
        activation="sigmoid",
        corruption="masking",
        corruption_level=MASKED,
        decay_when_encoding=True,
    )


def objective() -> DenoisingTriplet:
    """Its loss."""
    return DenoisingTriplet(alpha=ALPHA, negatives="all", reconstruction="cross_entropy")


def with_fit(rows: CsrRows, index: ExampleIndex, epochs: int) -> list[float]:
    """Seconds of each epoch but the first, which Lightning begins with its own preparations."""
    ends: list[float] = []
    learner = Learner(
        encoder_of(rows.width),
        objective(),
        make_optimizer=torch.optim.Adam,
        validate=lambda _: ("none", 0.0),
        seed=0,
        schedule=Schedule(epochs + 1, BATCH),
    )
    with tempfile.TemporaryDirectory() as folder:
        fit(
            learner,
            train_loader(index, rows, EpochBatches(index, BATCH, seed=0), workers=0),
            runtime=Runtime("cpu", workers=0, progress=False),
            checkpoints=Path(folder),
            on_epoch=lambda metrics, epoch: ends.append(time.process_time()),
        )
    return list(np.diff(ends))


def in_plain_loop(rows: CsrRows, index: ExampleIndex, epochs: int) -> list[float]:
    """Seconds of each epoch."""
    encoder, loss = encoder_of(rows.width).train(), objective()
    optimizer = torch.optim.Adam(encoder.parameters())
    loader = train_loader(index, rows, EpochBatches(index, BATCH, seed=0), workers=0)

    def epoch() -> None:
        for batch in loader:
            optimizer.zero_grad()
            loss(EncodedBatch(anchor=encoder.encode(batch.anchor), label=batch.label))["loss"].backward()
            optimizer.step()

    return [seconds(epoch) for _ in range(epochs)]


def densely(rows: CsrRows, index: ExampleIndex, epochs: int) -> list[float]:
    """Seconds of each epoch."""
    model = DenseAutoencoder(rows.width)
    optimizer = torch.optim.Adam(model.parameters())
    matrix = as_scipy(rows)
    label, batches = torch.from_numpy(index.label), EpochBatches(index, BATCH, seed=0)

    def epoch() -> None:
        for chosen in batches:
            optimizer.zero_grad()
            model(torch.from_numpy(matrix[chosen].toarray()), label[chosen]).backward()
            optimizer.step()

    return [seconds(epoch) for _ in range(epochs)]


def as_scipy(rows: CsrRows) -> sp.csr_matrix:
    """The rows with their ones."""
    values = np.ones(len(rows.indices), np.float32)
    return sp.csr_matrix((values, rows.indices, rows.indptr), shape=(len(rows), rows.width))


def check_equal_losses(rows: CsrRows, index: ExampleIndex) -> None:
    """Check, on one batch without masking, that `dense` computes what `twicetold` does.

    Raises:
        AssertionError: if not.
    """
    encoder, model = encoder_of(rows.width).train(), DenseAutoencoder(rows.width)
    chosen = np.arange(min(BATCH, len(rows)))
    encoder.corruption = "none"
    model.hide.weight.data, model.hide.bias.data = encoder.weight.data.T.clone(), encoder.hidden_bias.data.clone()
    label = torch.from_numpy(index.label)[chosen]
    ours = objective()(EncodedBatch(anchor=encoder.encode(rows.gather(chosen)), label=label))["loss"]
    theirs = model(torch.from_numpy(as_scipy(rows)[chosen].toarray()), label, masked=0)
    torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=0)


def gathering(rows: CsrRows, index: ExampleIndex, epochs: int) -> list[float]:
    """Seconds of each epoch of batches."""
    loader = train_loader(index, rows, EpochBatches(index, BATCH, seed=0), workers=0)
    return [seconds(lambda: [len(batch) for batch in loader]) for _ in range(epochs)]


def row_by_row(rows: CsrRows, index: ExampleIndex, epochs: int) -> list[float]:
    """Seconds of each epoch of batches."""
    assert index.label is not None
    data = RowByRow(rows, index.label)
    loader = DataLoader(data, BATCH, shuffle=True, collate_fn=partial(collate, width=rows.width))
    return [seconds(lambda: [len(batch) for batch, _ in loader]) for _ in range(epochs)]


def large_table(batches: int) -> float:
    """Median seconds of a step, those left out in which the C library's heap grows."""
    rng = np.random.default_rng(0)
    table = nn.Parameter(torch.randn(TABLE))
    taken = []
    for _ in range(SETTLING + batches):
        words = torch.from_numpy(rng.integers(0, TABLE[0], BATCH * WORDS))
        batch = SparseRows(words, torch.arange(0, len(words) + 1, WORDS), None, TABLE[0])
        taken.append(seconds(lambda batch=batch: product(batch, table).sum().backward()))  # type: ignore[misc]
        table.grad = None
    return statistics.median(taken[SETTLING:])


def with_adam(make: Callable[[list[nn.Parameter]], torch.optim.Optimizer], batches: int) -> tuple[float, Tensor]:
    """Median seconds of a step, those left out in which most rows have no gradient to look back at; the table read."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    table = nn.Parameter(torch.randn(TABLE))
    adam = make([table])

    def step(words: Tensor) -> None:
        rows = SparseRows(words, torch.arange(0, len(words) + 1, WORDS), None, TABLE[0])
        adam.zero_grad()
        product(rows, table).square().sum().backward()
        clip_gradients([table], 1.0)
        adam.step()

    chance = 1 / np.arange(1, TABLE[0] + 1)
    texts = [rng.choice(TABLE[0], BATCH * WORDS, p=chance / chance.sum()) for _ in range(SETTLING + batches)]
    taken = statistics.median([seconds(partial(step, torch.from_numpy(words))) for words in texts][SETTLING:])
    every = SparseRows(torch.arange(TABLE[0]), torch.arange(TABLE[0] + 1), None, TABLE[0])
    return taken, product(every, table).detach()


def seconds(run: Callable[[], object]) -> float:
    """What it takes."""
    start = time.process_time()
    run()
    return time.process_time() - start


def medians(
    ways: Mapping[str, Way],
    rows: CsrRows,
    index: ExampleIndex,
    *,
    rounds: int,
    epochs: int,
) -> dict[str, float]:
    """Median seconds of an epoch; the ways take turns, after a round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            found = way(rows, index, epochs if turn else 1)
            if turn:
                taken[name] += found
    return {name: statistics.median(times) for name, times in taken.items()}


def show(title: str, found: Mapping[str, float], examples: int) -> None:
    """One table; ratios are to the first way."""
    batches = -(-examples // BATCH)
    print(f"\n{title}\n  {'way':<11}{'epoch':>11}{'a batch':>13}{'batches/s':>12}{'examples/s':>13}{'ratio':>9}")
    first = next(iter(found.values()))
    for name, taken in found.items():
        print(
            f"  {name:<11}{taken:>9.4f} s{1e3 * taken / batches:>10.3f} ms{batches / taken:>12,.0f}"
            f"{examples / taken:>13,.0f}{taken / first:>8.2f}x",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="V = 2,000 in place of 10,000, and fewer rounds")
    parser.add_argument("--headlines", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    rounds, width = (2, 2_000) if options.quick else (5, 10_000)
    count = options.headlines
    label = np.random.default_rng(1).integers(0, CLASSES, count)
    index = ExampleIndex(anchor=np.arange(count), label=label)
    print(
        f"{count:,} headlines, V = {width:,}, B = {BATCH}, {CLASSES} classes, {torch.get_num_threads()} threads",
        flush=True,
    )
    given_back = large_table(2 * SETTLING)
    keep_freed_memory()
    kept = large_table(2 * SETTLING)
    with tempfile.TemporaryDirectory() as folder:
        headlines(count, width).save(Path(folder, "rows"))
        rows = CsrRows.load(Path(folder, "rows"))
        check_equal_losses(rows, index)
        training = {"twicetold": with_fit, "plain loop": in_plain_loop, "dense": densely}
        show("training", medians(training, rows, index, rounds=rounds, epochs=2), count)
        loading = {"twicetold": gathering, "row by row": row_by_row}
        show("batches alone", medians(loading, rows, index, rounds=rounds, epochs=4), count)
    by_rows, table = with_adam(AdamByRows, 2 * SETTLING)
    all_rows, same = with_adam(partial(torch.optim.Adam, fused=True), 2 * SETTLING)
    equal = torch.isclose(table, same, rtol=1e-4, atol=1e-5).double().mean().item()
    if equal < 0.999:  # gradients of the size of Adam's epsilon
        raise AssertionError(f"{equal:.4f} of the numbers of the two tables are equal")
    for title, found in {
        "the gradient": {"twicetold": kept, "given back": given_back},
        "gradient, clipping and Adam": {"twicetold": by_rows, "all rows": all_rows},
    }.items():
        print(f"\na step of a table of {TABLE[0]:,} x {TABLE[1]}: {title}")
        for name, taken in found.items():
            print(f"  {name:<11}{1e3 * taken:>10.3f} ms{taken / found['twicetold']:>8.2f}x")


if __name__ == "__main__":
    main()
