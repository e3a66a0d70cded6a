#!/usr/bin/env python
"""How often do the "95 %" intervals of `twicetold calibrate` hold the truth, and how often does a calibration harm?

Labels are drawn many times from scored pairs of which all labels are known, `calibrate` sees only the drawn ones, and
what it says is compared with what its decision does to all pairs. Two draws: pairs at random, and those that `label`
would draw, whose weights undo that most of them are near the threshold.

    python tools/measure_calibration.py                                    # simulated scores alone
    python tools/measure_calibration.py runs/stsb-tfidf-0                  # and the test pairs of a run
    python tools/measure_calibration.py runs/quora_wang-tfidf-0:stsb       # and a run on the test pairs of other data

Simulated scores are normal, with a mean that is higher for duplicates; the stored decision was chosen on scores that
are shifted or of another share of duplicates. `hidden` duplicates have scores as if they were none.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.evaluation.decision import Decision, decide
from twicetold.evaluation.labels import DUPLICATE, Decisions
from twicetold.evaluation.pair_metrics import Confusion, log_losses, squared_errors
from twicetold.evaluation.ranking import Floats
from twicetold.labels.calibration import Calibration, CalibrationPairs, calibrate
from twicetold.labels.promises import promises
from twicetold.labels.sampling import CandidatePairs, draw
from twicetold.runs.records import read_scores
from twicetold.trained.loaded import LoadedModel

LEVELS = ("accuracy", "precision", "recall", "f1", "brier")
DIFFERENCES = ("accuracy", "precision", "recall")
LINKS = (None, 0.8, 0.9)  # the threshold with the highest F1, and those for a precision
HEADS = ("scores", "labels", *LEVELS, *(f"{name}, difference" for name in DIFFERENCES), "written", "worse", "harm")
HEADS += tuple("links, F1" if aim is None else f"links, {aim:g}" for aim in LINKS)
PAIRS = 20_000  # simulated


@dataclass(frozen=True)
class Population:
    """Scored pairs with all their labels, and the decision that a model brings.

    Args:
        name: for the table.
        score: (P,)
        label: (P,)
        stored: the decision.
    """

    name: str
    score: Floats
    label: NDArray[np.bool_]
    stored: Decision


@dataclass(frozen=True)
class Kind:
    """Simulated scores: share of duplicates, distance of the means, shift of all scores, and hidden duplicates."""

    share: float
    distance: float
    shift: float = 0.0
    hidden: float = 0.0

    def population(self, rng: np.random.Generator) -> Population:
        """Pairs of this kind, and the decision of pairs without the shift."""
        score, label = self._pairs(rng)
        said = f"share {self.share:g}, distance {self.distance:g}, shift {self.shift:g}, hidden {self.hidden:g}"
        return Population(said, score + self.shift, label, decide(*self._pairs(rng)))

    def _pairs(self, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        label = rng.random(PAIRS) < self.share
        seen = label & (rng.random(PAIRS) >= self.hidden)
        return rng.normal(size=PAIRS) + self.distance * seen, label


SIMULATED = (Kind(0.37, 1.2), Kind(0.37, 1.2, 0.5), Kind(0.1, 2.0, 0.5), Kind(0.5, 2.0), Kind(0.1, 3.0, 0.5, 0.1))


class ScoresAlone:
    """What `calibrate` asks of a model, where scores are there already: the left text of a pair is its number."""

    about = DUPLICATE

    def __init__(self, population: Population) -> None:
        self.score = population.score
        self.decisions = Decisions.about(DUPLICATE, population.stored)

    def similarity(self, left: list[str], right: list[str]) -> Floats:
        """(P,) scores."""
        return np.asarray(self.score[np.array(left, np.int64)])


def main(arguments: list[str]) -> None:
    """Print a table, a row for each population and number of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN[:DATA]", help="run folders, on their own test pairs or others")
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--only", choices=("random", "label"), help="one kind of draw; default: both")
    parser.add_argument("--no-simulated", action="store_true", help="the runs alone")
    parser.add_argument("--processed", type=Path, default=Path("data/processed"), help="folder of prepared data")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    rng = np.random.default_rng(asked.seed)
    simulated = () if asked.no_simulated else SIMULATED
    populations = [kind.population(rng) for kind in simulated]
    populations += [of_run(run, asked.processed) for run in asked.runs]
    print(line(HEADS), line(["---"] * 2 + ["---:"] * (len(HEADS) - 2)), sep="\n")
    for population in populations:
        for drawn in (False, True):
            if asked.only == ("random" if drawn else "label"):
                continue
            for labels in asked.labels:
                found = measured(population, labels=labels, draws=asked.draws, drawn=drawn, rng=rng)
                told = f"{labels} {'by label' if drawn else 'at random'}"
                print(line([population.name, told, *(f"{share:.2f}" for share in found)]), flush=True)
    print(
        "\nEach number is a share of the draws. Up to the differences: the interval holds the true value of the new "
        "decision. written: calibrate would write the folder. worse: the new decision has a lower accuracy than the "
        "stored one. harm: it has, and would be written. links: the interval of the precision that is to be expected "
        "from the threshold with the highest F1, or for a precision, holds the true one; of the draws with a promise."
    )


def of_run(named: str, processed: Path) -> Population:
    """The test pairs of a run, or a run's scores of the test pairs of other data.

    Raises:
        ValueError: if the data have no labelled pairs.
    """
    name, _, data = named.partition(":")
    folder = Path(name)
    model = LoadedModel.from_folder(folder / layout.MODEL)
    corpus = Corpus.load(processed / (data or folder.name.split("-")[0]))
    if corpus.kind == "documents":
        raise ValueError(f"{corpus.name} has no labelled pairs to draw from: name data of pairs, {name}:DATA")
    pairs = corpus.pairs["test"]
    scores = None if data else read_scores(folder, "test")
    if scores is None:
        texts = [[corpus.texts[row].as_py() for row in side.tolist()] for side in (pairs.left, pairs.right)]
        score = model.similarity(*texts).astype(np.float64)
    else:
        score = np.asarray(scores.score, np.float64)
    told = f"`{folder.name}`" + (f", pairs of `{data}`" if data else "")
    return Population(told, score, np.asarray(pairs.label >= corpus.positive_label), model.decision)


def measured(
    population: Population, *, labels: int, draws: int, drawn: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(columns,) shares of the draws, in the order of the table's columns after the first two."""
    found = []
    model = ScoresAlone(population)
    before = truth(population, population.stored)
    for pairs in draws_of(population, labels=labels, draws=draws, drawn=drawn, rng=rng):
        calibration = calibrate(model, pairs)  # type: ignore[arg-type]
        judgement = judged(calibration, before, truth(population, calibration.after))
        found.append([*judgement, *links_held(population, calibration, pairs)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without a promise stays NaN
        return np.asarray(np.nanmean(found, axis=0))


def links_held(population: Population, calibration: Calibration, pairs: CalibrationPairs) -> list[float]:
    """Whether the interval of each of `LINKS` holds the precision among all pairs; NaN where nothing is promised."""
    score = population.score[np.array(pairs.left, np.int64)]
    found = promises(calibration.after, score, pairs.label, pairs.weight, pairs.stratum)
    held = dict.fromkeys(LINKS, np.nan)
    for each in found:
        if each.precision is not None and each.aimed in held:
            precision = float(population.label[population.score >= each.threshold].mean())
            held[each.aimed] = float(each.precision.low <= precision <= each.precision.high)
    return list(held.values())


def judged(found: Calibration, before: dict[str, float], after: dict[str, float]) -> list[bool]:
    """Whether each interval holds the truth, and whether the decision would be written, is worse, and both."""
    held = [found.fitted[name].low <= after[name] <= found.fitted[name].high for name in LEVELS]
    for name in DIFFERENCES:
        gained = found.gained[name]
        held.append(gained.low - 1e-12 <= after[name] - before[name] <= gained.high + 1e-12)
    written, worse = found.better("accuracy"), after["accuracy"] < before["accuracy"]
    return [*held, written, worse, written and worse]


def truth(population: Population, decision: Decision) -> dict[str, float]:
    """What a decision is worth on all pairs."""
    confusion = Confusion.of(decision.duplicate(population.score), population.label)
    probability = decision.probability(population.score)
    losses = {"brier": squared_errors, "log_loss": log_losses}
    means = {name: float(loss(probability, population.label).mean()) for name, loss in losses.items()}
    return {name: getattr(confusion, name) for name in ("accuracy", "precision", "recall", "f1")} | means


def draws_of(
    population: Population, *, labels: int, draws: int, drawn: bool, rng: np.random.Generator
) -> Iterator[CalibrationPairs]:
    """Draws of labelled pairs; those that `calibrate` refuses, as they have too few of a label, are left out."""
    nobody = np.empty(0, np.int64)
    candidates = CandidatePairs(nobody, nobody, population.score)
    for _ in range(draws):
        if drawn:
            sample = draw(candidates, population.stored, pairs=labels, seed=int(rng.integers(2**31)))
            rows, stratum = sample.rows, sample.band
            weight = sample.sizes[stratum] / np.bincount(stratum, minlength=len(sample.sizes))[stratum]
        else:
            rows = rng.choice(len(population.score), labels, replace=False)
            weight, stratum = np.ones(labels), np.zeros(labels, np.int64)
        label = population.label[rows]
        if min(label.sum(), (~label).sum()) >= 5:
            names = list(map(str, rows.tolist()))
            yield CalibrationPairs(names, names, label, weight, stratum)


def line(cells: tuple[str, ...] | list[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore", FutureWarning)
    with readable_errors():
        main(sys.argv[1:])
