"""The ten nearest of 160,000 vectors: exact search and indexes of faiss and usearch, on one thread in one run.

Vectors are generated around common centres, which is kind to every index; `--vectors file.npy` takes real ones (rows
of unit length). Time is processor time, so that a busy machine does not blur it. The part of an index folder is read
again and memory-mapped. usearch is measured where it is installed, graphs only up to 200,000 texts. Columns: all
queries at once, and one query at a time, also as a multiple of the time of faiss's exact search. An exact search that
does not find the nearest ends the run.

    python benchmarks/bench_search.py [--quick] [--texts 1000000] [--dimensions 256] [--vectors file.npy]
"""

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from twicetold.index.segments import Segment
from twicetold.neighbours.nearest import Index

TEXTS, DIMENSIONS, QUERIES, NEAREST = 160_000, 128, 1000, 10
SINGLE = 50  # queries that are asked one at a time
GRAPHS_UP_TO = 200_000  # texts: graphs of more take very long to build
FAISS = "exact, faiss IndexFlatIP"
Search = Callable[[NDArray[np.float32]], NDArray[np.int64]]


def main(arguments: list[str] | None = None) -> None:
    """Print build time, queries a second and recall of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20,000 texts")
    parser.add_argument("--vectors", type=Path, help="a NumPy file of float32 rows of unit length")
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--dimensions", type=int, default=DIMENSIONS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    texts = (
        np.load(options.vectors, allow_pickle=False)
        if options.vectors
        else generated(20_000 if options.quick else options.texts, options.dimensions)
    )
    queries = texts[np.random.default_rng(0).choice(len(texts), min(QUERIES, len(texts)), replace=False)]
    print(
        f"{NEAREST} nearest of {len(texts):,} x {texts.shape[1]}, {len(queries):,} queries, one thread, processor time"
    )
    print(f"  {'':36}{'build':>9}{'queries/s':>11}{'recall@10':>11}{'one query':>13}{'times faiss':>13}")
    exact = Index(texts).search(queries, k=NEAREST).similarity[:, -1]
    faiss_exact = None
    for name, build in contenders(len(texts)).items():
        started = time.process_time()
        search = build(texts)
        built = time.process_time()
        found = search(queries)
        seconds = time.process_time() - built
        began = time.process_time()
        for query in queries[:SINGLE]:
            search(query[None])
        single = (time.process_time() - began) / SINGLE
        if name == FAISS:
            faiss_exact = single
        # By similarity, not by row: of equal texts either is right.
        similarity = np.einsum("qd,qkd->qk", queries, texts[found])
        recall = np.mean(similarity >= exact[:, None] - 1e-5)
        if recall < 1 and name.startswith("exact"):
            raise AssertionError(f"{name} finds {recall:.4f} of the nearest")
        ratio = f"{single / faiss_exact:.2f}" if faiss_exact else ""
        line = f"  {name:36}{built - started:8.1f}s{QUERIES / seconds:11,.0f}{recall:11.3f}"
        print(f"{line}{1000 * single:11.2f}ms{ratio:>13}")


def generated(count: int, dimensions: int) -> NDArray[np.float32]:
    """Unit vectors around as many centres as a tenth of their number."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((count // 10, dimensions), np.float32)[rng.integers(0, count // 10, count)]
    vectors += 0.7 * rng.standard_normal(vectors.shape, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def part_of_an_index(texts: NDArray[np.float32]) -> Search:
    """Dense vectors as `twicetold index` keeps them, read from a folder."""
    names = pa.array(map(str, range(len(texts))), pa.large_string())
    with tempfile.TemporaryDirectory() as folder:
        Segment.of(texts, names, names, np.arange(len(texts))).save(Path(folder))
        part = Segment.load(Path(folder), texts=len(texts), groups_file=None)
    return lambda queries: part.search(queries, NEAREST).row.reshape(len(queries), NEAREST)


def contenders(count: int) -> dict[str, Callable[[NDArray[np.float32]], Search]]:
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
        FAISS: flat,
        "exact, twicetold": ours(False),
        "exact, index folder": part_of_an_index,
        "cells, twicetold": ours(True),
        "HNSW, faiss": graph,
    } | (usearch() if importlib.util.find_spec("usearch") else {})
    return {name: build for name, build in found.items() if count <= GRAPHS_UP_TO or "HNSW" not in name}


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
