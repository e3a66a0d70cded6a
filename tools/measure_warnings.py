#!/usr/bin/env python
"""How often do the warnings about texts of another kind come, on texts like a model's own and on others?

Each model reads samples of the test texts of each dataset: a warning on its own data is a false alarm, one on other
data is a catch. Where data have labelled pairs, the table also says what the stored threshold is worth there, beside
the best threshold and beside always giving one answer.

    python tools/measure_warnings.py runs/quora_wang-static-0 runs/stsb-tfidf-0 --data quora_wang stsb uci_news nli

`own` tells data of one kind: names that share the part before the first underscore are taken for one kind, such as
quora_wang and quora_disjoint.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.evaluation.decision import decide
from twicetold.evaluation.ranking import Floats
from twicetold.interpretation.word_use import WordUse
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.unlike import DISTANCE as SCORE_DISTANCE
from twicetold.trained.unlike import UNKNOWN_WORDS, Likeness

SIGNS = ("unknown words", "word use", "scores")
HEADS = ("model", "texts", "own", *SIGNS, "warned", "accuracy", "best threshold", "one answer")
SAMPLES = 10
ROWS = 200  # texts, or pairs, of a sample


@dataclass(frozen=True)
class Found:
    """What was found for one model and one dataset.

    Args:
        own: whether the data are of the kind that the model was trained on.
        signs: (samples, 3) the value of each sign; NaN if it is not known.
        limits: of the signs.
        accuracy: of the stored threshold, the best threshold, and always one answer, on all test pairs; NaN for
            documents.
    """

    own: bool
    signs: Floats
    limits: tuple[float, float, float]
    accuracy: tuple[float, float, float]

    @property
    def warned(self) -> NDArray[np.bool_]:
        """(samples, 3) whether each sign is there."""
        return np.asarray(self.signs > np.array(self.limits))  # NaN is not above anything


def main(arguments: list[str]) -> None:
    """Print a row for each model and dataset, and the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="run folders")
    parser.add_argument("--data", nargs="+", required=True, help="datasets, in --processed")
    parser.add_argument("--processed", type=Path, default=Path("data/processed"), help="folder of prepared data")
    asked = parser.parse_args(arguments)
    corpora = {name: Corpus.load(asked.processed / name) for name in asked.data}
    print(line(HEADS), line(["---"] * 3 + ["---:"] * (len(HEADS) - 3)), sep="\n")
    everything = []
    for run in map(Path, asked.runs):
        model = LoadedModel.from_folder(run / layout.MODEL)
        for name, corpus in corpora.items():
            found = measured(model, corpus, own=kind_of(run.name.split("-")[0]) == kind_of(name))
            everything.append(found)
            cells = [f"{value:.2f}" for value in np.nanmean(found.signs, axis=0)]
            share = f"{found.warned.any(axis=1).mean():.0%}"
            accuracies = [f"{value:.3f}" for value in found.accuracy]
            print(line([run.name, name, "yes" if found.own else "no", *cells, share, *accuracies]), flush=True)
    print(rates(everything))


def kind_of(data: str) -> str:
    """Datasets of one kind share the first part of their names."""
    return data.split("_")[0]


def measured(model: LoadedModel, corpus: Corpus, *, own: bool) -> Found:
    """The signs on samples, and what verdicts are worth on all pairs."""
    rng, expected = np.random.default_rng(0), WordUse(model).expected
    limits = (UNKNOWN_WORDS, np.nan if expected is None else expected.limit, SCORE_DISTANCE)
    if corpus.kind == "documents":
        texts = corpus.texts_of("test")
        samples = [rng.choice(len(texts), min(ROWS, len(texts)), replace=False) for _ in range(SAMPLES)]
        signs = [signs_of(model, [texts[row] for row in sample.tolist()]) for sample in samples]
        return Found(own, np.array(signs), limits, (np.nan, np.nan, np.nan))
    pairs = corpus.pairs["test"]
    left, right = ([corpus.texts[row].as_py() for row in side.tolist()] for side in (pairs.left, pairs.right))
    score, label = model.similarity(left, right), pairs.label >= corpus.positive_label
    signs = []
    for _ in range(SAMPLES):
        rows = rng.choice(len(score), min(ROWS, len(score)), replace=False).tolist()
        signs.append(signs_of(model, [side[row] for side in (left, right) for row in rows], score[rows]))
    best = decide(score, label)
    share = float(label.mean())
    right_share = [float((each.duplicate(score) == label).mean()) for each in (model.decision, best)]
    return Found(own, np.array(signs), limits, (right_share[0], right_share[1], max(share, 1 - share)))


def signs_of(
    model: LoadedModel, texts: Sequence[str], score: NDArray[np.float32] | None = None
) -> tuple[float, float, float]:
    """The value of each sign, NaN if it is not known."""
    likeness, use = Likeness(model), WordUse(model)
    likeness.add(texts, score)
    use.add(texts)
    values = (likeness.unknown_words, use.distance, likeness.distance)
    unknown, distance, scores = (np.nan if value is None else value for value in values)
    return unknown, distance, scores


def rates(everything: Sequence[Found]) -> str:
    """Shares of samples with a warning, in words."""
    lines = []
    for own, said in ((True, "of their own kind (false alarms)"), (False, "of another kind (catches)")):
        chosen = [found for found in everything if found.own == own]
        if not chosen:
            continue
        warned = np.concatenate([found.warned for found in chosen])
        each = ", ".join(f"{sign} {share:.1%}" for sign, share in zip(SIGNS, warned.mean(axis=0), strict=True))
        lines.append(f"{len(warned):,} samples {said}: {warned.any(axis=1).mean():.1%} warned of ({each})")
    useless = [found for found in everything if not found.own and found.accuracy[0] < found.accuracy[2]]
    if useless:
        warned = np.concatenate([found.warned.any(axis=1) for found in useless])
        lines.append(f"{len(warned):,} samples where one answer is better than the threshold: {warned.mean():.1%}")
    return "\n".join(lines)


def line(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a mean of no value, where a sign is not known
    with readable_errors():
        main(sys.argv[1:])
