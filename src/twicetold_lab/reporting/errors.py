"""The mistakes of models on labelled and graded test pairs: the most confident ones, and doubtful labels.

Everything is about each model's first seed at its own threshold. A mistake is as confident as the probability that the
model gives to its wrong verdict.

Shape letters: K models, P pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold import layout
from twicetold.files import csv_text, write_text
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.reporting.glossary import count
from twicetold_lab.reporting.leaderboard import Leaderboard
from twicetold_lab.reporting.tables import Section, Table, TableCell, TableRow, words

TITLE = "Mistakes"
NAMED = 6
"""Wrong models that a row names."""
FEWEST_MODELS = 3
AGAINST = 0.8
"""Share of the models that say otherwise than a label that is in doubt."""
LISTED, EXPORTED = 20, 500
"""Pairs on the page, and in a file."""
REVIEW = ("left_text", "right_text", "same")
"""Columns of a file of pairs with answers; none is given yet."""
EXPLANATION = (
    "The test pairs about which most models are wrong, those with the most certain models first. Each model answers at "
    "its own threshold; the percentage is its calibrated probability that the two say the same."
)
DOUBTFUL = (
    f"The labels of {{count}} are in doubt, as {AGAINST:.0%} of the models contradict each. Models share their "
    "weaknesses, so these are labels to look at, not errors: they are in {file}, with an empty column for answers."
)


@dataclass(frozen=True)
class Judged:
    """Labelled test pairs with what models say of them.

    Args:
        models: K names.
        left: P texts.
        right: P texts.
        label: (P,) as in the data.
        truth: (P,) whether they are the same by their label.
        probability: (K, P) that they are the same.
        same: (K, P) verdicts.
    """

    models: tuple[str, ...]
    left: Sequence[str]
    right: Sequence[str]
    label: NDArray[np.float32]
    truth: NDArray[np.bool_]
    probability: NDArray[np.float64]
    same: NDArray[np.bool_]

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """(K, P) whether a model is wrong."""
        return np.asarray(self.same != self.truth)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(K, P) probability of each wrong verdict; -1 of right ones."""
        return np.where(self.wrong, np.where(self.same, self.probability, 1 - self.probability), -1.0)

    @cached_property
    def mistaken(self) -> NDArray[np.int64]:
        """Pairs that some model is wrong about: those of most models first, then those of the surest ones."""
        sure = np.where(self.truth, 1 - self.probability, self.probability).mean(axis=0)
        pairs = np.flatnonzero(self.wrong.any(axis=0))
        return np.asarray(pairs[np.lexsort((-sure[pairs], -self.against[pairs]))])

    @property
    def against(self) -> NDArray[np.float64]:
        """(P,) the share of the models that is wrong."""
        return np.asarray(self.wrong.mean(axis=0))

    @property
    def doubtful(self) -> NDArray[np.int64]:
        """The first of these, whose label most models contradict; none if there are few models."""
        few = len(self.models) < FEWEST_MODELS
        return np.asarray(self.mistaken[: 0 if few else np.sum(self.against >= AGAINST)])

    @property
    def table(self) -> Table:
        """The first pairs with their label and the models that are wrong about them."""
        heads = (words("Other text"), words("Label"), words("Wrong", f"of {len(self.models)} models"))
        return Table(heads, tuple(self._row(pair) for pair in self.mistaken[:LISTED].tolist()), of="text")

    def _row(self, pair: int) -> TableRow:
        percent, most = np.rint(100 * self.probability[:, pair]).astype(int), int(self.wrong[:, pair].sum())
        order = np.argsort(-self.confidence[:, pair], kind="stable")
        named = ", ".join(f"{self.models[k]} {percent[k]} %" for k in order[: min(NAMED, most)])
        more = f" and {most - NAMED} more" if most > NAMED else ""
        label = "same" if self.truth[pair] else "not the same"
        grade = "" if self.label[pair] in (0, 1) else f" ({self.label[pair]:g})"
        return TableCell(self.left[pair]), (words(self.right[pair]), words(label + grade), words(named + more))


def error_sections(tested: Judged | str | None, data: str) -> list[Section]:
    """Mistakes and how many labels are in doubt, or why they are left out; none for documents.

    Args:
        tested: from `judged`.
        data: name of the dataset.
    """
    if not isinstance(tested, Judged):
        return [Section(TITLE, [tested], is_folded=True)] if tested else []
    file, doubtful = doubtful_file(data), min(len(tested.doubtful), EXPORTED)
    doubts = [DOUBTFUL.format(count=count(doubtful), file=file)] if doubtful else []
    return [Section(TITLE, [EXPLANATION, *doubts], tables=[tested.table], is_folded=True)]


def judged(board: Leaderboard, processed: Path, *, kind: str) -> Judged | str | None:
    """The test pairs of a dataset with what its models say of them.

    Args:
        board: with the models.
        processed: folder of the corpus.
        kind: of data.

    Returns:
        None for documents; what is missing and which stages write it, if scores or texts are.
    """
    if kind == "documents":
        return None
    if not (processed / layout.TEXTS).is_file():
        return f"Left out: the texts are not there. dvc repro prepare@{board.data} brings them."
    corpus = Corpus.load(processed)
    pairs = corpus.pairs["test"]
    scored = ((row.model, row.first.scores("test"), row.first) for row in board.rows)
    known = [each for each in scored if each[1] is not None and np.array_equal(each[1].label, pairs.label)]
    if not known:
        return (
            f"Left out: no model has scores of these pairs. dvc repro evaluate@{board.data}-<model>-<seed> writes them."
        )
    texts = [corpus.texts.take(pa.array(side)).to_pylist() for side in (pairs.left, pairs.right)]
    scores = [(run.decision, np.asarray(scores.score, np.float64)) for _, scores, run in known if scores is not None]
    return Judged(
        models=tuple(model for model, *_ in known),
        left=texts[0],
        right=texts[1],
        label=pairs.label,
        truth=pairs.label >= corpus.positive_label,
        probability=np.stack([at.probability(of) for at, of in scores]),
        same=np.stack([at.duplicate(of) for at, of in scores]),
    )


def doubtful_file(data: str) -> str:
    """Name of the file of a dataset's doubtful labels."""
    return f"{data}-doubtful.csv"


def write_doubtful(datasets: Mapping[str, Judged], target: Path) -> None:
    """Write the first doubtful labels of each dataset with an empty column for answers."""
    for data, tested in datasets.items():
        rows = []
        for pair in tested.doubtful[:EXPORTED].tolist():
            against, mean = int(tested.wrong[:, pair].sum()), float(tested.probability[:, pair].mean())
            texts = (tested.left[pair], tested.right[pair])
            rows.append((*texts, "", f"{tested.label[pair]:g}", against, len(tested.models), f"{mean:.3f}"))
        if rows:
            heads = (*REVIEW, "label", "models_against", "models", "mean_probability")
            write_text(target / doubtful_file(data), csv_text(heads, rows))
