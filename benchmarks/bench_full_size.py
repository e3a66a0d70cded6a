"""The whole road at full size: seconds of processor time and peak memory of each stage, by number of rows.

    python benchmarks/bench_full_size.py [--quick] [--rows 50000,100000,200000,400000] [--kinds news,pairs]
        [--models tfidf,static] [--keep FOLDER] [--json FILE]

The public files have 422,419 headlines and 404,290 pairs. The rows here are made from the mirror's files where
`TWICETOLD_MIRROR` is a folder that has them, else from the toy corpora: each further copy of the source replaces some
of its words by words of its own, so that the vocabulary grows with the rows, as real ones do, and no copy repeats the
stories or questions of another one.

Each stage is a process, as in `dvc repro`. A training has one epoch, so its time is the road's cost and that of an
epoch; FILM's solver has its own settings. Exponents are least squares through log seconds against log rows.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import quora, toy_news, toy_questions, uci_news
from twicetold_lab.data.sources.source_table import read_quoted, read_unquoted

ROOT = Path(__file__).parents[1]
ROWS = {"quick": (2_000, 4_000), "full": (50_000, 100_000, 200_000, 400_000)}
MODELS = {
    "news": ("tfidf", "dae", "dssm", "siamese_lstm", "static", "film"),
    "pairs": ("tfidf", "dae", "dssm", "siamese_lstm", "static", "re2", "film"),
}
OF_KIND = {"news": "uci_news", "pairs": "quora"}
NEW_WORDS = 0.2  # share of the distinct words that a copy has alone
SKIP_ABOVE = 3600.0  # seconds: where a stage takes longer, it is not run with more rows


@dataclass(frozen=True)
class Took:
    """What one stage took."""

    kind: str
    rows: int
    stage: str
    cpu: float
    """Seconds of processor time."""
    wall: float
    """Seconds by the clock."""
    peak: float
    """Greatest resident size in GB (2**30 bytes)."""
    result: str
    """The last line that it printed."""


def copies(texts: Sequence[str], seed: int) -> Iterator[list[str]]:
    """The texts, then copies of them in which a share of the distinct words is new."""
    split = [text.split(" ") for text in texts]
    words = sorted({word for text in split for word in text})
    yield list(texts)
    rng = np.random.default_rng(seed)
    number = 1
    while True:
        chosen = rng.random(len(words)) < NEW_WORDS
        new = {word: f"{word}{number}" for word, replaced in zip(words, chosen, strict=True) if replaced}
        yield [" ".join([new.get(word, word) for word in text]) for text in split]
        number += 1


def write_news(path: Path, rows: int, mirror: Path) -> str:
    """A file in the format of the UCI News Aggregator; returns what it was made from."""
    file = mirror / "uci_news" / uci_news.FILE
    if file.is_file():
        table = read_unquoted(file, uci_news.COLUMNS).table
        titles, category, story = (table[name].to_pylist() for name in ("title", "category", "story"))
    else:
        corpus = toy_news.read(Path(), name="toy_news", seed=0)
        letters = {name: letter for letter, name in uci_news.CATEGORIES.items()}
        titles, story = corpus.texts.to_pylist(), [str(code) for code in corpus.groups["story"]]
        category = [letters[name] for name in names_of(corpus, "category")]
    written = 0
    with path.open("w", encoding="utf-8") as out:
        for copy, some in enumerate(copies(titles, seed=0)):
            for number, title in enumerate(some[: rows - written]):
                written += 1
                url = f"http://www.example.org/{copy}/{number}.html"
                fields = (written, title, url, "Example", category[number], f"{story[number]}_{copy}")
                out.write("\t".join(map(str, (*fields, "www.example.org", 1394470370698 + written))) + "\n")
            if written == rows:
                return "uci_news" if file.is_file() else "toy_news"
    raise AssertionError  # copies never end


def names_of(corpus: Corpus, group: str) -> list[str]:
    """Name of each text's group."""
    names = corpus.group_names[group]
    return [names[code] for code in corpus.groups[group]]


def write_pairs(path: Path, rows: int, mirror: Path) -> str:
    """A file in the format of Quora's release; returns what it was made from."""
    file = mirror / "quora" / quora.FILE
    if file.is_file():
        table = read_quoted(file, quora.COLUMNS).table
        left, right, label = (table[name].to_pylist() for name in ("question1", "question2", "is_duplicate"))
    else:
        corpus = toy_questions.read(Path(), name="toy_questions", seed=0)
        texts, pairs = corpus.texts.to_pylist(), corpus.pairs["train"]
        left, right = [texts[row] for row in pairs.left], [texts[row] for row in pairs.right]
        label = [str(int(value)) for value in pairs.label]
    ids: dict[str, int] = {}
    written = 0
    with path.open("w", encoding="utf-8") as out:
        out.write("\t".join(quora.COLUMNS) + "\n")
        for some in copies([*left, *right], seed=0):
            for one, other, same in zip(some[: len(left)], some[len(left) :], label, strict=True):
                if written == rows:
                    return "quora" if file.is_file() else "toy_questions"
                first, second = (ids.setdefault(text, len(ids) + 1) for text in (one, other))
                quoted = ('"' + text.replace('"', '""') + '"' for text in (one, other))
                out.write("\t".join([str(written), str(first), str(second), *quoted, same]) + "\n")
                written += 1
    raise AssertionError  # copies never end


def measured(kind: str, rows: int, stage: str, command: list[str], log: Path) -> Took:
    """Run a stage as a process of its own.

    Raises:
        SystemExit: if it fails.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with log.open("wb") as out:
        child = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
    lines = log.read_text(errors="replace").strip().splitlines() or [""]
    if status:
        sys.exit(f"{stage} of {rows:,} rows of {kind} failed, see {log}: {lines[-1]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30
    return Took(kind, rows, stage, cpu, time.monotonic() - began, peak, lines[-1])


def road(kind: str, rows: int, models: Sequence[str], folder: Path, too_slow: set[str]) -> Iterator[Took]:
    """Every stage for one number of rows."""
    data = OF_KIND[kind]
    raw = folder / "raw" / data
    raw.mkdir(parents=True, exist_ok=True)
    mirror = Path(os.environ.get("TWICETOLD_MIRROR", ""))
    if kind == "news":
        write_news(raw / uci_news.FILE, rows, mirror)
    else:
        write_pairs(raw / quora.FILE, rows, mirror)
    roots = ("raw", "processed", "triplets", "features", "checkpoints")
    shared = [f"data={data}", "data.download=[]", *(f"paths.{root}={folder / root}" for root in roots)]
    if rows < 50_000 and kind == "pairs":
        shared += [f"data.source.{split}_pairs={rows // 20}" for split in ("val", "test")]
    for stage in ("prepare", "mine"):
        if stage not in too_slow:
            yield measured(kind, rows, stage, [f"pipelines/{stage}.py", *shared], folder / f"{stage}.log")
    for model in models:
        run = [*shared, f"model={model}", f"hydra.run.dir={folder / 'runs' / model}", "origin=dvc"]
        run += ["tracking.enabled=false", "runtime.progress=false", "runtime.accelerator=cpu"]
        one = ["trainer.epochs=1", "trainer.patience=null"]
        for stage, further in (("train", one), ("evaluate", one)):
            name = f"{stage} {model}"
            if name in too_slow or f"train {model}" in too_slow:
                continue
            yield measured(kind, rows, name, [f"pipelines/{stage}.py", *run, *further], folder / f"{name}.log")


def exponent(rows: Sequence[int], seconds: Sequence[float]) -> float:
    """Slope of log seconds against log rows."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0]) if len(rows) > 1 else math.nan


def table(results: Sequence[Took]) -> str:
    """A Markdown table: a line a stage, seconds of processor time and peak memory by rows, and the exponent."""
    found: dict[tuple[str, ...], dict[int, tuple[float, float]]] = {}
    for took in results:
        found.setdefault((took.kind, took.stage), {})[took.rows] = took.cpu, took.peak
    return growth(("data", "stage"), found, digits=0)


def growth(
    heads: Sequence[str], found: Mapping[tuple[str, ...], Mapping[int, tuple[float, float]]], *, digits: int
) -> str:
    """A Markdown table: a line for what is measured, with the exponent of its seconds.

    Args:
        heads: of the columns that say what is measured.
        found: what is measured -> size -> seconds of processor time, GB at the peak.
        digits: of the seconds.
    """
    sizes = sorted({size for measured in found.values() for size in measured})
    lines = [
        "| " + " | ".join([*heads, *(f"{size:,}" for size in sizes)]) + " | exponent |",
        "| " + " | ".join(["---"] * len(heads)) + " |" + " ---: |" * (len(sizes) + 1),
    ]
    for names, by_size in found.items():
        cells = [f"{by_size[n][0]:.{digits}f} s, {by_size[n][1]:.1f} GB" if n in by_size else "–" for n in sizes]
        slope = exponent(list(by_size), [seconds for seconds, _ in by_size.values()])
        lines.append("| " + " | ".join([*names, *cells]) + f" | {slope:.2f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few thousand rows and TF-IDF alone")
    parser.add_argument("--rows", help="numbers of rows, with commas between")
    parser.add_argument("--kinds", default="news,pairs", help="news, pairs or both")
    parser.add_argument("--models", help="families, with commas between; default: one of each kind")
    parser.add_argument("--keep", type=Path, help="folder for the data and logs, kept; default: a temporary one")
    parser.add_argument("--json", type=Path, help="also write the measurements to this file")
    chosen = parser.parse_args(arguments)
    sizes = [int(n) for n in chosen.rows.split(",")] if chosen.rows else ROWS["quick" if chosen.quick else "full"]
    results: list[Took] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep.resolve() if chosen.keep else Path(temporary)
        for kind in chosen.kinds.split(","):
            models = chosen.models.split(",") if chosen.models else ("tfidf",) if chosen.quick else MODELS[kind]
            too_slow: set[str] = set()
            for rows in sizes:
                for took in road(kind, rows, models, folder / kind / str(rows), too_slow):
                    results.append(took)
                    if took.wall > SKIP_ABOVE:
                        too_slow.add(took.stage)
                    print(
                        f"{kind:<6}{rows:>9,}  {took.stage:<22}{took.cpu:8.1f} s CPU {took.wall:8.1f} s "
                        f"{took.peak:6.2f} GB   {took.result[:90]}",
                        flush=True,
                    )
                    if chosen.json:
                        chosen.json.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n")
    print()
    print(table(results))


if __name__ == "__main__":
    main()
