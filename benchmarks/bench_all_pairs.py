"""All-pairs AUROC for two labels against scikit-learn on the materialised pairs, as ratios in one run.

Each side runs in a process of its own, which reports its time and its peak memory above what imports and input
take. The time for 422,419 documents is projected from an evenly spaced share of their tile rows, weighted by
pairs; the pass within the second label's groups is run in full.

    python benchmarks/bench_all_pairs.py [--quick]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.all_pairs import BINS, pair_counts
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.score_scale import ScoreScale
from twicetold.evaluation.tiles import Tiling, count_row, tiles_of
from twicetold.neighbours.parallel import in_parallel
from twicetold.trained.memory import peak_resident

DOCUMENTS, ALL_DOCUMENTS, DIMENSIONS = 10_348, 422_419, 50
CATEGORIES = (0.361, 0.275, 0.256, 0.108)  # shares in the UCI News Aggregator data
PER_STORY = 58  # documents of a story there, on average: 422,419 in 7,230 stories


def main(arguments: list[str] | None = None) -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3,000 documents, and a small share of the projection")
    parser.add_argument("--measure", choices=sorted(MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("--documents", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--every", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(MEASURES[options.measure](options.documents, options.every)))
    else:
        compare(3_000 if options.quick else DOCUMENTS, every=64 if options.quick else 16)


def compare(count: int, *, every: int) -> None:
    """Print one table: ours, scikit-learn's, the ratios, and the projection."""
    ours, theirs = measure("ours", count), measure("scikit-learn", count)
    pairs = count * (count - 1) // 2
    print(f"all-pairs AUROC of 2 labels, {count:,} documents x {DIMENSIONS} dimensions, {pairs:,} pairs")
    for name, result in (("twicetold", ours), ("scikit-learn", theirs)):
        print(f"  {name:13}{result['seconds']:9.3f} s {result['megabytes']:9.0f} MB")
    time_ratio, memory_ratio = (theirs[key] / max(ours[key], 1e-9) for key in ("seconds", "megabytes"))
    print(f"  {'ratio':13}{time_ratio:9.0f} x {memory_ratio:9.0f} x")
    apart = max(abs(ours["area"][name] - theirs["area"][name]) for name in ours["area"])
    print(f"  largest difference of an area: {apart:.1e} (bound {max(ours['bound'].values()):.1e})")
    projection = measure("projection", ALL_DOCUMENTS, every)
    print(
        f"{ALL_DOCUMENTS:,} documents: {projection['projected'] / 60:.1f} minutes projected from "
        f"{projection['share']:.1%} of the pairs in {projection['seconds']:.1f} s, {projection['megabytes']:.0f} MB"
    )


def measure(name: str, count: int, every: int = 1) -> dict[str, Any]:
    """What one measurement reports from a process of its own."""
    command = [sys.executable, __file__, "--measure", name, "--documents", str(count), "--every", str(every)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(f"measuring {name} failed:\n{answer.stderr}")
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


def documents(count: int) -> DocumentVectors:
    """Unit vectors that lean towards the centre of their category and of their story."""
    rng = np.random.default_rng(0)
    stories = max(2, count // PER_STORY)
    category, story = rng.choice(4, count, p=CATEGORIES), rng.integers(0, stories, count)
    vectors = rng.standard_normal((count, DIMENSIONS), dtype=np.float32)
    vectors += 0.4 * rng.standard_normal((4, DIMENSIONS), dtype=np.float32)[category]
    vectors += rng.standard_normal((stories, DIMENSIONS), dtype=np.float32)[story]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return DocumentVectors(vectors, vectors, {"category": category, "story": story})


def ours(count: int, _: int) -> dict[str, Any]:
    """Median of five runs."""
    vectors = documents(count)
    before, seconds = peak_resident(), []
    for _ in range(5):
        start = time.perf_counter()
        counts = pair_counts(vectors)
        area = {name: each.auroc() for name, each in counts.items()}
        seconds.append(time.perf_counter() - start)
    bound = {name: each.resolution_error() for name, each in counts.items()}
    used = {"seconds": statistics.median(seconds), "megabytes": (peak_resident() - before) / 2**20}
    return used | {"area": area, "bound": bound}


def scikit_learn(count: int, _: int) -> dict[str, Any]:
    """One run: the scores of all pairs once, then `roc_auc_score` for each label."""
    from sklearn.metrics import roc_auc_score

    vectors = documents(count)
    before, start = peak_resident(), time.perf_counter()
    upper = np.triu_indices(count, 1)
    scores = (vectors.left @ vectors.right.T)[upper]

    def area(codes: NDArray[np.int64]) -> float:
        return float(roc_auc_score(codes[upper[0]] == codes[upper[1]], scores))

    found = {name: area(codes) for name, codes in vectors.groups.items()}
    return {"seconds": time.perf_counter() - start, "megabytes": (peak_resident() - before) / 2**20, "area": found}


def projection(count: int, every: int) -> dict[str, Any]:
    """Every `every`-th tile row of the pass over all pairs, and the whole pass within stories."""
    vectors = documents(count)
    before, start = peak_resident(), time.perf_counter()
    scale = ScoreScale.covering(vectors, bins=BINS)
    tiling = Tiling.of(vectors.groups["category"])
    tiles = tiles_of(vectors, scale, order=tiling.order)
    ready = time.perf_counter()
    rows = range(every // 2, len(tiling.parts), every)
    counted = 0
    for within, across in in_parallel(lambda row: count_row(tiles, tiling, rows[row], BINS, True), len(rows)):
        counted += int(within.sum() + across.sum())
    passed = time.perf_counter()
    stories = Tiling.of(vectors.groups["story"])
    tiles = tiles_of(vectors, scale, order=stories.order)
    for _ in in_parallel(lambda row: count_row(tiles, stories, row, BINS, False), len(stories.parts)):
        pass
    end = time.perf_counter()
    share = counted / (count * (count - 1) / 2)
    projected = (ready - start) + (passed - ready) / share + (end - passed)
    used = {"seconds": end - start, "megabytes": (peak_resident() - before) / 2**20}
    return used | {"share": share, "projected": projected}


MEASURES = {"ours": ours, "scikit-learn": scikit_learn, "projection": projection}

if __name__ == "__main__":
    main()
