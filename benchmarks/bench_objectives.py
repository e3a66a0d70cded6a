"""In-batch loss with masks against false negatives: time and memory, forward and backward, on CPU, in one run.

    python benchmarks/bench_objectives.py [--quick] [--threads N]

The loss is −log of the softmax over all right texts of the batch, cosines by temperature 0.05, both directions, B pairs
of which some share a cluster (E = 128, float32):

- `twicetold`: `InfoNce`, in blocks of rows.
- `dense`: the same from one B×B matrix and its mask, with `cross_entropy`, as sentence-transformers'
  MultipleNegativesSymmetricRankingLoss does (which has no mask).
- `pml`: pytorch-metric-learning's `NTXentLoss`, which is given the same pairs. It compares every positive pair with
  every negative pair of the batch, so it is there at B = 64 only.

These three have to give the same loss, or the run ends. Beside them, without a yardstick: the other objectives that
compare all rows.

Times are of the processor, on one thread unless `--threads` says more, of runs that take turns; the ratio is that of
the medians. Peak extra memory is what the first call adds to a fresh process's peak resident size.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.trained.memory import peak_resident
from twicetold_lab.objectives.closest_and_mean import ClosestAndMean
from twicetold_lab.objectives.contrastive import Contrastive
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.objectives.triplet import Negatives, Triplet

EMBEDDING, TEMPERATURE, IN_A_CLUSTER = 128, 0.05, 4
COMPARED = ("twicetold", "dense", "pml")
OTHERS = (
    "four negatives",
    "closest_and_mean",
    "n_pair",
    "contrastive",
    "triplet all",
    "triplet semi_hard",
)
LARGEST_OF_PML = 64

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From anchors (B, E), right texts (B, E) and clusters (B,) to the loss."""


def dense(anchor: Tensor, positive: Tensor, group: Tensor) -> Tensor:
    """The whole matrix, masked."""
    logits = F.normalize(anchor) @ F.normalize(positive).T / TEMPERATURE
    kin = (group[:, None] == group).fill_diagonal_(False)
    logits = logits.masked_fill(kin, -torch.inf)
    target = torch.arange(len(group))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def metric_learning() -> Loss:
    """The same pairs, as indices of anchors and positives, and of anchors and negatives."""
    from pytorch_metric_learning.losses import NTXentLoss

    loss = NTXentLoss(temperature=TEMPERATURE)

    def of(anchor: Tensor, positive: Tensor, group: Tensor) -> Tensor:
        own = torch.arange(len(group))
        pairs = own, own, *torch.nonzero(group[:, None] != group, as_tuple=True)
        sides = (anchor, positive), (positive, anchor)
        one, other = (loss(left, indices_tuple=pairs, ref_emb=right, ref_labels=group) for left, right in sides)
        value: Tensor = (one + other) / 2
        return value

    return of


def softmax(negatives: int | None) -> InfoNce:
    """In-batch softmax over cosines, in both directions."""
    return InfoNce(
        temperature=TEMPERATURE,
        similarity="cosine",
        negatives=negatives,
        symmetric=True,
        length_penalty=0.0,
    )


def facenet(negatives: Negatives) -> Triplet:
    """The hinge on distances."""
    return Triplet(similarity="euclidean", activation="hinge", margin=0.2, negatives=negatives, average="nonzero")


def the_loss(name: str) -> Loss:
    """One of `COMPARED` or `OTHERS`."""
    if name == "dense":
        return dense
    if name == "pml":
        return metric_learning()
    objective = {
        "twicetold": softmax(None),
        "four negatives": softmax(4),
        "closest_and_mean": ClosestAndMean(margin=0.25, semi_hard=False),
        "n_pair": InfoNce(
            temperature=1.0,
            similarity="dot",
            negatives=None,
            symmetric=False,
            length_penalty=0.002,
        ),
        "contrastive": Contrastive(margin=1.0),
        "triplet all": facenet("all"),
        "triplet semi_hard": facenet("semi_hard"),
    }[name]

    def of(anchor: Tensor, positive: Tensor, group: Tensor) -> Tensor:
        batch = EncodedBatch(Encoding(anchor), Encoding(positive), group=group, positive_group=group)
        value: Tensor = objective(batch)["loss"]
        return value

    return of


def batch(size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs with a cosine of about 0.5; every `IN_A_CLUSTER` rows are duplicates."""
    generator = torch.Generator().manual_seed(size)
    group = torch.arange(size) // IN_A_CLUSTER
    centre = torch.randn(int(group[-1]) + 1, EMBEDDING, generator=generator)[group]
    anchor, positive = (centre + torch.randn(size, EMBEDDING, generator=generator) for _ in range(2))
    return anchor.requires_grad_(), positive.requires_grad_(), group


def once(loss: Loss, data: tuple[Tensor, Tensor, Tensor]) -> tuple[float, float]:
    """Seconds of the processor for one forward and backward pass, and the loss."""
    data[0].grad = data[1].grad = None
    start = time.process_time()
    value = loss(*data)
    value.backward()  # type: ignore[no-untyped-call]
    return time.process_time() - start, value.item()


def extra_memory(name: str, size: int, threads: int) -> int:
    """Bytes by which the first call raises the peak resident size of a process that has done a tiny one."""
    command = [sys.executable, __file__, "--peak-of", name, "--size", str(size), "--threads", str(threads)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_of(name: str, size: int) -> int:
    """`extra_memory`, inside the fresh process."""
    loss = the_loss(name)
    once(loss, batch(16))  # imports and thread pools are not the loss's
    data = batch(size)
    before = peak_resident()
    once(loss, data)
    return peak_resident() - before


def compare(size: int, names: tuple[str, ...], runs: int) -> None:
    """Time ways that take turns, and print them, with ratios to the first.

    Raises:
        AssertionError: if those of `COMPARED` differ in their loss.
    """
    losses, data = {name: the_loss(name) for name in names}, batch(size)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    values: dict[str, float] = {}
    for turn in range(runs + 1):
        for name, loss in losses.items():
            duration, values[name] = once(loss, data)
            if turn:
                seconds[name].append(duration)
    first, *_ = names
    if first in COMPARED:
        for value in values.values():
            torch.testing.assert_close(value, values[first], rtol=1e-5, atol=0)
    peaks = {name: extra_memory(name, size, torch.get_num_threads()) for name in names}
    for name in names:
        median, fastest = statistics.median(seconds[name]), min(seconds[name])
        print(
            f"{size:>5}  {name:<18}{1e3 * median:>9.1f} ms {1e3 * fastest:>9.1f} ms"
            f" {median / statistics.median(seconds[first]):>7.1f}x"
            f" {peaks[name] / 2**20:>10.1f} MB {peaks[name] / max(peaks[first], 1):>7.1f}x  {values[name]:.6f}",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without B = 4096 and the other objectives")
    parser.add_argument("--sizes", help="values of B, with commas between")
    parser.add_argument("--threads", type=int, default=1, help="threads for all")
    parser.add_argument("--peak-of", choices=COMPARED + OTHERS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    if options.peak_of:
        print(peak_of(options.peak_of, options.size))
        return
    print(
        f"in-batch loss, forward + backward, both directions, clusters of {IN_A_CLUSTER} rows, E = {EMBEDDING}, "
        f"float32, {torch.get_num_threads()} threads"
    )
    print(f"{'B':>5}  {'way':<18}{'median':>12} {'fastest':>12} {'ratio':>8}  {'extra memory':>12} {'ratio':>8}  loss")
    sizes = [int(size) for size in (options.sizes or ("64,1024" if options.quick else "64,1024,4096")).split(",")]
    for size in sizes:
        compare(size, COMPARED if size <= LARGEST_OF_PML else COMPARED[:2], 7)
    if not options.quick:
        compare(sizes[-1], OTHERS, 3)


if __name__ == "__main__":
    main()
