"""How much faster and smaller is `batch_all` than forming every triplet: forward and backward, on CPU, in one run.

    python benchmarks/bench_triplet.py [--quick] [--threads N]

Compared are three ways to the same number, the mean of softplus(h_a·h_n − h_a·h_p) over all valid triplets, and its
gradient, for a batch of B rows in 4 balanced classes (float32):

- `twicetold`: `twicetold.objectives.class_triplets.batch_all`.
- `dense`: the B×B×B definition in plain torch.
- `pml`: pytorch-metric-learning, `TripletMarginLoss(smooth_loss=True, triplets_per_anchor="all")` on dot products.

Times are of runs that take turns; the ratio is that of the medians. Peak extra memory is what the first call adds to a
fresh process's peak resident size. Only a quiet machine makes the times comparable: `twicetold` is many short parallel
steps, whose threads wait for each other, so it suffers most from other work on the same cores. On a busy machine
`--threads 1` gives ratios that can be trusted.
At B = 1024 the other two need some 12 GB and up to a minute a run; `--quick` leaves that size out.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from twicetold.objectives.class_triplets import batch_all
from twicetold.trained.memory import peak_resident

EMBEDDING = 50
CLASSES = 4
LOSSES = ("twicetold", "dense", "pml")
# Timed runs, after one that is not; the slow ones are slow enough to need few.
RUNS = {256: {"twicetold": 41, "dense": 7, "pml": 5}, 512: {"twicetold": 21, "dense": 3, "pml": 3}}
RUNS_LARGE = {"twicetold": 21, "dense": 1, "pml": 1}


@dataclass(frozen=True)
class Measured:
    """One way at one size."""

    median: float
    fastest: float
    extra_bytes: int
    loss: float


def dense(embedding: Tensor, label: Tensor) -> Tensor:
    """The definition: every (a, p, n) of the batch, masked."""
    dots = embedding @ embedding.T
    same = label[:, None] == label
    positive = same & ~torch.eye(len(label), dtype=torch.bool)
    valid = positive[:, :, None] & ~same[:, None, :]
    count = valid.sum()
    gap = dots[:, None, :] - dots[:, :, None]
    return F.softplus(gap.masked_fill_(~valid, -torch.inf)).sum() / count


def metric_learning() -> Callable[[Tensor, Tensor], Tensor]:
    """pytorch-metric-learning's form of it."""
    from pytorch_metric_learning.distances import DotProductSimilarity
    from pytorch_metric_learning.losses import TripletMarginLoss
    from pytorch_metric_learning.reducers import MeanReducer

    loss: Callable[[Tensor, Tensor], Tensor] = TripletMarginLoss(
        margin=0,
        smooth_loss=True,
        triplets_per_anchor="all",
        distance=DotProductSimilarity(normalize_embeddings=False),
        reducer=MeanReducer(),
    )
    return loss


def the_loss(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """One of `LOSSES` as a function of embedding (B, E) and label (B,)."""
    if name == "twicetold":
        return lambda embedding, label: batch_all(embedding, label).loss
    return dense if name == "dense" else metric_learning()


def batch(size: int) -> tuple[Tensor, Tensor]:
    """Rows as a trained denoising autoencoder has them: entries within ±½, some of it shared by the class."""
    generator = torch.Generator().manual_seed(size)
    label = torch.arange(size) % CLASSES
    centre = torch.rand(CLASSES, EMBEDDING, generator=generator) - 0.5
    noise = torch.rand(size, EMBEDDING, generator=generator) - 0.5
    return (0.5 * centre[label] + 0.5 * noise).requires_grad_(), label


def once(loss: Callable[[Tensor, Tensor], Tensor], embedding: Tensor, label: Tensor) -> tuple[float, float]:
    """Seconds of one forward and backward pass, and the loss."""
    embedding.grad = None
    start = time.perf_counter()
    value = loss(embedding, label)
    value.backward()  # type: ignore[no-untyped-call]
    return time.perf_counter() - start, value.item()


def extra_memory(name: str, size: int) -> int:
    """Bytes by which the first call raises the peak resident size of a process that has done a tiny one."""
    command = [sys.executable, __file__, "--peak-of", name, "--size", str(size)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_of(name: str, size: int) -> int:
    """`extra_memory`, inside the fresh process."""
    loss = the_loss(name)
    once(loss, *batch(16))  # imports and thread pools are not the loss's
    data = batch(size)
    before = peak_resident()
    once(loss, *data)
    return peak_resident() - before


def available() -> int:
    """Bytes of memory that a process may still take."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        return 1024 * int(meminfo.read_text().split("MemAvailable:")[1].split()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def measure(size: int) -> dict[str, Measured]:
    """All of `LOSSES` at one batch size, taking turns; those of size B³ only where memory allows."""
    runs = RUNS.get(size, RUNS_LARGE)
    losses = {name: the_loss(name) for name in LOSSES if name == "twicetold" or 14 * size**3 < available()}
    data = batch(size)
    seconds: dict[str, list[float]] = {name: [] for name in losses}
    values: dict[str, float] = {}
    for turn in range(max(runs.values()) + 1):
        for name, loss in losses.items():
            warming_up = turn == 0 and runs[name] > 1
            if warming_up or len(seconds[name]) < runs[name]:
                duration, values[name] = once(loss, *data)
                if not warming_up:
                    seconds[name].append(duration)
    return {
        name: Measured(statistics.median(taken), min(taken), extra_memory(name, size), values[name])
        for name, taken in seconds.items()
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only B = 256 and 512")
    parser.add_argument("--threads", type=int, help="threads for all three, torch's own choice by default")
    parser.add_argument("--peak-of", choices=LOSSES, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.peak_of:
        print(peak_of(options.peak_of, options.size))
        return
    print(
        f"batch-all triplet loss, forward + backward, {CLASSES} balanced classes, E = {EMBEDDING}, float32, "
        f"{torch.get_num_threads()} threads"
    )
    heads = f"{'median':>12} {'fastest':>12} {'ratio':>7}  {'extra memory':>12} {'ratio':>6}"
    print(f"{'B':>5}  {'way':<10}{heads}  loss, relative difference")
    for size in (256, 512) if options.quick else (256, 512, 1024):
        results = measure(size)
        ours = results["twicetold"]
        for name, result in results.items():
            print(
                f"{size:>5}  {name:<10}{1e3 * result.median:>9.2f} ms {1e3 * result.fastest:>9.2f} ms"
                f" {result.median / ours.median:>6.0f}x"
                f" {result.extra_bytes / 2**20:>10.1f} MB {result.extra_bytes / max(ours.extra_bytes, 1):>5.0f}x"
                f"  {result.loss:.8f}  {result.loss / ours.loss - 1:+.1e}",
                flush=True,
            )
        for name in LOSSES:
            if name not in results:
                print(f"{size:>5}  {name:<10} left out: it needs some {14 * size**3 / 2**30:.0f} GB of memory")


if __name__ == "__main__":
    main()
