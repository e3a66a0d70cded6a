"""Retrieve and re-rank: recall, precision and milliseconds of a query by the number k of texts that are re-ranked.

    python benchmarks/bench_rerank.py [--quick] [--queries 1000] [--reranker re2] [--retriever static]
        [--data quora_wang] [--runs runs] [--processed data/processed] [--json FILE]

The queries are drawn from the test texts that have a labelled duplicate. Each is compared with all other test texts by
the retriever's vectors, exactly; the re-ranker scores the k nearest, as `twicetold dedupe --rerank` does, each pair of
texts once.

- found: share of the queries' labelled duplicates among the k nearest; no re-ranking can find more.
- recall, precision: of the pairs that the re-ranker's score calls duplicates, from the threshold on that has the
  highest F1 on as many queries of validation, with the same k. Other rows have the retriever's score, and the mean of
  the calibrated log-odds of both. Not every duplicate is labelled, so precision is a lower bound.
- first: share of the queries whose highest-scored text is a duplicate.
- ms: processor time of a query, for the search and for the re-ranking. All texts were read before.

Needs prepared data and the runs `<data>-<model>-0` of both models; without them it says so and ends.
"""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import twicetold
from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.dedupe.pairs import PairsByModel
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.inputs import group_sizes
from twicetold.evaluation.ranking import ScoreCounts, at_least
from twicetold.files import write_json
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.neighbours.nearest import NOBODY, Index
from twicetold.trained.duplicates import duplicate_groups
from twicetold.use import Model

THREADS = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
REACHES = (1, 5, 10, 25, 50, 100)
QUERIES, QUICK = 1000, 50
WAYS = ("retriever", "re-ranker", "both")


@dataclass(frozen=True)
class Asked:
    """What was found for the queries of one split.

    Args:
        same: (Q, K) whether each of the nearest texts is a labelled duplicate.
        near: (Q, K) similarity by the retriever, -inf where there is no text.
        score: (Q, K) by the re-ranker.
        duplicates: number of labelled duplicates of all queries.
        search: milliseconds of processor time for a query.
        rerank: the same of re-ranking as many as each of `REACHES`.
        log_odds: calibrations of the retriever and of the re-ranker.
    """

    same: Any
    near: Floats
    score: Floats
    duplicates: int
    search: float
    rerank: tuple[float, ...]
    log_odds: tuple[Decision, Decision]

    def scores(self, way: str, k: int) -> Floats:
        """(Q, k) scores of the nearest texts by one of `WAYS`."""
        if way == "both":
            one, other = self.log_odds
            return (one.slope * self.near + other.slope * self.score)[:, :k]
        return (self.near if way == "retriever" else self.score)[:, :k]


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    k: int
    way: str
    found: float
    recall: float
    precision: float
    first: float
    ms: float


def ask(corpus: Corpus, split: str, retriever: Model, reranker: Model, count: int) -> Asked:
    """Search and re-rank for some queries of a split.

    Raises:
        SystemExit: if the data have no groups of duplicates.
    """
    groups = duplicate_groups(corpus, split, classes=("category",))
    if groups is None:
        raise SystemExit(f"{corpus.name} has no groups of texts that say the same: name other data")
    codes = groups[1]
    sizes = group_sizes(codes)
    asking = np.flatnonzero(sizes > 1)
    asking = np.sort(np.random.default_rng(0).choice(asking, min(count, len(asking)), replace=False))
    texts = corpus.texts_of(split)
    queries, documents = retriever.trained.read(texts).search_matrices(np.arange(len(texts)))
    pairs = PairsByModel(reranker.trained.read(texts), reranker.decision)
    index, began = Index(documents), time.process_time()
    near = index.search(queries[asking], k=REACHES[-1] + 1)
    search = 1000 * (time.process_time() - began) / len(asking)
    near = near.keeping((near.index != asking[:, None]) & (near.index != NOBODY), k=REACHES[-1])
    there = near.index != NOBODY
    score, rerank = scores_of(pairs, asking, near.index)
    return Asked(
        same=there & (codes[near.index] == codes[asking][:, None]),
        near=np.where(there, near.similarity, -np.inf).astype(np.float64),
        score=np.where(there, score, -np.inf),
        duplicates=int((sizes[asking] - 1).sum()),
        search=search,
        rerank=rerank,
        log_odds=(retriever.decision, reranker.decision),
    )


def scores_of(pairs: PairsByModel, asking: Ints, near: Ints) -> tuple[Floats, tuple[float, ...]]:
    """(Q, K) scores, and milliseconds of a query for each of `REACHES`, whose texts are scored from the nearest on."""
    scores, spent, seconds, start = np.empty(near.shape), [], 0.0, 0
    for stop in REACHES:
        left, right = np.repeat(asking, stop - start), np.maximum(near[:, start:stop], 0).ravel()
        began = time.process_time()
        scores[:, start:stop] = pairs.score(left, right).reshape(len(asking), -1)
        seconds += time.process_time() - began
        spent.append(1000 * seconds / len(asking))
        start = stop
    return scores, tuple(spent)


def best_threshold(score: Floats, same: Any, duplicates: int) -> float:
    """The threshold with the highest F1, where some of the duplicates may not have been found."""
    there = np.isfinite(score)
    counts = ScoreCounts.of(score[there], same[there])
    true = at_least(counts.positive)
    f1 = 2 * true / (true + at_least(counts.negative) + duplicates)
    return float(counts.score[int(np.argmax(f1))])


def rows(val: Asked, test: Asked) -> Iterator[Row]:
    """A line for each number of texts and way."""
    for place, k in enumerate(REACHES):
        found = test.same[:, :k].sum() / test.duplicates
        for way in WAYS:
            known, score = val.scores(way, k), test.scores(way, k)
            called = score >= best_threshold(known, val.same[:, :k], val.duplicates)
            true = int((called & test.same[:, :k]).sum())
            best = np.take_along_axis(test.same[:, :k], score.argmax(axis=1)[:, None], axis=1)
            ms = test.search + (0.0 if way == "retriever" else test.rerank[place])
            precision = true / max(int(called.sum()), 1)
            yield Row(k, way, float(found), true / test.duplicates, precision, float(best.mean()), ms)


def table(found: Sequence[Row]) -> str:
    """A Markdown table."""
    lines = ["| k | scores by | found | recall | precision | first | ms |", "| ---: | --- |" + " ---: |" * 5]
    for row in found:
        shares = " | ".join(f"{value:.3f}" for value in (row.found, row.recall, row.precision, row.first))
        lines.append(f"| {row.k} | {row.way} | {shares} | {row.ms:.1f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} queries")
    parser.add_argument("--queries", type=int, default=QUERIES, help="of validation and of test")
    parser.add_argument("--data", default="quora_wang")
    parser.add_argument("--retriever", default="static")
    parser.add_argument("--reranker", default="re2")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--processed", type=Path, default=Path("data/processed"))
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args(arguments)
    models = [options.runs / layout.cell(options.data, name, 0) for name in (options.retriever, options.reranker)]
    needed = [options.processed / options.data / layout.TEXTS, *(folder / layout.MODEL for folder in models)]
    if missing := [str(path) for path in needed if not path.exists()]:
        print(f"nothing is re-ranked: there is no {missing[0]}; dvc repro makes it")
        return
    os.environ |= THREADS
    torch.set_num_threads(1)
    corpus = Corpus.load(options.processed / options.data)
    retriever, reranker = (twicetold.load(folder) for folder in models)
    count = QUICK if options.quick else options.queries
    val, test = (ask(corpus, split, retriever, reranker, count) for split in ("val", "test"))
    found = list(rows(val, test))
    print(
        f"{options.data}: {options.retriever}, then {options.reranker}; {len(test.same):,} queries, "
        f"{len(corpus.members['test']):,} texts, {test.duplicates:,} labelled duplicates; search {test.search:.2f} ms"
    )
    print(table(found))
    if options.json:
        write_json(options.json, [asdict(row) for row in found])


if __name__ == "__main__":
    main()
