"""An index in parts, larger than one would build at once: latency, recall and memory of a search in its folder.

Vectors are sums of two of 100,000 base vectors, whose spectrum falls as that of real texts does; `--vectors file.npy`
takes the rows of a file as base vectors. Each part has a million by default, and all parts have the centres of one
sample. The folder is kept, so that the same command with more `--parts` adds what is missing. The search runs in a
process of its own, which reads nothing but the folder: its resident memory is that of a search, mapped files included.
Time is processor time on one thread. `--faiss` compares an inverted file of faiss over the same centres, `--hnsw` its
graph with 16 neighbours, both in memory.

    python benchmarks/bench_parts.py FOLDER [--parts 10] [--texts 1000000] [--dimensions 128] [--cells 1000]
        [--faiss] [--hnsw]
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision
from twicetold.index.centres import Centres
from twicetold.index.folder import MANIFEST, IndexManifest, read, save_changes
from twicetold.index.parts import rows_of
from twicetold.index.probing import nearest
from twicetold.index.segments import Segment
from twicetold.index.texts import SCHEMA
from twicetold.neighbours.cells import PER_CENTRE, centres_of

Compare: TypeAlias = Callable[
    [list[Segment], Centres, NDArray[np.float32], NDArray[np.float32]], None
]  # of parts, centres, queries and the least similarity of the nearest ones of each

BASE, ASKED, SINGLE, NEAREST = 100_000, 100, 20, 10
OF_CENTRES, OF_QUERIES = 10**6, 10**6 + 1  # numbers of the draws; parts have lower ones


def main(arguments: list[str] | None = None) -> None:
    """Build the parts that are missing, then search in another process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--texts", type=int, default=1_000_000, help="of a part")
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--vectors", type=Path, help="a NumPy file of float32 rows")
    parser.add_argument("--faiss", action="store_true", help="compare with faiss, which holds all vectors")
    parser.add_argument("--hnsw", action="store_true", help="compare with a graph of faiss, which takes long to build")
    parser.add_argument("--search", action="store_true", help="only search")
    options = parser.parse_args(arguments)
    base = based_on(options.vectors, options.dimensions)
    if options.search:
        compared = [compare for compare, asked in ((by_faiss, options.faiss), (by_graph, options.hnsw)) if asked]
        search(options.folder, drawn(base, OF_QUERIES, ASKED), compared)
        return
    build(options.folder, base, parts=options.parts, texts=options.texts, cells=options.cells)
    given = sys.argv[1:] if arguments is None else arguments
    subprocess.run([sys.executable, __file__, *given, "--search"], check=True)


def based_on(file: Path | None, dimensions: int) -> NDArray[np.float32]:
    """Base vectors."""
    if file is not None:
        return np.array(np.load(file, mmap_mode="r", allow_pickle=False)[:, :dimensions])
    return np.random.default_rng(0).standard_normal((BASE, dimensions), np.float32) / np.sqrt(
        1 + np.arange(dimensions, dtype=np.float32)
    )


def drawn(base: NDArray[np.float32], number: int, count: int) -> NDArray[np.float32]:
    """Unit vectors, each a sum of two base vectors."""
    rng = np.random.default_rng(number)
    vectors = base[rng.integers(0, len(base), count)]
    vectors += base[rng.integers(0, len(base), count)]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return vectors


def build(folder: Path, base: NDArray[np.float32], *, parts: int, texts: int, cells: int) -> None:
    """Write the parts that are not there."""
    manifest = IndexManifest("/none", "none", Decision(0.5, 1.0, 0.0), groups=False, by_vectors=True)
    segments: list[Segment] = []
    if (folder / MANIFEST).exists():
        manifest, segments, centres = read(folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        centres = Centres(centres_of(drawn(base, OF_CENTRES, PER_CENTRE * cells), cells))
    for part in range(len(segments), parts):
        started = time.process_time()
        ids = np.arange(part * texts, (part + 1) * texts)
        said = [f"how do I learn subject number {number} quickly and without pain" for number in ids]
        table = pa.table([pa.array(ids).cast(pa.string()), pa.array(said), pa.array(ids)], schema=SCHEMA)
        fresh = Segment.of(drawn(base, part, texts), table, centres=centres).changed(source=f"part {part}")
        manifest = IndexManifest(**{**vars(manifest), "next_group": (part + 1) * texts})
        save_changes(folder, manifest, [*segments, fresh], centres)
        del fresh, table, said
        manifest, segments, centres = read(folder)
        print(f"part {part}: {time.process_time() - started:.1f} s", flush=True)


def search(folder: Path, queries: NDArray[np.float32], compared: Sequence[Compare]) -> None:
    """Measure a search, and what it is compared with."""
    started = time.process_time()
    _, segments, centres = read(folder)
    assert centres is not None
    count, opened = sum(map(len, segments)), time.process_time() - started
    print(f"{count:,} texts in {len(segments)} parts, {len(centres):,} cells, opened in {opened:.2f} s; {memory()}")
    found = {}
    for probes in (4, 16, 64):
        singles = []
        for query in queries[:SINGLE]:
            began = time.process_time()
            rows_of(segments, nearest(segments, centres, query[None], NEAREST, nprobe=probes).nearest(NEAREST).row)
            singles.append(time.process_time() - began)
        began = time.process_time()
        found[probes] = nearest(segments, centres, queries, NEAREST, nprobe=probes).nearest(NEAREST)
        each = (time.process_time() - began) / len(queries)
        one, worst = 1000 * np.quantile(singles, [0.5, 0.95])
        said = f"one query {one:.1f} ms (95 %: {worst:.1f}), of many {1000 * each:.2f} ms"
        print(f"{probes} cells: {said}; {memory()}", flush=True)
    began = time.process_time()
    exact = nearest(segments, centres, queries, NEAREST, exact=True).nearest(NEAREST)
    print(f"exact: of many {1000 * (time.process_time() - began) / len(queries):.1f} ms; {memory()}")
    least = exact.similarity.reshape(-1, NEAREST)[:, -1]
    for probes, hits in found.items():
        print(
            f"{probes} cells: recall@{NEAREST} {np.sum(hits.similarity >= least[hits.query] - 1e-5) / exact.row.size}"
        )
    for compare in compared:
        compare(segments, centres, queries, least)


def by_faiss(
    segments: list[Segment], centres: Centres, queries: NDArray[np.float32], least: NDArray[np.float32]
) -> None:
    """The same with an inverted file of faiss over the same centres."""
    import faiss

    faiss.omp_set_num_threads(1)
    dimensions = centres.vectors.shape[1]
    file = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimensions), dimensions, len(centres), faiss.METRIC_INNER_PRODUCT)
    file.quantizer.add(centres.vectors)
    file.is_trained = True
    for segment in segments:
        file.add(np.array(segment.vectors))
    for probes in (4, 16, 64):
        file.nprobe = probes
        print(f"faiss, {probes} cells: {_searched(file, queries, least)}", flush=True)


def by_graph(
    segments: list[Segment], centres: Centres, queries: NDArray[np.float32], least: NDArray[np.float32]
) -> None:
    """The same with a graph of faiss."""
    import faiss

    faiss.omp_set_num_threads(1)
    graph = faiss.IndexHNSWFlat(centres.vectors.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
    started = time.process_time()
    for segment in segments:
        graph.add(np.array(segment.vectors))
    print(f"faiss, HNSW: built in {time.process_time() - started:.0f} s", flush=True)
    for candidates in (32, 128):
        graph.hnsw.efSearch = candidates
        print(f"faiss, HNSW, {candidates} candidates: {_searched(graph, queries, least)}", flush=True)


def _searched(file: Any, queries: NDArray[np.float32], least: NDArray[np.float32]) -> str:
    """Latency, recall and memory of an index of faiss."""
    singles = []
    for query in queries[:SINGLE]:
        began = time.process_time()
        file.search(query[None], NEAREST)
        singles.append(time.process_time() - began)
    began = time.process_time()
    similarity = file.search(queries, NEAREST)[0]
    each = (time.process_time() - began) / len(queries)
    recall = np.mean(similarity >= least[:, None] - 1e-5)
    said = f"one query {1000 * np.median(singles):.1f} ms, of many {1000 * each:.2f} ms"
    return f"{said}, recall@{NEAREST} {recall:.4f}; {memory()}"


def memory() -> str:
    """Resident memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = {line.split()[0]: int(line.split()[1]) / 1e6 for line in lines if line.startswith(("VmRSS", "RssFile"))}
    return f"{held['VmRSS:']:.2f} GB resident, {held['RssFile:']:.2f} of them mapped files"


if __name__ == "__main__":
    main()
