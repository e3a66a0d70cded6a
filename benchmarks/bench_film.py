"""How FILM's outer iteration grows with the number of texts, and how it compares with pymanopt.

    python benchmarks/bench_film.py [--quick] [--threads N]

The texts are synthetic: rows of 10 words drawn by Zipf's law, of unit length. Each text is the anchor of two triplets.

1. One outer iteration (active anchors, K, ten steps on the manifold) for three numbers of texts, with the exponent that
   fits the times, and the peak of memory beside the coordinates. The paper's form: dot products, whitening 1.
2. The same objective for the same active anchors, from the same start, by `pymanopt`'s conjugate gradients with the
   gradient of equation 28: time of a step, and the value reached after as many steps.
   - `pymanopt`: the function handed to it multiplies by V and C at every call.
   - `pymanopt, K formed`: the function has K, as here. Forming it is counted for both.

Shown are medians of three; ratios are within one run.
"""

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pymanopt
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import norm
from scipy.special import expit

from twicetold.examples.batches import ExampleIndex
from twicetold.features.rows import CsrRows
from twicetold.models.film import Film as FilmMap
from twicetold.objectives.triplet import Triplet
from twicetold.training.solvers.film import Film, FilmSteps, Surrogate
from twicetold.training.solvers.protocol import TrainingData
from twicetold.training.solvers.stiefel import Descent, Function, Matrix, descend, orthonormal

WORDS_OF_A_TEXT = 10
ROUNDS = 3
STEPS = 30
EVERY = 1e3  # a margin that no anchor keeps
COUNTS = [37_500, 75_000, 150_000]
FULL = {"words": 80_000, "rank": 300, "columns": 100}


def texts(count: int, words: int) -> CsrRows:
    """Synthetic TF-IDF rows."""
    rng = np.random.default_rng(0)
    chance = 1 / np.arange(1, words + 1)
    columns = rng.choice(words, count * WORDS_OF_A_TEXT, p=chance / chance.sum())
    rows = np.repeat(np.arange(count), WORDS_OF_A_TEXT)
    matrix = sp.csr_matrix((np.log(2 + words / (1 + columns)), (rows, columns)), shape=(count, words))
    lengths = norm(matrix, axis=1)
    return CsrRows.from_scipy((sp.diags(1 / lengths) @ matrix).tocsr())


def prepared(count: int, *, words: int, rank: int, columns: int) -> tuple[FilmMap, FilmSteps]:
    """A run of FILM before its first step."""
    rng = np.random.default_rng(1)
    anchor = np.repeat(np.arange(count), 2)
    positive, negative = (1 + rng.integers(count - 1, size=len(anchor)) for _ in range(2))
    index = ExampleIndex(anchor=anchor, positive=(anchor + positive) % count, negative=(anchor + negative) % count)
    torch.manual_seed(0)
    encoder = FilmMap(width=words, hidden=columns)
    settings = Film(
        rank=rank,
        svd_rounds=2,
        start="random",
        steps=10,
        iterations=1,
        whitening=1.0,
        smoothing=1.0,
        trust=None,
    )
    data = TrainingData(texts(count, words), np.arange(count), index)
    objective = Triplet(similarity="dot", activation="hinge", margin=1.0, negatives="given", average="all")
    return encoder, settings.prepare(encoder, objective, data, seed=0)


def seconds(run: Callable[[], object]) -> float:
    """Median of a few runs."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def growth(counts: list[int], *, words: int, rank: int, columns: int) -> None:
    """Time and memory of an outer iteration."""
    print(f"\nan outer iteration, {words:,} words, r = {rank}, d = {columns}")
    print(f"  {'texts':>9}{'stored':>12}{'prepare':>10}{'iteration':>12}{'extra memory':>15}{'V':>9}")
    found = []
    for count in counts:
        start = time.perf_counter()
        encoder, under_way = prepared(count, words=words, rank=rank, columns=columns)
        once = time.perf_counter() - start
        taken = seconds(lambda e=encoder, u=under_way: u.step(e, np.arange(0)))  # type: ignore[misc]
        tracemalloc.start()
        under_way.step(encoder, np.arange(0))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        found.append(taken)
        held = under_way.coordinates.nbytes
        print(
            f"  {count:>9,}{count * WORDS_OF_A_TEXT:>12,}{once:>8.1f} s{taken:>10.2f} s"
            f"{peak / 2**20:>11,.0f} MiB{held / 2**20:>5,.0f} MiB",
            flush=True,
        )
    exponent = np.polyfit(np.log(counts), np.log(found), 1)[0]
    print(f"  time grows as texts^{exponent:.2f}")


def against_pymanopt(count: int, *, words: int, rank: int, columns: int) -> None:
    """The same objective, every anchor active, from the same start, by a general toolbox."""
    _, under_way = prepared(count, words=words, rank=rank, columns=columns)
    triplets, v = under_way.triplets, under_way.coordinates
    begun = orthonormal(np.random.default_rng(2).standard_normal((rank, columns)))
    share = triplets.share[triplets.owner]
    places = (np.tile(triplets.anchor, 2), np.concatenate([triplets.positive, triplets.negative]))
    weights = sp.csr_matrix((np.concatenate([share, -share]), places), shape=(count, count), dtype=np.float32)

    def from_v_and_c(point: Matrix) -> tuple[float, Matrix]:
        """f2 and its gradient by products with V and C, at every call."""
        placed = v @ point.astype(np.float32)  # (n, d)
        pulled = (v.T @ (weights @ placed + weights.T @ placed) / 2).astype(np.float64)
        k = np.einsum("rd,rd->d", point, pulled)
        mu = np.logaddexp(0, k)
        return float(-(k * mu).sum() / 2), -pulled * (mu + k * expit(k))

    def formed() -> Surrogate:
        return Surrogate(triplets.pull(v, v[:, :columns], margin=EVERY).matrix, 1.0)

    def ours() -> tuple[int, float]:
        end, trace = descend(formed(), Descent(begun, begun), steps=STEPS)
        return end.count, trace.value[-1]

    def theirs(function: Function) -> tuple[int, float]:
        manifold = pymanopt.manifolds.Stiefel(rank, columns)
        problem = pymanopt.Problem(
            manifold,
            pymanopt.function.numpy(manifold)(lambda point: function(point)[0]),
            euclidean_gradient=pymanopt.function.numpy(manifold)(lambda point: function(point)[1]),
        )
        optimizer = pymanopt.optimizers.ConjugateGradient(max_iterations=STEPS, verbosity=0)
        result = optimizer.run(problem, initial_point=begun)
        return result.iterations, float(result.cost)

    ways = {
        "twicetold": ours,
        "pymanopt": lambda: theirs(from_v_and_c),
        "pymanopt, K formed": lambda: theirs(formed()),
    }
    print(f"\n{STEPS} steps for given active anchors, {count:,} texts, r = {rank}, d = {columns}")
    print(f"  {'way':<20}{'a step':>10}{'slower':>9}{'f2 reached':>13}")
    first = 0.0
    for way, run in ways.items():
        results: list[tuple[int, float]] = []
        taken = seconds(lambda r=run, into=results: into.append(r())) / results[-1][0]  # type: ignore[misc]
        first = first or taken
        print(f"  {way:<20}{1e3 * taken:>7.1f} ms{taken / first:>8.1f}x{results[-1][1]:>13.5f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the texts, a third of the rank")
    parser.add_argument("--threads", type=int, help="taken for the sake of make bench; set OMP_NUM_THREADS instead")
    options = parser.parse_args(arguments)
    shape = {"words": 8_000, "rank": 100, "columns": 30} if options.quick else FULL
    counts = [count // 10 for count in COUNTS] if options.quick else COUNTS
    growth(counts, **shape)
    against_pymanopt(counts[1], **shape)


if __name__ == "__main__":
    main()
