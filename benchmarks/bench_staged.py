"""A dedupe of a folder in stages by number of texts: processor time, memory, disk, agreement with true groups.

    python benchmarks/bench_staged.py [--quick] [--texts 125000,250000] [--workers 2] [--memory 2GB] [--json FILE]
    python benchmarks/bench_staged.py --peers [--texts 125000]

Texts are those of `staged_texts`, in eight Parquet parts, which are compared without a model. Memory is the greatest
sum of resident sizes of the command and its workers, looked at every second; disk is the most that the folder which is
written held then. ARI is with the groups that texts were made in.

`--peers` measures semhash with WordLlama's vectors (extra `static`) from a cosine of 0.9 on, and rensa's MinHash of
words (128 permutations, Jaccard from 0.7 on), on one thread, with all texts in memory (extra `bench`).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from bench_throughput import OF_QUORA, texts_of
from sklearn.metrics import adjusted_rand_score
from staged_texts import write_parts

from twicetold.neighbours.components import components
from twicetold.trained.fitted import FILES, _installed
from twicetold.trained.fitted_static import FittedStatic
from twicetold.trained.memory import peak_resident
from twicetold_lab.data.sources.quora import FILE

TEXTS, QUICK, PARTS, COSINE, KNOWN = (125_000, 250_000, 500_000), (2_000, 4_000), 8, 0.9, 20_000
JACCARD, PERMUTATIONS, BANDS = 0.7, 128, 16
STAGES = ".stages"


def save_model(folder: Path, texts: Sequence[str]) -> Path:
    """A model folder of WordLlama's vectors.

    Raises:
        SystemExit: if they are not installed.
    """
    package = _installed()
    if package is None:
        sys.exit("needs WordLlama: pip install -e '.[static]'")
    vectors = folder / "wordllama"
    vectors.mkdir(parents=True)
    for name, file in FILES.items():
        (vectors / name).symlink_to(package / file)
    FittedStatic.to(list(dict.fromkeys(texts)), vectors).save(folder / "model", texts, name="texts")
    return folder / "model"


def read_parts(folder: Path) -> pa.Table:
    """All rows."""
    return pa.concat_tables(map(pq.read_table, sorted(folder.glob("*.parquet"))))


class Watch(threading.Thread):
    """Looks at the memory of a process and its children, and at the bytes of a folder, every second."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        super().__init__(daemon=True)
        self.process, self.folder, self.memory, self.disk = process, folder, 0, 0

    def run(self) -> None:
        """Until the process has ended."""
        while self.process.poll() is None:
            try:
                main = psutil.Process(self.process.pid)
                there = [main, *main.children(recursive=True)]
                self.memory = max(self.memory, sum(each.memory_info().rss for each in there))
            except psutil.NoSuchProcess:
                pass
            sizes = 0
            for path in self.folder.rglob("*"):
                try:
                    sizes += path.stat().st_size
                except FileNotFoundError:
                    continue
            self.disk = max(self.disk, sizes)
            time.sleep(1)


def measured(count: int, workers: int, memory: str) -> dict[str, Any]:
    """What the command takes with so many texts."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        write_parts(place / "in", count, PARTS)
        texts = read_parts(place / "in")
        line = [sys.executable, "-m", "twicetold", "dedupe", str(place / "in"), "-o", str(place / "out")]
        line += ["--folder", f"workers={workers}", "--folder", f"memory={memory}"]
        before = psutil.Process().cpu_times()
        process = subprocess.Popen([*line, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        watch = Watch(process, place / "out")
        watch.start()
        said, errors = process.communicate()
        if process.returncode:
            sys.exit(errors)
        after = psutil.Process().cpu_times()
        found = json.loads(said)
        group = read_parts(place / "out")["group"].to_numpy()
        return {
            "texts": count,
            "cpu": sum(
                getattr(after, f"children_{each}") - getattr(before, f"children_{each}") for each in ("user", "system")
            ),
            "memory": watch.memory,
            "disk": watch.disk,
            "ari": adjusted_rand_score(texts["story"].to_numpy(), group),
            "links": found["summary"]["links"],
            "groups": found["summary"]["groups"],
        }


def by_semhash(texts: Sequence[str], folder: Path) -> np.ndarray:
    """Groups by semhash with the same vectors: each duplicate and those that it is a duplicate of."""
    from semhash import SemHash

    from twicetold.use import load

    model = load(save_model(folder, texts[:KNOWN]))

    class Encoder:
        def encode(self, inputs: Sequence[str], **_: object) -> object:
            return model.encode(list(inputs))

    result = SemHash.from_records(records=list(texts), model=Encoder()).self_deduplicate(threshold=COSINE)
    number = {text: place for place, text in reversed(list(enumerate(texts)))}
    pairs = [
        (number[each.record], number[other])
        for each in result.filtered
        for other, _ in each.duplicates or [(each.record, 1.0)]
    ]
    equal = [(place, number[text]) for place, text in enumerate(texts)]
    left, right = np.array([*pairs, *equal], np.int64).T
    return components(len(texts), left, right)


def by_rensa(texts: Sequence[str], folder: Path) -> np.ndarray:
    """Groups by rensa's MinHash: components of pairs whose estimated Jaccard similarity reaches the threshold."""
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS, num_bands=BANDS)
    hashes, pairs = [], []
    for number, text in enumerate(texts):
        each = RMinHash(num_perm=PERMUTATIONS, seed=0)
        each.update(text.lower().split())
        near = (other for other in index.query(each) if each.jaccard(hashes[other]) >= JACCARD)
        pairs += [(other, number) for other in near]
        index.insert(number, each)
        hashes.append(each)
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    return components(len(texts), left, right)


PEERS = {"semhash": by_semhash, "rensa": by_rensa}


def peer(name: str, count: int) -> dict[str, Any]:
    """What a peer takes, in a process of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        write_parts(Path(temporary, "in"), count, 1)
        table = read_parts(Path(temporary, "in"))
        texts = table["text"].to_pylist()
        began = time.process_time()
        group = PEERS[name](texts, Path(temporary))
        cpu = time.process_time() - began
    ari = adjusted_rand_score(table["story"].to_numpy(), group)
    return {"peer": name, "texts": count, "cpu": cpu, "memory": peak_resident(), "ari": ari}


def exponent(results: Sequence[dict[str, Any]]) -> float:
    """Of processor time in the number of texts, by least squares of logarithms."""
    texts, cpu = (np.log([each[name] for each in results]) for name in ("texts", "cpu"))
    return float(np.polyfit(texts, cpu, 1)[0])


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few thousand texts")
    parser.add_argument("--texts", help="numbers of texts, with commas between")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    sizes = [int(n) for n in options.texts.split(",")] if options.texts else QUICK if options.quick else TEXTS
    if max(sizes) > max(QUICK) and texts_of(1)[1] != OF_QUORA:
        print(f"nothing measured: set TWICETOLD_MIRROR to a folder that has quora/{FILE}, or give --quick")
        return
    results = []
    for count in sizes:
        if options.peers:
            for name in PEERS:
                with get_context("spawn").Pool(1) as alone:  # its peak of memory is its own
                    results.append(alone.apply(peer, (name, count)))
                print(
                    {key: round(value, 3) if isinstance(value, float) else value for key, value in results[-1].items()}
                )
            continue
        results.append(took := measured(count, options.workers, options.memory))
        print(
            f"{count:>10,} texts {took['cpu']:8.1f} s CPU {took['memory'] / 1e6:7,.0f} MB "
            f"{took['disk'] / 1e9:6.2f} GB on disk, ARI {took['ari']:.3f}, {took['links']:,} links",
            flush=True,
        )
    if len(results) > 1 and not options.peers:
        print(f"exponent {exponent(results):.2f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
