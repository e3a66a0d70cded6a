"""The ten nearest of 160,000 vectors: exact search and indexes of faiss and usearch, on one thread in one run.

Vectors are generated around common centres, which is kind to every index; `--vectors file.npy` takes real ones (rows
of unit length). Time is processor time, so that a busy machine does not blur it. usearch is measured where it is
installed.

    python benchmarks/bench_search.py [--quick] [--vectors file.npy]
"""

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import torch
from numpy.typing import NDArray

from twicetold.search import Index

TEXTS, DIMENSIONS, QUERIES, NEAREST = 160_000, 128, 1000, 10
Search = Callable[[NDArray[np.float32]], NDArray[np.int64]]


def main(arguments: list[str] | None = None) -> None:
    """Print build time, queries a second and recall of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20,000 texts")
    parser.add_argument("--vectors", type=Path, help="a NumPy file of float32 rows of unit length")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    texts = (
        np.load(options.vectors, allow_pickle=False)
        if options.vectors
        else generated(20_000 if options.quick else TEXTS)
    )
    queries = texts[np.random.default_rng(0).choice(len(texts), QUERIES, replace=False)]
    print(f"{NEAREST} nearest of {len(texts):,} x {texts.shape[1]}, {QUERIES:,} queries, one thread, processor time")
    print(f"  {'':32}{'build':>9}{'queries/s':>11}{'recall@10':>11}")
    exact = Index(texts).search(queries, k=NEAREST).similarity[:, -1]
    for name, build in contenders().items():
        started = time.process_time()
        search = build(texts)
        built = time.process_time()
        found = search(queries)
        seconds = time.process_time() - built
        # By similarity, not by row: of equal texts either is right.
        similarity = np.einsum("qd,qkd->qk", queries, texts[found])
        recall = np.mean(similarity >= exact[:, None] - 1e-5)
        print(f"  {name:32}{built - started:8.1f}s{QUERIES / seconds:11,.0f}{recall:11.3f}")


def generated(count: int) -> NDArray[np.float32]:
    """Unit vectors around as many centres as a tenth of their number."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(count // 10, DIMENSIONS))[rng.integers(0, count // 10, count)]
    vectors += 0.7 * rng.normal(size=vectors.shape)
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def contenders() -> dict[str, Callable[[NDArray[np.float32]], Search]]:
    """What is compared."""

    def ours(approximate: bool) -> Callable[[NDArray[np.float32]], Search]:
        def build(texts: NDArray[np.float32]) -> Search:
            index = Index(texts, approximate=approximate)
            return lambda queries: index.search(queries, k=NEAREST).index

        return build

    def flat(texts: NDArray[np.float32]) -> Search:
        index = faiss.IndexFlatIP(texts.shape[1])
        index.add(texts)
        return lambda queries: index.search(queries, NEAREST)[1]

    def graph(texts: NDArray[np.float32]) -> Search:
        index = faiss.IndexHNSWFlat(texts.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction, index.hnsw.efSearch = 64, 128
        index.add(texts)
        return lambda queries: index.search(queries, NEAREST)[1]

    found = {
        "exact, twicetold": ours(False),
        "exact, faiss IndexFlatIP": flat,
        "inverted file, twicetold (faiss)": ours(True),
        "HNSW, faiss": graph,
    }
    return found | (usearch() if importlib.util.find_spec("usearch") else {})


def usearch() -> dict[str, Callable[[NDArray[np.float32]], Search]]:
    """The same with usearch."""
    from usearch.index import Index as Graph
    from usearch.index import MetricKind, search

    def flat(texts: NDArray[np.float32]) -> Search:
        return lambda queries: search(texts, queries, NEAREST, MetricKind.IP, exact=True, threads=1).keys.astype(int)

    def graph(texts: NDArray[np.float32]) -> Search:
        index = Graph(
            ndim=texts.shape[1], metric=MetricKind.IP, connectivity=16, expansion_add=64, expansion_search=128
        )
        index.add(np.arange(len(texts)), texts, threads=1)
        return lambda queries: index.search(queries, NEAREST, threads=1).keys.astype(int)

    return {"exact, usearch": flat, "HNSW, usearch": graph}


if __name__ == "__main__":
    main()
