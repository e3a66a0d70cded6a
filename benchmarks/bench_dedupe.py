"""Dedupe by number of texts, and pairs of a file a second: on one thread, beside semhash and faiss.

    python benchmarks/bench_dedupe.py [--quick] [--texts 50000,100000,200000,500000] [--pairs 100000] [--json FILE]

1. From texts to groups:
   - `static`, `tfidf`, `tfidf_letters`: `Model.dedupe` with average linkage and a threshold of a cosine of 0.8. The
     vocabulary is learnt before. `static` has random weights.
   - `fitted`, `fitted, lexical`: `twicetold.fit` and `Model.dedupe`, as `twicetold dedupe` of a file without a model.
   - `semhash`: over the vectors of `static`, with the same threshold. Where it is installed (`pip install -e
     '.[bench]'`), up to 100,000 texts.
   - `faiss, exact`, `faiss, cells`: the 21 nearest texts of each by a flat index (up to 100,000 texts) and by an
     inverted file of about √n cells, of which 16 are searched. These search alone, over vectors made before.
2. `twicetold pairs`: reading, scoring and writing a CSV of pairs, without the start of the program.

Texts are the distinct questions of Quora where `TWICETOLD_MIRROR` is a folder that has them, else generated ones. Where
they are not enough, further ones are made of them: in nine of ten, half of the words are others, drawn as often as
texts have them; of the tenth, one word, so that they are alike.

Each measurement is a process, whose greatest resident size it shows. Exponents are least squares through log seconds of
processor time against log texts, which other work on the same cores disturbs less than the time by the clock.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from bench_throughput import texts_of, untrained

from twicetold.evaluation.decision import Decision
from twicetold.tables.files import choose_pair, open_rows, write_rows
from twicetold.trained.memory import peak_resident
from twicetold.trained.scoring import Scorer
from twicetold.use import Model
from twicetold.use.model import fit
from twicetold.use.pairs import score_file

THREADS = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
TEXTS, QUICK = (20_000, 40_000), (2_000, 4_000)
KNOWN = 50_000  # texts that vocabularies are learnt from
SOURCE = 100_000  # texts that further ones are made of
OTHERS, COPIED = 0.5, 0.1  # share of the words of a text that are others, and of the texts with one other word
SMALL = 100_000  # texts up to which semhash and a flat index are measured
COSINE = 0.8
NEAREST, PROBES = 21, 16
MODELS = ("static", "tfidf", "tfidf_letters")
FITTED = ("fitted", "fitted, lexical")
WAYS = (*MODELS, *FITTED, "semhash", "faiss, exact", "faiss, cells")


@dataclass(frozen=True)
class Took:
    """What one way took."""

    way: str
    texts: int
    """Or pairs, of `pairs`."""
    cpu: float
    """Seconds of processor time."""
    peak: float
    """Greatest resident size in GB (2**30 bytes)."""
    found: str
    """In words."""
    steps: dict[str, float] = field(default_factory=dict)
    """Step -> seconds of processor time."""


def texts_for(count: int) -> list[str]:
    """Texts, and if there are not as many, further ones that resemble them."""
    source, _ = texts_of(min(count, SOURCE))
    return [*source, *islice(resembling(source, seed=0), count - len(source))]


def resembling(source: Sequence[str], seed: int) -> Iterator[str]:
    """Texts without end, each made of one of the source."""
    split = [text.split() for text in source]
    words = np.array([word for text in split for word in text], object)
    rng = np.random.default_rng(seed)
    while True:
        for number in rng.permutation(len(split)).tolist():
            text = list(split[number])
            if rng.random() < COPIED:
                changed = rng.integers(0, len(text), 1)
            else:
                changed = np.flatnonzero(rng.random(len(text)) < OTHERS)
            for place, word in zip(changed.tolist(), words[rng.integers(0, len(words), len(changed))], strict=True):
                text[place] = word
            yield " ".join(text)


def model_of(name: str, texts: Sequence[str]) -> Model:
    """A family without training, whose score is a cosine."""
    featuriser, encoder = untrained(name, texts[:KNOWN])
    return Model(Scorer(featuriser, encoder, Decision(COSINE, 20.0, -20 * COSINE)), Path(name))


def by_model(name: str, texts: list[str]) -> tuple[Callable[[], str], dict[str, float]]:
    """`Model.dedupe`, and the dictionary that gets the seconds of its steps."""
    steps: dict[str, float] = {}
    if name in FITTED:
        fit_to(texts[:1000], name).dedupe(texts[:1000])  # warm up
    else:
        model = model_of(name, texts)
        model.dedupe(texts[:1000])

    def dedupe() -> str:
        last = [time.process_time(), "fitting" if name in FITTED else ""]

        def progress(step: str) -> None:
            if step.split(" ")[0] in ("threshold", "the", "warning:"):  # what it rests on: no step
                return
            now = time.process_time()
            if last[1]:
                steps[last[1]] = now - last[0]
            last[:] = [now, step.split(" ")[0]]

        chosen = fit_to(texts, name) if name in FITTED else model
        found = chosen.dedupe(texts, progress=progress).summary.counts
        progress("end")
        return f"{found.links:,} links, {found.groups:,} groups, the largest of {found.largest:,}"

    return dedupe, steps


def fit_to(texts: list[str], name: str) -> Model:
    """A model that is fitted to the texts."""
    return fit(texts, lexical=name.endswith("lexical"))


def by_semhash(texts: list[str]) -> Callable[[], str]:
    """The same with semhash."""
    from semhash import SemHash

    model = model_of("static", texts)

    class Encoder:
        def encode(self, inputs: Sequence[str], **_: object) -> object:
            return model.encode(list(inputs))

    def dedupe() -> str:
        result = SemHash.from_records(records=texts, model=Encoder()).self_deduplicate(threshold=COSINE)
        return f"{len(result.filtered):,} texts are duplicates of {len(result.selected):,}"

    return dedupe


def by_faiss(texts: list[str], *, cells: bool) -> Callable[[], str]:
    """The nearest of each text, without the rest."""
    import faiss

    faiss.omp_set_num_threads(1)
    vectors = np.ascontiguousarray(model_of("static", texts).encode(texts), np.float32)

    def search() -> str:
        index = faiss.IndexFlatIP(vectors.shape[1])
        if cells:
            index = faiss.IndexIVFFlat(index, vectors.shape[1], round(len(texts) ** 0.5), faiss.METRIC_INNER_PRODUCT)
            index.nprobe = PROBES
            index.train(vectors)
        index.add(vectors)
        similarity, _ = index.search(vectors, NEAREST)
        return f"{int((similarity[:, 1:] >= COSINE).sum()):,} neighbours from a cosine of {COSINE} on"

    return search


def by_pairs(texts: list[str], folder: Path) -> Callable[[], str]:
    """A CSV of pairs, half of them a text and its copy."""
    count = len(texts) // 2
    model, file = model_of("static", texts), folder / "pairs.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("left", "right"), *zip(texts[:count], texts[count:], strict=False)])

    def score() -> str:
        with open_rows(file) as rows, write_rows(folder / "scored.csv") as write:
            found = score_file(model, rows, write, choose_pair(rows))
        return f"{found.pairs:,} pairs, {found.duplicates:,} duplicates"

    return score


def measured(way: str, count: int) -> Took:
    """What a way takes in this process."""
    torch.set_num_threads(1)
    texts, steps = texts_for(2 * count if way == "pairs" else count), {}
    with tempfile.TemporaryDirectory() as folder:
        if way in (*MODELS, *FITTED):
            run, steps = by_model(way, texts)
        elif way == "semhash":
            run = by_semhash(texts)
        elif way == "pairs":
            run = by_pairs(texts, Path(folder))
        else:
            run = by_faiss(texts, cells=way == "faiss, cells")
        began = time.process_time()
        found = run()
        cpu = time.process_time() - began
    return Took(way, count, cpu, peak_resident() / 2**30, found, steps)


def in_process(way: str, count: int) -> Took:
    """The same in a process of its own.

    Raises:
        SystemExit: if it fails.
    """
    command = [sys.executable, __file__, "--one", way, "--texts", str(count)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{way} of {count:,} texts failed: {(run.stderr.strip().splitlines() or [''])[-1]}")
    return Took(**json.loads(run.stdout.strip().splitlines()[-1]))


def ways_of(count: int, asked: Sequence[str]) -> list[str]:
    """The ways that are measured with so many texts."""
    from importlib.util import find_spec

    small = ("semhash", "faiss, exact")
    there = [way for way in asked if count <= SMALL or way not in small]
    return [way for way in there if way != "semhash" or find_spec("semhash")]


def table(results: Sequence[Took]) -> str:
    """A Markdown table: a line a way, seconds of processor time and peak memory by texts, and the exponent.

    A second one has the seconds of each way divided by those of the first at the same size, which depend less on the
    machine.
    """
    found: dict[tuple[str, ...], dict[int, tuple[float, float]]] = {}
    for took in results:
        found.setdefault((took.way,), {})[took.texts] = took.cpu, took.peak
    first = next(iter(found.values()))
    sizes = sorted({took.texts for took in results})
    lines = ["| ratio of seconds | " + " | ".join(f"{n:,}" for n in sizes) + " |", "|---" + "|---:" * len(sizes) + "|"]
    for (way,), by_size in found.items():
        ratios = (f"{by_size[n][0] / first[n][0]:.2f}" if n in by_size and n in first else "–" for n in sizes)
        lines.append(f"| {way} | " + " | ".join(ratios) + " |")
    return "\n".join([growth(("way",), found, digits=1), "", *lines])


def growth(
    heads: Sequence[str], measured: Mapping[tuple[str, ...], Mapping[int, tuple[float, float]]], *, digits: int
) -> str:
    """A Markdown table: a line for what is measured, with the exponent of its seconds.

    Args:
        heads: of the columns that say what is measured.
        measured: what is measured -> size -> seconds of processor time, GB at the peak.
        digits: of the seconds.
    """
    sizes = sorted({size for by_size in measured.values() for size in by_size})
    lines = [
        "| " + " | ".join([*heads, *(f"{size:,}" for size in sizes)]) + " | exponent |",
        "| " + " | ".join(["---"] * len(heads)) + " |" + " ---: |" * (len(sizes) + 1),
    ]
    for names, by_size in measured.items():
        cells = [f"{by_size[n][0]:.{digits}f} s, {by_size[n][1]:.1f} GB" if n in by_size else "–" for n in sizes]
        seconds = [took for took, _ in by_size.values()]
        slope = np.polyfit(np.log(list(by_size)), np.log(seconds), 1)[0] if len(by_size) > 1 else float("nan")
        lines.append("| " + " | ".join([*names, *cells]) + f" | {slope:.2f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few thousand texts and pairs")
    parser.add_argument("--texts", help="numbers of texts, with commas between")
    parser.add_argument("--pairs", type=int, help="number of pairs")
    parser.add_argument("--ways", default=";".join(WAYS), help="with semicolons between")
    parser.add_argument("--json", type=Path, help="also write the measurements to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    sizes = [int(n) for n in options.texts.split(",")] if options.texts else QUICK if options.quick else TEXTS
    os.environ |= THREADS  # of this process, and of those that it starts
    if options.one:
        print(json.dumps(asdict(measured(options.one, sizes[0]))))
        return
    results: list[Took] = []
    for count in sizes:
        for way in ways_of(count, options.ways.split(";")):
            results.append(took := in_process(way, count))
            steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in took.steps.items())
            print(f"{way:<14}{count:>9,}{took.cpu:9.1f} s CPU {took.peak:6.2f} GB   {took.found}")
            print(f"{'':<14}{steps}" if steps else "", end="\n" if steps else "", flush=True)
    took = in_process("pairs", options.pairs or max(sizes))
    rate = f"{took.texts / took.cpu:,.0f} a second of processor time"
    print(f"{'pairs':<14}{took.texts:>9,}{took.cpu:9.1f} s CPU {took.peak:6.2f} GB   {rate}\n")
    print(table(results), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in (*results, took)], indent=1) + "\n")


if __name__ == "__main__":
    main()
