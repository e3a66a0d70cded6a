"""How often 95 % intervals of test hold, by simulation: `measure_intervals.py`, or `measure_intervals.py --draws 50`.

Sizes are those of the prepared test splits: how many pairs share texts, directly or by way of others, and how many
headlines are about one story. Scores and labels are drawn, alike within a unit, and units are drawn with replacement.
An interval should hold the value that many draws have on average in 95 % of them, and of two models that are equally
good a paired test should tell 5 % apart. "Before" takes each pair for independent, or the normal distribution for
Student's t.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.evaluation import intervals
from twicetold.evaluation.all_pairs import pair_histograms
from twicetold.evaluation.influence import all_pairs_units
from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors, ScoredPairs
from twicetold.evaluation.intervals import Interval, Ints
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.pair_units import units_of
from twicetold.evaluation.ranking import ScoreCounts
from twicetold.evaluation.units import variance

PAIRS, STORIES = ("quora_disjoint", "quora_wang", "stsb"), "uci_news"
CUT, STRICT = 0.6, 4.0  # thresholds of simulated scores: a usual one, and one above which few pairs differ
MANY = 400_000  # units whose pairs say what the true value is
HEADS = "| data | measure | held in, before | held in | width, before | width |"


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--processed", type=Path, default=Path("data/processed"))
    chosen = parser.parse_args()
    print(f"{HEADS}\n| --- | --- | ---: | ---: | ---: | ---: |")
    for name in PAIRS:
        pairs = Corpus.load(chosen.processed / name).pairs["test"]
        sizes = np.bincount(units_of(pairs.left, pairs.right))
        for measure, cells in of_pairs(sizes, draws=chosen.draws).items():
            print(f"| {name} | {measure} | {' | '.join(cells)} |", flush=True)
    corpus = Corpus.load(chosen.processed / STORIES)
    codes = corpus.groups["story"][corpus.members["test"]]
    _, sizes = np.unique(codes[codes != UNKNOWN], return_counts=True)
    for stories in (len(sizes), 250):
        cells, told = of_stories(sizes, stories, draws=chosen.draws)
        print(f"| {STORIES}, {stories} stories | average precision over all pairs | {' | '.join(cells)} |")
        print(f"Equal models told apart, {stories} stories: {told[0]:.0%} before, {told[1]:.0%}", flush=True)


def of_pairs(sizes: Ints, *, draws: int) -> dict[str, list[str]]:
    """Measure -> cells of the table, for pairs in units of these sizes."""
    rng = np.random.default_rng(0)
    _, many = drawn_pairs(np.random.default_rng(1), sizes, MANY)
    truth = {name: value for name, value, _ in measured(many, None, resamples=1)}
    held: dict[tuple[str, int], list[tuple[bool, float]]] = {(name, way): [] for name in truth for way in (0, 1)}
    for _ in range(draws):
        unit, pairs = drawn_pairs(rng, sizes, len(sizes))
        for way, units in enumerate((None, unit)):
            for name, _, (low, high) in measured(pairs, units, resamples=300):
                held[name, way].append((low <= truth[name] <= high, high - low))
    return {name: _cells(held[name, 0], held[name, 1]) for name in truth}


def drawn_pairs(rng: np.random.Generator, sizes: Ints, count: int) -> tuple[Ints, ScoredPairs]:
    """The unit of each pair, and scores and labels that units have in common."""
    unit = np.repeat(np.arange(count), rng.choice(sizes, count))
    often, ease, shift = (scale * rng.normal(size=count)[unit] for scale in (0.8, 0.7, 0.7))
    label = often + rng.normal(size=len(unit)) + 0.3 > 0
    return unit, ScoredPairs(label * (1.3 + ease) + shift + rng.normal(size=len(unit)), label.astype(np.float64))


def measured(pairs: ScoredPairs, units: Ints | None, *, resamples: int) -> Iterator[tuple[str, float, Interval]]:
    """Each measure with its value and its interval."""
    verdict, counts = pairs.score > CUT, ScoreCounts.of(pairs.score, pairs.label)
    precision = intervals.average_precision_statistic(pairs.score, pairs.label)
    right = verdict == (pairs.label > 0)
    yield "accuracy", float(right.mean()), intervals.share_interval(right, units)
    strict, same = pairs.score > STRICT, pairs.label > 0
    ends = intervals.share_interval(same[strict], None if units is None else units[strict])
    yield "precision above a high threshold", float(same[strict].mean()), ends
    yield "AUROC", counts.auroc(), intervals.auroc_interval(pairs.score, pairs.label, units)
    found = intervals.confusion_intervals(verdict, pairs.label, units, resamples=resamples)
    yield "F1", Confusion.of(verdict, pairs.label).f1, found["f1"]
    ends = (0.0, 0.0)
    if resamples > 1:
        ends = intervals.bootstrap_interval(precision, len(pairs), units, resamples=resamples)
    yield "average precision", counts.average_precision(), ends


def of_stories(sizes: Ints, stories: int, *, draws: int) -> tuple[list[str], list[float]]:
    """Cells of the table, and how often equal models are told apart, before and now, for stories of these sizes."""
    rng = np.random.default_rng(2)
    found = [[ranked(vectors) for vectors in two_models(rng, sizes, stories)] for _ in range(draws)]
    truth = float(np.mean([value for both in found for value, _ in both]))
    held: list[list[tuple[bool, float]]] = [[], []]
    told = [0, 0]
    for (one, first), (other, second) in found:
        for value, terms in ((one, first), (other, second)):
            for way, degrees in enumerate((math.inf, intervals.effective_degrees(terms))):
                low, high = intervals.logit_interval(value, variance(terms), degrees)
                held[way].append((low <= truth <= high, high - low))
        error, difference = math.sqrt(variance(first - second)), one - other
        for way, degrees in enumerate((math.inf, intervals.effective_degrees(first - second))):
            told[way] += intervals.two_sided(difference, error, degrees) < 0.05
    return _cells(*held), [count / draws for count in told]


def two_models(rng: np.random.Generator, sizes: Ints, stories: int) -> Iterator[DocumentVectors]:
    """The same texts as two equally good models see them, each of which finds other stories hard."""
    story = np.repeat(np.arange(stories), rng.choice(sizes, stories))
    spread, hard, other = np.exp(0.5 * rng.normal(size=(3, stories)))[:, story, None]
    meant = rng.normal(size=(stories, 16))[story] + 0.5 * spread * rng.normal(size=(len(story), 16))
    for noise in (hard, other):
        vectors = meant + 0.8 * noise * rng.normal(size=meant.shape)
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        yield DocumentVectors(vectors, vectors, {"story": story})


def ranked(vectors: DocumentVectors) -> tuple[float, NDArray[np.float64]]:
    """Average precision over all pairs, and what each story adds to it."""
    histograms = pair_histograms(vectors, bins=512)
    found = all_pairs_units(vectors, histograms, clusters=vectors.groups["story"])["story"]["average_precision"]
    return histograms["story"].counts().average_precision(), found.terms


def _cells(before: list[tuple[bool, float]], now: list[tuple[bool, float]]) -> list[str]:
    (held_before, width_before), (held, width) = (np.mean(each, axis=0) for each in (before, now))
    return [f"{held_before:.0%}", f"{held:.0%}", f"{width_before:.3f}", f"{width:.3f}"]


if __name__ == "__main__":
    main()
