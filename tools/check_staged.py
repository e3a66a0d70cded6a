"""Whether a dedupe in stages gives the same whatever it runs on, however it is cut in parts, and whatever ends it.

    python tools/check_staged.py MODEL... --texts FILE [--on here,processes,spark] [--kills 50]

For each model, rule, launcher and number of parts it prints a hash of the groups, representatives and probabilities,
and compares it with that of one file. With `--kills`, runs are killed at moments that are spread
over a whole run, and the same command goes on; the bytes that it writes must be those of a run that nothing ended.

Spark needs pyspark and Java, and is left out where they are not there. Exit status 1: something differs.
"""

import argparse
import hashlib
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from twicetold.staged.folder_dedupe import dedupe_folder
from twicetold.staged.launch import Launch, launcher
from twicetold.staged.plan import Settings
from twicetold.staged.stages import run
from twicetold.staged.tasks import Task
from twicetold.tables.files import choose_text, open_rows
from twicetold.use import load

RULES, PARTS = ("average", "components"), (1, 3, 7)
ON = ("here", "processes", "spark")


def by_spark(folder: Path, tasks: Sequence[Task]) -> Iterator[Task]:
    """Tasks as rows of a frame, a partition each: the launcher of `docs/guides/scale.md`."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    frame = spark.createDataFrame([tuple(task) for task in tasks], "stage string, name string, digest string")

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                run(folder, Task(**row))
            yield batch

    for row in frame.repartition(len(tasks)).mapInArrow(work, frame.schema).toLocalIterator():
        yield Task(**row.asDict())


def launchers(names: Sequence[str]) -> dict[str, Launch]:
    """Those that are there, by name."""
    known: dict[str, Callable[[], Launch]] = {
        "here": lambda: launcher(1),
        "processes": lambda: launcher(2),
        "spark": lambda: by_spark,
    }
    missing = [name for name in names if name == "spark" and not (find_spec("pyspark") and shutil.which("java"))]
    for name in missing:
        print(f"{name}: left out, as it is not installed")
    return {name: known[name]() for name in names if name not in missing}


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
    found = load(model).dedupe(texts, threshold=threshold, rule=rule)
    return hash_of([found.group, found.representative + 1, found.probability]), found.summary.counts.groups


def compare(
    models: Sequence[str],
    texts: Sequence[str],
    ways: dict[str, Launch],
    threshold: float | None,
    *,
    few: Sequence[str] = (),
) -> int:
    """Print a line a combination; how many differ.

    Args:
        models: their folders.
        texts: that are grouped.
        ways: launchers by name.
        threshold: of links.
        few: launchers that run one number of parts for each model and rule, as each run takes long.
    """
    wrong, done = 0, list[str]()
    for model in models:
        name = Path(model).resolve().parent.name
        for rule in RULES:
            expected, groups = of_one_file(model, texts, threshold, rule)
            print(f"{name:<16} {rule:<12} one file           {expected} {groups} groups", flush=True)
            if not groups:
                sys.exit("there is nothing to compare: lower --threshold")
            for way, launch in ways.items():
                for count in PARTS if way not in few else [PARTS[(len(done) + 1) % len(PARTS)]]:
                    done.append(way)
                    with tempfile.TemporaryDirectory() as temporary:
                        place = Path(temporary)
                        settings = Settings(model=model, out=f"{place / 'out'}", threshold=threshold, rule=rule)
                        began = time.monotonic()
                        dedupe_folder(write_parts(place / "in", texts, count), settings, launch)
                        found = of_parts(place / "out")
                    wrong += found != expected
                    said = "equal" if found == expected else "DIFFERS"
                    took = time.monotonic() - began
                    line = f"{name:<16} {rule:<12} {way:<10} {count} parts {found} {said}"
                    print(f"{line} {took:6.1f} s", flush=True)
    return wrong


def kill(model: str, texts: Sequence[str], threshold: float | None, kills: int) -> int:
    """End a run at many moments and go on; how many of the results differ from that of a run that nothing ended.

    Runs are forks of this process, so that imports take no time.
    """
    wrong = ended = 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        folder = write_parts(place / "in", texts, 3)

        def dedupe(out: str) -> None:
            # several blocks, shards and bins: as of many texts
            settings = Settings(model=model, out=f"{place / out}", threshold=threshold, memory=1_000_000)
            dedupe_folder(folder, settings, launcher(1))

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
    print(f"{kills} runs of {took:.1f} s, {ended} of them killed before their end: {wrong} differ", flush=True)
    return wrong


def kill_workers(model: str, texts: Sequence[str], threshold: float | None, kills: int) -> int:
    """Kill a worker of a run with two of them, some times; whether the result differs."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        folder = write_parts(place / "in", texts, 3)
        killed = 0

        def tell(line: str) -> None:
            nonlocal killed
            if killed < kills and line.startswith(("read", "encode", "join")):
                killed += 1
                Timer(1.0, _kill_a_child).start()

        for out, workers in (("whole", 1), ("out", 2)):
            settings = Settings(model=model, out=f"{place / out}", threshold=threshold)
            dedupe_folder(folder, settings, launcher(workers), progress=tell if workers > 1 else lambda _: None)
        whole, found = (
            {path.name: path.read_bytes() for path in (place / out).glob("*.parquet")} for out in ("whole", "out")
        )
    print(f"a worker was killed {killed} times: {'equal' if found == whole else 'DIFFERS'}", flush=True)
    return int(found != whole)


def _kill_a_child() -> None:
    for child in psutil.Process().children():
        if "spawn_main" in " ".join(child.cmdline()):
            child.kill()
            return


def main() -> None:
    """Compare, kill, and say whether all is equal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", help="model folders")
    parser.add_argument("--texts", required=True, help="a file of texts")
    parser.add_argument("--count", type=int, default=2000, help="texts of it that are used")
    parser.add_argument("--threshold", type=float)
    parser.add_argument("--on", default=",".join(ON), help="with commas between")
    parser.add_argument("--few", default="spark", help="of these, with one number of parts each")
    parser.add_argument("--kills", type=int, default=0, help="of each model")
    options = parser.parse_args()
    with open_rows(options.texts) as rows:
        column = choose_text(rows)
        texts = [text for block in rows.blocks([column]) for text in block.texts(column)][: options.count]
    models = [str(Path(model).resolve()) for model in options.models]
    wrong = 0
    if options.kills:
        for model in models:
            wrong += kill(model, texts, options.threshold, options.kills)
        wrong += kill_workers(models[0], texts, options.threshold, 2)
    if options.on:
        few = options.few.split(",")
        wrong += compare(models, texts, launchers(options.on.split(",")), options.threshold, few=few)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
