"""Whether a dedupe in stages gives the same whatever it runs on, however it is cut in parts, and whatever ends it.

    python tools/check_staged.py [MODEL...] --texts FILE [--block 4096] [--on here,processes,dask,ray,spark,slurm]
        [--kills 50]

Without a model, then for each model, rule, engine and number of parts it prints a hash of the groups, representatives
and probabilities, and compares it with that of one file. Without a model, more texts than `--block` are compared in
blocks; take more than 8,000, as a file compares the vectors of fewer without cells. With `--kills`, runs are killed at
moments that are spread over a whole run, and workers of each engine are killed; the same command goes on, and the bytes
that it writes must be those of a run that nothing ended.

Engines whose package is not there, and Spark without Java, are left out; Slurm without `sbatch` is submitit's stand-in
for it. Exit status 1: something differs.
"""

import argparse
import hashlib
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from twicetold.packages import PackageMissing, require_package
from twicetold.staged.folder_dedupe import dedupe_folder
from twicetold.staged.launch import ENGINES, Launch, launching
from twicetold.staged.plan import Settings
from twicetold.tables.files import choose_text, open_rows
from twicetold.use import fit, load

RULES, PARTS = ("average", "components"), (1, 3, 7)
HERE = "here"  # tasks run in this process
WORKERS = {"processes": "loky", "dask": "spawn_main", "ray": "ray::", "spark": "pyspark.daemon", "slurm": "submitit"}
"""By engine: words of the commands of its workers."""


def started(engine: str) -> AbstractContextManager[Launch]:
    """Two workers of an engine, or this process."""
    return launching("processes", 1) if engine == HERE else launching(engine, 2)


def installed(names: Sequence[str]) -> list[str]:
    """Those engines that can be used here; the others are named."""
    usable = []
    for name in names:
        try:
            if name != HERE:
                require_package(ENGINES[name][0], name)
            if name == "spark" and shutil.which("java") is None:
                raise PackageMissing("spark needs Java")
            usable.append(name)
        except PackageMissing as error:
            print(f"left out: {error}")
    return usable


def write_parts(folder: Path, texts: Sequence[str], count: int) -> Path:
    """Texts in so many Parquet parts."""
    folder.mkdir(parents=True)
    bounds = np.linspace(0, len(texts), count + 1).round().astype(int).tolist()
    for number in range(count):
        some = list(texts[bounds[number] : bounds[number + 1]])
        pq.write_table(pa.table({"text": some}), folder / f"part-{number}.parquet")
    return folder


def hash_of(columns: Sequence[Any]) -> str:
    """Of columns of numbers."""
    total = hashlib.sha256()
    for column in columns:
        total.update(np.ascontiguousarray(column).tobytes())
    return total.hexdigest()[:16]


def of_parts(out: Path) -> str:
    """Hash of the columns that a dedupe added."""
    table = pa.concat_tables(map(pq.read_table, sorted(out.glob("*.parquet"))))
    return hash_of([np.asarray(table[name]) for name in table.column_names[-3:]])


def of_one_file(model: str, texts: Sequence[str], threshold: float | None, rule: Any) -> tuple[str, int]:
    """The same of all texts at once, and how many groups they make."""
    found = (load(model) if model else fit(texts)).dedupe(texts, threshold=threshold, rule=rule)
    return hash_of([found.group, found.representative + 1, found.probability]), found.summary.counts.groups


def compare(
    models: Sequence[str],
    texts: Sequence[str],
    engines: Sequence[str],
    threshold: float | None,
    few: Sequence[str],
    block: int,
) -> int:
    """Print a line a combination; how many differ.

    Args:
        models: their folders; empty without one.
        texts: that are grouped.
        engines: what tasks run on.
        threshold: of links, by a model.
        few: engines that run one number of parts for each model and rule, as each run takes long.
        block: texts of a block.
    """
    wrong = 0
    for turn, (model, rule) in enumerate((model, rule) for model in models for rule in RULES):
        name, least = _name(model), threshold if model else None
        expected, groups = of_one_file(model, texts, least, rule)
        print(f"{name:<16} {rule:<12} one file           {expected} {groups} groups", flush=True)
        if not groups:
            sys.exit("there is nothing to compare: lower --threshold")
        for engine in engines:
            with started(engine) as launch:
                for count in PARTS if engine not in few else [PARTS[(turn + 1) % len(PARTS)]]:
                    with tempfile.TemporaryDirectory() as temporary:
                        place = Path(temporary)
                        settings = Settings(
                            model=model, out=f"{place / 'out'}", threshold=least, rule=rule, block=block
                        )
                        began = time.monotonic()
                        dedupe_folder(write_parts(place / "in", texts, count), settings, launch)
                        found = of_parts(place / "out")
                    wrong += found != expected
                    said = "equal" if found == expected else "DIFFERS"
                    took = time.monotonic() - began
                    line = f"{name:<16} {rule:<12} {engine:<10} {count} parts {found} {said}"
                    print(f"{line} {took:6.1f} s", flush=True)
    return wrong


def _name(model: str) -> str:
    return Path(model).resolve().parent.name if model else "no model"


def kill(model: str, texts: Sequence[str], threshold: float | None, kills: int, block: int) -> int:
    """End a run at many moments and go on; how many of the results differ from that of a run that nothing ended.

    Runs are forks of this process, so that imports take no time.
    """
    wrong = ended = 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        folder = write_parts(place / "in", texts, 3)

        def dedupe(out: str) -> None:
            # several blocks and shards: as of many texts
            settings = Settings(model=model, out=f"{place / out}", threshold=threshold, memory=50_000_000, block=block)
            with started(HERE) as launch:
                dedupe_folder(folder, settings, launch)

        dedupe("whole")  # the first run imports what the stages need
        began = time.monotonic()
        dedupe("again")
        took = time.monotonic() - began
        expected = {path.name: path.read_bytes() for path in (place / "whole").glob("*.parquet")}
        chance = random.Random(0)
        for number in range(kills):
            driver = get_context("fork").Process(target=dedupe, args=("out",))
            driver.start()
            driver.join(took * (number + chance.random()) / kills)
            driver.kill()
            driver.join()
            ended += driver.exitcode != 0
            before = sorted(path.name for path in (place / "out").rglob("*.done"))
            dedupe("out")
            found = {path.name: path.read_bytes() for path in (place / "out").glob("*.parquet")}
            if found != expected:
                wrong += 1
                print(f"kill {number}, with {len(before)} tasks done: DIFFERS", flush=True)
            shutil.rmtree(place / "out")
    line = f"{kills} runs of {took:.1f} s, {ended} of them killed before their end: {wrong} differ"
    print(f"{_name(model):<16} {line}", flush=True)
    return wrong


def kill_workers(model: str, texts: Sequence[str], threshold: float | None, engine: str, block: int) -> int:
    """Kill a worker of an engine in three stages, and go on if it gives up; whether the result differs."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        folder = write_parts(place / "in", texts, 3)
        killed, runs = list[str](), 0

        def tell(line: str) -> None:
            if line.startswith(("read", "rows", "compare", "join")) and len(killed) < 3:
                Timer(0.5, lambda: killed.extend(_kill_a_worker(engine))).start()

        def dedupe(way: str, progress: Callable[[str], None]) -> dict[str, bytes]:
            settings = Settings(model=model, out=f"{place / way}", threshold=threshold, block=block)
            with started(way) as launch:
                dedupe_folder(folder, settings, launch, progress=progress)
            return {path.name: path.read_bytes() for path in (place / way).glob("*.parquet")}

        whole, found = dedupe(HERE, lambda _: None), None
        while found is None:
            runs += 1
            with suppress(OSError):
                found = dedupe(engine, tell)
    said = "equal" if found == whole else "DIFFERS"
    print(f"{_name(model):<16} {engine}: {len(killed)} workers were killed, {runs} runs: {said}", flush=True)
    return int(found != whole)


def _kill_a_worker(engine: str) -> list[str]:
    """Kill the worker that was started last, and name it."""
    with suppress(psutil.Error):
        for child in sorted(psutil.Process().children(recursive=True), key=lambda each: -each.create_time()):
            if WORKERS[engine] in (command := " ".join(child.cmdline())) and "resource_tracker" not in command:
                child.kill()
                return [command]
    return []


def main() -> None:
    """Compare, kill, and say whether all is equal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", help="model folders")
    parser.add_argument("--texts", required=True, help="a file of texts")
    parser.add_argument("--column", help="with the texts")
    parser.add_argument("--count", type=int, default=12_000, help="texts of it that are used")
    parser.add_argument("--block", type=int, default=4096, help="texts of a block")
    parser.add_argument("--threshold", type=float, help="of links, by a model")
    parser.add_argument("--on", default=",".join([HERE, *ENGINES]), help="with commas between")
    parser.add_argument("--few", default="dask,ray,spark,slurm", help="of these, with one number of parts each")
    parser.add_argument("--kills", type=int, default=0, help="of each model")
    options = parser.parse_args()
    with open_rows(options.texts) as rows:
        column = choose_text(rows, options.column)
        texts = [text for block in rows.blocks([column]) for text in block.texts(column)][: options.count]
    models = ["", *(str(Path(model).resolve()) for model in options.models)]
    engines = installed(options.on.split(",")) if options.on else []
    wrong = 0
    if options.kills:
        for model in models:
            wrong += kill(model, texts, options.threshold if model else None, options.kills, options.block)
        for engine in filter(WORKERS.get, engines):
            wrong += kill_workers("", texts, None, engine, options.block)
    wrong += compare(models, texts, engines, options.threshold, options.few.split(","), options.block)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
