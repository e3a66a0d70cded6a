"""What limits of links are worth: a dedupe of headlines with and without `--within` and `--same`.

    python benchmarks/bench_within.py [--data data/processed] [--raw FOLDER] [--rows 5000]

The file is of train headlines of `uci_news`, stories drawn whole until there are as many, with the time and the
publisher of each. `twicetold.fit` compares letters and words, average linkage, at the threshold that is guessed without
labels, which is the same for all rows of the table.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import twicetold
from twicetold.data.corpus import Corpus
from twicetold.evaluation.group_metrics import group_scores

SEED = 0
WINDOWS = ("12h", "1d", "3d", "7d", "30d")


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data/processed"))
    parser.add_argument("--raw", type=Path, default=Path("data/raw/uci_news"), help="folder with newsCorpora.csv")
    parser.add_argument("--rows", type=int, default=5_000)
    given = parser.parse_args()
    texts, story, when, publisher = headlines(given.data, given.raw, given.rows)
    model = twicetold.fit(texts, lexical=True)
    limits: dict[str, dict[str, Any]] = {"none": {}}
    limits |= {f"`--within timestamp:{size}`": {"within": [(when, size)]} for size in WINDOWS}
    limits["`--same publisher`"] = {"same": [publisher]}
    print(f"{len(texts):,} headlines of {len(np.unique(story)):,} stories; `allowed` is of pairs of one story\n")
    print("| limits | allowed | links | precision of links | groups | largest | ARI | B³ | pairwise F1 | CPU s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, options in limits.items():
        start = time.process_time()
        found = model.dedupe(texts, **options)
        seconds = time.process_time() - start
        scores = group_scores(found.group, story)
        right = float((story[found.links.left] == story[found.links.right]).mean())
        summary = found.summary
        print(
            f"| {name} | {allowed(story, options):.3f} | {summary.links:,} | {right:.3f} | {summary.groups:,} | "
            f"{summary.largest:,} | {scores.ari:.3f} | {scores.b3:.3f} | {scores.f1:.3f} | "
            f"{seconds:.1f} |",
            flush=True,
        )


def headlines(data: Path, raw: Path, count: int) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Texts, story, time (milliseconds) and publisher of train headlines, in the order of the file."""
    corpus = Corpus.load(data / "uci_news")
    rows = corpus.members["train"]
    story = corpus.group("story")[rows]
    order = np.random.default_rng(SEED).permutation(np.unique(story))
    sizes = np.bincount(story, minlength=int(story.max()) + 1)[order]
    chosen = np.isin(story, order[: 1 + np.searchsorted(np.cumsum(sizes), count)])
    rows, story = rows[chosen], story[chosen]
    ids = corpus.ids.take(pa.array(rows)).to_pylist()
    columns = {}
    with (raw / "newsCorpora.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            columns[line[0]] = (int(line[7]), line[3])
    when = np.array([columns[name][0] for name in ids])
    return corpus.texts.take(pa.array(rows)).to_pylist(), story, when, [columns[name][1] for name in ids]


def allowed(story: NDArray[np.int64], options: dict[str, Any]) -> float:
    """Share of the pairs of headlines of one story that may be linked."""
    from twicetold.dedupe.limits import Limits

    order = np.argsort(story, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(story[order])) + 1)
    pairs = [part[np.stack(np.triu_indices(len(part), 1))] for part in parts]
    left, right = np.concatenate(pairs, axis=1)
    limits = Limits.of(len(story), **options)
    return 1.0 if limits is None else float(limits.allow(left, right).mean())


if __name__ == "__main__":
    main()
