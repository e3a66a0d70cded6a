"""Dedupe by other libraries beside `twicetold dedupe`: the same test texts, one run, one thread.

    python tools/peers.py [--data uci_news,quora_wang] [--models tfidf,tfidf_letters,static] [--out runs/peers.json]

Prints a Markdown table, and writes the peers' rows to a file that the report shows. Needs prepared data, and the runs
`<data>-<model>-0` of `--models`; those that are missing are left out.

- MinHash (rensa, https://github.com/beowolx/rensa): 128 permutations of sets of five-letter or five-word shingles.
  Candidates come from LSH with the fewest bands, a power of two, of which half the pairs are found below the threshold;
  those whose estimated Jaccard similarity reaches it are links, and connected components are groups.
- semhash (https://github.com/MinishLab/semhash): its own groups, around a first text each; links are all pairs from its
  threshold on. Its default encoder is potion-base-8M. Where this cannot be fetched, that row is left out. WordLlama,
  whose weights come with the package, and a `static` model of twicetold are other encoders.

Each has its usual fixed threshold in one row. In another one the threshold has the highest adjusted Rand index of the
library's own groups on validation; ours are chosen on validation as well. Average precision, and links of aimed
precisions (chosen on validation), are over all pairs by the library's similarity. Stories are complete groups. Groups
of questions are the clusters of labelled duplicates: not every duplicate is labelled, so precisions and ARI are lower
bounds.

`pip install -e '.[bench]'` installs the peers; one that is missing is left out with a line that says so.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy import sparse

import twicetold
from twicetold import layout
from twicetold.evaluation.group_metrics import agreement_intervals, group_scores
from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors
from twicetold.evaluation.intervals import Interval, bootstrap_interval
from twicetold.evaluation.link_metrics import link_statistics, links_above, text_precision_with_interval
from twicetold.evaluation.thresholds import TARGETS, DedupeThresholds
from twicetold.files import write_json
from twicetold.neighbours.components import components
from twicetold.neighbours.grouping import Ints, Links
from twicetold.pretrained import located
from twicetold.use import Model
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.dedupe_report import LINKS, report
from twicetold_lab.evaluation.dedupe_thresholds import choose
from twicetold_lab.scoring.duplicates import duplicate_groups

THREADS = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
DATA = ("uci_news", "quora_wang")
MODELS = ("tfidf", "tfidf_letters", "static_two_levels", "static", "hybrid")
PERMUTATIONS, SEED = 128, 0
SHINGLES = {"5 letters": 5, "5 words": 5}
FIXED = {"5 letters": (0.8, 0.5), "5 words": (0.8,)}
GRID = (0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # thresholds that validation chooses from
SEMHASH = 0.9  # its default
AIM = 0.9
CLASSES = ("category",)  # groups that are no duplicates
Metrics: TypeAlias = dict[str, float]
Intervals: TypeAlias = dict[str, Interval]


class Missing(Exception):
    """A peer that cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Texts:
    """The texts of one split, with the groups of duplicates."""

    texts: list[str]
    codes: Ints
    group: str
    complete: bool

    def vectors(self, left: Any) -> DocumentVectors:
        """Rows whose dot products are similarities, with the groups."""
        return DocumentVectors(left, left, {self.group: self.codes})


@dataclass(frozen=True)
class Found:
    """What a library found: links, and the group of each text."""

    links: Links | None
    group: Ints


@dataclass(frozen=True)
class Peer:
    """A library.

    Args:
        name: of the library.
        version: of the package.
        settings: in words, without the threshold.
        fixed: usual thresholds.
        dedupe: from texts and a threshold to links and groups.
        rows: from texts to rows whose dot products are the library's similarities.
    """

    name: str
    version: str
    settings: str
    fixed: Sequence[float]
    dedupe: Callable[[list[str], float], Found]
    rows: Callable[[list[str]], Any]


@dataclass(frozen=True)
class Row:
    """A line of the table, and of `runs/peers.json` if it is of a peer."""

    data: str
    name: str
    version: str
    settings: str
    metrics: Metrics
    intervals: Intervals
    seconds: float
    """By the clock, from texts to groups."""
    cpu_seconds: float = field(default=0.0)
    ours: bool = field(default=False)

    @property
    def record(self) -> dict[str, Any]:
        """For `runs/peers.json`."""
        names = ("data", "name", "version", "settings", "metrics", "intervals", "seconds")
        return {name: getattr(self, name) for name in names}


# Texts and groups


def read_split(corpus: Corpus, split: str) -> Texts:
    """The texts of a split whose group is known."""
    found = duplicate_groups(corpus, split, classes=CLASSES)
    if found is None:
        raise SystemExit(f"{corpus.name} has no groups of duplicates: name other data")
    group, codes = found
    known = codes != UNKNOWN
    texts = corpus.texts.take(corpus.members[split][known]).to_pylist()
    return Texts(texts, np.unique(codes[known], return_inverse=True)[1], group, corpus.kind == "documents")


# MinHash


def shingles_of(text: str, kind: str) -> set[str]:
    """The distinct runs of five letters or words; a shorter text is one run."""
    size, text = SHINGLES[kind], " ".join(text.lower().split())
    units: Sequence[str] = text if kind.endswith("letters") else text.split(" ")
    join = "" if kind.endswith("letters") else " "
    return {join.join(units[start : start + size]) for start in range(max(1, len(units) - size + 1))}


def bands_for(threshold: float) -> int:
    """The fewest bands, a power of two, whose middle (1 / bands) ^ (bands / permutations) is below the threshold."""
    powers = [1 << power for power in range(PERMUTATIONS.bit_length())]
    return next((b for b in powers if (1 / b) ** (b / PERMUTATIONS) < threshold), PERMUTATIONS)


def minhash(kind: str) -> Peer:
    """MinHash by rensa.

    Raises:
        Missing: if rensa is not installed.
    """
    try:
        from rensa import RMinHash, RMinHashLSH
    except ImportError as error:
        raise Missing(f"without MinHash: rensa is not installed ({error}): pip install -e '.[bench]'") from error

    def sketch(texts: list[str]) -> list[Any]:
        sets = [sorted(shingles_of(text, kind)) for text in texts]
        return list(RMinHash.from_token_sets(sets, num_perm=PERMUTATIONS, seed=SEED))

    def dedupe(texts: list[str], threshold: float) -> Found:
        sketches = sketch(texts)
        lsh = RMinHashLSH(threshold, PERMUTATIONS, bands_for(threshold))
        lsh.insert_many(sketches)
        near = lsh.query_all(sketches)
        left = np.repeat(np.arange(len(texts)), [len(each) for each in near])
        right = np.fromiter(chain.from_iterable(near), np.int64)
        left, right = left[right > left], right[right > left]
        digests = np.array([each.digest() for each in sketches], np.uint32)
        jaccard = np.empty(len(left))
        for start in range(0, len(left), 65_536):
            part = slice(start, start + 65_536)
            jaccard[part] = (digests[left[part]] == digests[right[part]]).mean(axis=1)
        links = Links.of(len(texts), left, right, jaccard).at_least(threshold)
        return Found(links, components(len(texts), links.left, links.right))

    def rows(texts: list[str]) -> Any:
        """A column for each value of each permutation: dot products are the estimated Jaccard similarities."""
        digests = np.array([each.digest() for each in sketch(texts)], np.int64)
        _, columns = np.unique(digests + np.arange(PERMUTATIONS) * 2**32, return_inverse=True)
        value = np.full(digests.size, PERMUTATIONS**-0.5, np.float32)
        starts = np.arange(len(texts) + 1) * PERMUTATIONS
        return sparse.csr_matrix((value, columns.ravel(), starts), shape=(len(texts), int(columns.max()) + 1))

    settings = f"MinHash of {kind}, {PERMUTATIONS} permutations, LSH"
    return Peer("rensa", version("rensa"), settings, FIXED[kind], dedupe, rows)


# semhash


def semhash(encoder: str, encode: Callable[[Sequence[str]], Any]) -> Peer:
    """Semhash over an encoder.

    Raises:
        Missing: if semhash is not installed.
    """
    try:
        from semhash import SemHash
    except ImportError as error:
        raise Missing(f"without semhash: not installed ({error}): pip install -e '.[bench]'") from error

    class Encoder:
        def encode(self, inputs: Sequence[str], **_: Any) -> Any:
            return np.asarray(encode(list(inputs)), np.float32)

    def dedupe(texts: list[str], threshold: float) -> Found:
        built = SemHash.from_records(records=texts, model=Encoder())
        result = built.self_deduplicate(threshold=threshold)
        first: dict[str, int] = {}
        place = np.array([first.setdefault(text, len(first)) for text in texts])
        pairs = [(first[each.record], first[each.duplicate_of]) for each in result.filtered]
        left, right = np.array(pairs, np.int64).reshape(-1, 2).T
        return Found(None, components(len(first), left, right)[place])

    def rows(texts: list[str]) -> Any:
        vectors = Encoder().encode(texts)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    return Peer("semhash", version("semhash"), f"encoder {encoder}", (SEMHASH,), dedupe, rows)


def potion() -> tuple[str, Callable[[Sequence[str]], Any]]:
    """The default encoder of semhash.

    Raises:
        Missing: if it cannot be had.
    """
    try:
        from model2vec import StaticModel

        model = StaticModel.from_pretrained(located("minishlab/potion-base-8M"), force_download=False)
    except Exception as error:  # whatever the hub's client raises without a network
        raise Missing(f"without semhash over potion-base-8M: {type(error).__name__}, {str(error)[:100]}") from error
    return "potion-base-8M", lambda texts: model.encode(texts, use_multiprocessing=False)


def wordllama() -> tuple[str, Callable[[Sequence[str]], Any]]:
    """WordLlama with the weights in its package.

    Raises:
        Missing: if it is not installed.
    """
    try:
        import wordllama as package
    except ImportError as error:
        raise Missing(f"without semhash over WordLlama: {error}: pip install -e '.[bench]'") from error
    model = package.WordLlama.load(dim=256, cache_dir=Path(package.__file__).parent, disable_download=True)
    return f"WordLlama {version('wordllama')}", lambda texts: model.embed(list(texts), norm=True)


def peers(models: dict[str, Model]) -> Iterator[Peer]:
    """All peers that can be had."""
    static = next((name for name in models if name.startswith("static")), None)
    ours = [lambda: (f"twicetold {static}", models[static].encode)] if static else []
    makers: list[Callable[[], Peer]] = [lambda kind=kind: minhash(kind) for kind in SHINGLES]  # type: ignore[misc]
    makers += [lambda made=made: semhash(*made()) for made in (potion, wordllama, *ours)]  # type: ignore[misc]
    for make in makers:
        try:
            yield make()
        except Missing as error:
            print(error, file=sys.stderr)


# Measures


def timed(dedupe: Callable[[], Found]) -> tuple[Found, float, float]:
    """What was found, seconds by the clock and of processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    found = dedupe()
    return found, time.perf_counter() - clock, time.process_time() - processor


def metrics_of(found: Found, test: Texts) -> tuple[Metrics, Intervals]:
    """Of links, where there are any, and of groups."""
    scores = group_scores(found.group, test.codes)
    metrics = {"ari": scores.ari, "b3": scores.b3, "pair_f1": scores.f1}
    metrics |= {"pair_precision": scores.precision, "pair_recall": scores.recall}
    intervals: Intervals = agreement_intervals(found.group, test.codes)
    if found.links is None:
        return metrics, intervals
    total = int(test.codes.max()) + 1
    metrics["link_text_precision"], ends = text_precision_with_interval(test.codes, found.links)
    if ends:
        intervals["link_text_precision"] = ends
    for name, statistic in zip(("precision", "recall"), link_statistics(test.codes, found.links), strict=True):
        metrics[f"link_{name}"] = float(statistic(np.ones((1, total)))[0])
        intervals[f"link_{name}"] = bootstrap_interval(statistic, total, resamples=1000, seed=SEED)
    return metrics, intervals


def over_all_pairs(
    val: DocumentVectors, test: DocumentVectors, texts: Texts
) -> tuple[DedupeThresholds, Metrics, Intervals]:
    """Average precision, and links of precisions that validation aims at, by the names of a run's metrics."""
    chosen = choose(val, texts.group, complete=texts.complete)
    kept = report(test, chosen)
    metrics, intervals = (
        {name: value for name, value in each["test"].items() if name.startswith(("average", "link"))}
        for each in (kept.metrics, kept.intervals)
    )
    return chosen, metrics, intervals


def best_threshold(peer: Peer, val: Texts) -> float:
    """The threshold of the grid whose groups have the highest ARI on validation."""
    found = [group_scores(peer.dedupe(val.texts, threshold).group, val.codes).ari for threshold in GRID]
    return GRID[int(np.argmax(found))]


def rows_of_peer(data: str, peer: Peer, val: Texts, test: Texts) -> Iterator[Row]:
    """The fixed thresholds, and the one that validation chooses."""
    val_rows, test_rows = val.vectors(peer.rows(val.texts)), test.vectors(peer.rows(test.texts))
    _, everywhere, their_intervals = over_all_pairs(val_rows, test_rows, test)
    average = {name: value for name, value in everywhere.items() if name.startswith("average")}
    average_interval = {name: their_intervals[name] for name in average}
    for threshold, why in [*((each, "fixed") for each in peer.fixed), (best_threshold(peer, val), "chosen")]:
        found, seconds, cpu = timed(lambda threshold=threshold: peer.dedupe(test.texts, threshold))  # type: ignore[misc]
        if found.links is None:
            found = replace(found, links=links_above(test_rows, threshold))
        metrics, intervals = metrics_of(found, test)
        metrics |= average if why == "fixed" else everywhere
        intervals |= average_interval if why == "fixed" else their_intervals
        said = f"{peer.settings}, threshold {threshold:g} {'fixed' if why == 'fixed' else 'chosen on validation'}"
        yield Row(data, peer.name, peer.version, said, metrics, intervals, seconds, cpu)


def rows_of_model(data: str, name: str, model: Model, val: Texts, test: Texts) -> Iterator[Row]:
    """A model's links of the aimed precision, and its groups by the default rule."""
    val_rows, test_rows = (each.vectors(model.encode(each.texts)) for each in (val, test))
    chosen, everywhere, intervals = over_all_pairs(val_rows, test_rows, test)
    ways: list[tuple[str, dict[str, Any]]] = [("average linkage", {})]
    if chosen.links[TARGETS.index(AIM)].threshold is not None:
        ways.insert(0, (f"precision {AIM:g}, components", {"precision": AIM, "rule": "components"}))
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder, layout.PRECISION), chosen.to_json())
        measured = Model(model.trained, Path(folder))
        measured.dedupe(test.texts[:100])  # warm up
        for settings, options in ways:
            found, seconds, cpu = timed(lambda options=options: grouped(measured, test.texts, options))  # type: ignore[misc]
            of_groups, their_intervals = metrics_of(found, test)
            metrics, ends = everywhere | of_groups, intervals | their_intervals
            if options:
                for measure in LINKS:
                    metrics[f"link_{measure}"] = everywhere[f"link_{measure}_at_{100 * AIM:g}"]
                    ends[f"link_{measure}"] = intervals[f"link_{measure}_at_{100 * AIM:g}"]
            yield Row(data, f"twicetold {name}", version("twicetold"), settings, metrics, ends, seconds, cpu, ours=True)


def grouped(model: Model, texts: list[str], options: dict[str, Any]) -> Found:
    """The groups of `dedupe`."""
    return Found(None, model.dedupe(texts, **options).group)


# Results


def table(rows: Sequence[Row]) -> str:
    """A Markdown table."""
    lines = [
        "| data | library | settings | average precision | links: precision | 95 % | recall | ARI | B3 | pairwise F1 "
        "| seconds | CPU seconds |",
        "| --- | --- | --- |" + " ---: |" * 9,
    ]
    for row in rows:
        average = next(value for name, value in row.metrics.items() if name.startswith("average_precision_"))
        low_high = row.intervals.get("link_precision")
        ends = f"{low_high[0]:.3f} to {low_high[1]:.3f}" if low_high else "–"
        cells = [row.data, f"{row.name} {row.version}" if not row.ours else row.name, row.settings, f"{average:.3f}"]
        links = [row.metrics.get(f"link_{name}") for name in ("precision", "recall")]
        said = ["–" if value is None else f"{value:.3f}" for value in links]
        cells += [said[0], ends, said[1], *(f"{row.metrics[name]:.3f}" for name in ("ari", "b3", "pair_f1"))]
        cells += [f"{row.seconds:.2f}", f"{row.cpu_seconds:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def models_of(data: str, names: Sequence[str], runs: Path) -> dict[str, Model]:
    """The trained models of a dataset that are there and have a vector for each text."""
    found = {}
    for name in names:
        folder = runs / layout.cell(data, name, 0)
        if not (folder / layout.MODEL).is_dir():
            print(f"without {name}: there is no {folder / layout.MODEL}: dvc repro trains it", file=sys.stderr)
            continue
        model = twicetold.load(folder)
        try:
            model.encode(["a text"])
        except TypeError as why:
            print(f"without {name}: {why}", file=sys.stderr)
        else:
            found[name] = model
    return found


def measure(data: str, names: Sequence[str], runs: Path, processed: Path) -> Iterator[Row]:
    """All rows of one dataset."""
    corpus = Corpus.load(processed / data)
    val, test = read_split(corpus, "val"), read_split(corpus, "test")
    models = models_of(data, names, runs)
    for name, model in models.items():
        yield from rows_of_model(data, name, model, val, test)
    for peer in peers(models):
        yield from rows_of_peer(data, peer, val, test)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default=",".join(DATA), help="datasets, with commas between")
    parser.add_argument("--models", default=",".join(MODELS), help="models of twicetold, with commas between")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of run folders")
    parser.add_argument("--processed", type=Path, default=Path("data/processed"), help="folder of prepared data")
    parser.add_argument("--out", type=Path, default=Path("runs/peers.json"), help="file for the peers' rows")
    options = parser.parse_args(arguments)
    os.environ |= THREADS
    torch.set_num_threads(1)
    rows: list[Row] = []
    for data in options.data.split(","):
        for row in measure(data, options.models.split(","), options.runs, options.processed):
            rows.append(row)
            print(f"{row.data} {row.name}, {row.settings}: {row.seconds:.2f} s", file=sys.stderr, flush=True)
    print(table(rows))
    write_json(options.out, [row.record for row in rows if not row.ours])


if __name__ == "__main__":
    main()
