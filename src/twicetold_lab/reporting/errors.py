"""The mistakes of models on labelled and graded test pairs: the most confident ones, and doubtful labels.

Everything is about each model's first seed at its own threshold. A mistake is as confident as the probability that the
model gives to its wrong verdict.

Shape letters: K models, P pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold import layout
from twicetold.files import csv_text, write_file, write_text
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.reporting.glossary import count
from twicetold_lab.reporting.leaderboard import Leaderboard
from twicetold_lab.reporting.tables import Section, Table, TableCell, TableRow, words

TITLE = "Mistakes"
FILE = "errors.parquet"
"""Beside the page."""
NAMED = 6
"""Wrong models that a row names."""
FEWEST_MODELS = 3
AGAINST = 0.8
"""Share of the models that say otherwise than a label that is in doubt."""
LISTED, EXPORTED = 20, 500
"""Pairs on the page, and in a file."""
REVIEW = ("left_text", "right_text", "same")
"""Columns of the files that `labels.review` reads; no answer is given yet."""
EXPLANATION = (
    "Test pairs about which models are most surely wrong: the surest mistake of each, then its next one. Each model "
    "answers at its own threshold; the percentage is its calibrated probability that the two say the same. All "
    f"mistakes are in {FILE} beside this page."
)
DOUBTFUL = (
    f"Pairs whose label at least {AGAINST:.0%} of the models contradict, those with the most certain models first. "
    "Models share their weaknesses, so these are labels to look at, not errors."
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
        score: (K, P).
        probability: (K, P) that they are the same.
        same: (K, P) verdicts.
    """

    models: tuple[str, ...]
    left: Sequence[str]
    right: Sequence[str]
    label: NDArray[np.float32]
    truth: NDArray[np.bool_]
    score: NDArray[np.float64]
    probability: NDArray[np.float64]
    same: NDArray[np.bool_]

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """(K, P) whether a model is wrong."""
        return np.asarray(self.same != self.truth)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(K, P) probability of each verdict."""
        return np.where(self.same, self.probability, 1 - self.probability)

    @cached_property
    def surest(self) -> NDArray[np.int64]:
        """The pairs of the page: the surest mistake of each model, then its next one."""
        sure = np.where(self.wrong, self.confidence, -1.0)
        order = np.argsort(-sure, axis=1, kind="stable")[:, :LISTED]
        in_turn = [(int(pair), k) for rank in order.T for k, pair in enumerate(rank)]
        return np.array(list(dict.fromkeys(pair for pair, k in in_turn if sure[k, pair] >= 0))[:LISTED], np.int64)

    @cached_property
    def doubtful(self) -> NDArray[np.int64]:
        """Pairs whose label most models contradict, the surest first; none if there are few models."""
        if len(self.models) < FEWEST_MODELS:
            return np.empty(0, np.int64)
        against = self.wrong.mean(axis=0)
        sure = np.where(self.truth, 1 - self.probability, self.probability).mean(axis=0)
        pairs = np.flatnonzero(against >= AGAINST)
        return np.asarray(pairs[np.lexsort((-sure[pairs], -against[pairs]))])

    def table(self, pairs: NDArray[np.int64]) -> Table:
        """Some pairs with their label and the models that are wrong about them."""
        heads = (words("Other text"), words("Label"), words("Wrong", f"of {len(self.models)} models"))
        return Table(heads, tuple(self._row(pair) for pair in pairs.tolist()), of="text")

    def _row(self, pair: int) -> TableRow:
        wrong, percent = self.wrong[:, pair], np.rint(100 * self.probability[:, pair]).astype(int)
        order = np.argsort(-np.where(wrong, self.confidence[:, pair], -1.0), kind="stable")
        most = int(wrong.sum())
        named = ", ".join(f"{self.models[k]} {percent[k]} %" for k in order[: min(NAMED, most)])
        more = f" and {most - NAMED} more" if most > NAMED else ""
        label = "same" if self.truth[pair] else "not the same"
        grade = "" if self.label[pair] in (0, 1) else f" ({self.label[pair]:g})"
        return TableCell(self.left[pair]), (words(self.right[pair]), words(label + grade), words(named + more))


def error_sections(tested: Judged | str | None, data: str) -> list[Section]:
    """Mistakes and labels in doubt, or why they are left out; none for documents.

    Args:
        tested: from `judged`.
        data: name of the dataset.
    """
    if not isinstance(tested, Judged):
        return [Section(TITLE, [tested])] if tested else []
    surest = Section(TITLE, [EXPLANATION], tables=[tested.table(tested.surest)], is_folded=True)
    if not len(tested.doubtful):
        return [surest]
    exported, file = count(min(len(tested.doubtful), EXPORTED)), doubtful_file(data)
    where = f"There are {count(len(tested.doubtful))}; twicetold label {file} asks about the first {exported}."
    table = tested.table(tested.doubtful[:LISTED])
    return [surest, Section("Labels in doubt", [DOUBTFUL, where], tables=[table], is_folded=True)]


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
    scored = {row.model: (row.first.scores("test"), row.first) for row in board.rows}
    known = {model: (scores, run) for model, (scores, run) in scored.items() if scores is not None}
    if not (processed / layout.TEXTS).is_file():
        if known:
            return f"Left out: the texts are not there. dvc repro prepare@{board.data} brings them."
        of_a_model = f"evaluate@{board.data}-<model>-<seed> the scores of a model"
        return f"Left out: no texts and no scores are there. dvc repro prepare@{board.data} brings texts, {of_a_model}."
    corpus = Corpus.load(processed)
    pairs = corpus.pairs["test"]
    known = {model: each for model, each in known.items() if np.array_equal(each[0].label, pairs.label)}
    if not known:
        return "Left out: no model has scores of these test pairs. The stage evaluate writes them."
    texts = [corpus.texts.take(pa.array(side)).to_pylist() for side in (pairs.left, pairs.right)]
    decisions = [run.decision for _, run in known.values()]
    score = np.stack([np.asarray(scores.score, np.float64) for scores, _ in known.values()])
    return Judged(
        models=tuple(known),
        left=texts[0],
        right=texts[1],
        label=pairs.label,
        truth=pairs.label >= corpus.positive_label,
        score=score,
        probability=np.stack([at.probability(of) for at, of in zip(decisions, score, strict=True)]),
        same=np.stack([at.duplicate(of) for at, of in zip(decisions, score, strict=True)]),
    )


def write_errors(datasets: dict[str, Judged], target: Path) -> None:
    """Write each mistake, what all models say of the pairs of the page, and labels in doubt.

    Args:
        datasets: by dataset.
        target: folder of `FILE` and, for each dataset, of the `doubtful_file` that `twicetold label` reads.
    """
    if tables := [_table(data, each) for data, each in datasets.items()]:
        with write_file(target / FILE) as file:
            pq.write_table(pa.concat_tables(tables), file, compression="zstd")
    for data, each in datasets.items():
        if len(each.doubtful):
            write_text(target / doubtful_file(data), _doubtful_csv(each))


def doubtful_file(data: str) -> str:
    """Name of the file of a dataset's doubtful labels."""
    return f"{data}-doubtful.csv"


def _table(data: str, tested: Judged) -> pa.Table:
    """A row for each mistake, and for each model and each pair that is shown or in doubt."""
    kept = tested.wrong.copy()
    kept[:, np.concatenate([tested.surest, tested.doubtful])] = True
    models, pairs = np.nonzero(kept)
    columns = {
        "data": np.full(len(pairs), data, object),
        "pair": pairs,
        "left": pa.array(tested.left, pa.string()).take(pa.array(pairs)),
        "right": pa.array(tested.right, pa.string()).take(pa.array(pairs)),
        "label": tested.label[pairs],
        "model": np.array(tested.models, object)[models],
        "score": tested.score[models, pairs].astype(np.float32),
        "probability": tested.probability[models, pairs].astype(np.float32),
        "wrong": tested.wrong[models, pairs],
    }
    return pa.table(columns)


def _doubtful_csv(tested: Judged) -> str:
    """The first doubtful labels as a review without answers."""
    rows = []
    for pair in tested.doubtful[:EXPORTED].tolist():
        against, mean = int(tested.wrong[:, pair].sum()), float(tested.probability[:, pair].mean())
        texts = (tested.left[pair], tested.right[pair])
        rows.append((*texts, "", f"{tested.label[pair]:g}", against, len(tested.models), f"{mean:.3f}"))
    return csv_text((*REVIEW, "label", "models_against", "models", "mean_probability"), rows)
