"""The mistakes of models on labelled and graded test pairs: the most confident ones, disagreements, doubtful labels.

Everything is about each model's first seed at its own threshold. A mistake is as confident as the probability that the
model gives to its wrong verdict.

Shape letters: K models, P pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold import layout
from twicetold.files import csv_text, write_file, write_text
from twicetold.trained.scoring import TrainedModel
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.pairwise_knn import units_of
from twicetold_lab.reporting.leaderboard import Leaderboard
from twicetold_lab.reporting.slices import SLICES, Rightness, Signs, explainers, in_slices, signs, terms_of, words
from twicetold_lab.runs.records import read_decision, read_scores

TITLE = "Mistakes"
FILE = "errors.parquet"
"""Beside the page."""
OF_EACH = 10
"""Most confident mistakes of each model that are on the page."""
MOST_PAIRS = 400
"""Of one dataset that are on the page."""
NAMED = 6
"""Wrong models that a row names."""
FEWEST_MODELS = 3
AGAINST = 0.8
"""Share of the models that say otherwise than a label that is in doubt."""
LISTED, EXPORTED = 20, 500
REVIEW = ("left_text", "right_text", "same")
"""Columns of the files that `labels.review` reads; no answer is given yet."""
EXPLANATION = (
    "Test pairs about which models are most surely wrong, and pairs about which two models disagree most. Each model "
    "answers at its own threshold; the percentage is its calibrated probability that the two say the same. Terms are "
    "those that count most for the surest wrong model whose score is a sum over pairs of terms; a minus: they lower it."
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
        signs: of the pairs.
        units: (P,) unit of sampling of each pair.
        explainers: those of the models that are there and whose score is a sum over terms.
    """

    models: tuple[str, ...]
    left: Sequence[str]
    right: Sequence[str]
    label: NDArray[np.float32]
    truth: NDArray[np.bool_]
    score: NDArray[np.float64]
    probability: NDArray[np.float64]
    same: NDArray[np.bool_]
    signs: Signs
    units: NDArray[np.int64]
    explainers: Mapping[str, TrainedModel] = field(default_factory=dict)

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """(K, P) whether a model is wrong."""
        return np.asarray(self.same != self.truth)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(K, P) probability of each verdict."""
        return np.where(self.same, self.probability, 1 - self.probability)

    @cached_property
    def pairs_shown(self) -> NDArray[np.int64]:
        """The pairs of the page, the most confident mistake first."""
        chosen, sure = _shown(self), np.where(self.wrong, self.confidence, 0.0).max(axis=0)
        return np.asarray(chosen[np.argsort(-sure[chosen], kind="stable")])

    @property
    def shown(self) -> list["Mistake"]:
        """The rows of the page."""
        return [self._mistake(int(pair)) for pair in self.pairs_shown]

    @cached_property
    def doubtful(self) -> NDArray[np.int64]:
        """Pairs whose label most models contradict, the surest first; none if there are few models."""
        if len(self.models) < FEWEST_MODELS:
            return np.empty(0, np.int64)
        against = self.wrong.mean(axis=0)
        sure = np.where(self.truth, 1 - self.probability, self.probability).mean(axis=0)
        pairs = np.flatnonzero(against >= AGAINST)
        return np.asarray(pairs[np.lexsort((-sure[pairs], -against[pairs]))])

    @property
    def listed(self) -> list["Mistake"]:
        """The first doubtful labels."""
        return [self._mistake(int(pair)) for pair in self.doubtful[:LISTED]]

    @cached_property
    def slices(self) -> dict[str, dict[str, tuple[Rightness, Rightness]]]:
        """Model -> slice -> how often it is right in it and outside of it."""
        return {
            model: in_slices(self.signs, ~wrong, self.units)
            for model, wrong in zip(self.models, self.wrong, strict=True)
        }

    def count_of(self, name: str) -> int:
        """How many pairs are in a slice."""
        return int(getattr(self.signs, name).sum())

    def _mistake(self, pair: int) -> "Mistake":
        wrong, percent = self.wrong[:, pair], np.rint(100 * self.probability[:, pair]).astype(int)
        order = np.argsort(-np.where(wrong, self.confidence[:, pair], -1.0), kind="stable")
        named = [self.models[k] for k in order[: int(wrong.sum())]]
        explained = next((model for model in named if model in self.explainers), None)
        return Mistake(
            left=self.left[pair],
            right=self.right[pair],
            label=_label(float(self.label[pair]), bool(self.truth[pair])),
            named=tuple((self.models[k], int(percent[k])) for k in order[: min(NAMED, int(wrong.sum()))]),
            wrong=int(wrong.sum()),
            percents=" ".join(map(str, percent.tolist())),
            wrongs="".join(map(str, wrong.astype(int).tolist())),
            slices=tuple(self.signs.names(pair)),
            explained=explained or "",
            terms=terms_of(self.explainers[explained], self.left[pair], self.right[pair]) if explained else (),
        )


@dataclass(frozen=True)
class Mistake:
    """A pair of the page.

    Args:
        left: text.
        right: text.
        label: in words.
        named: the surest wrong models, with the probability in percent that they give.
        wrong: number of models that are.
        percents: probabilities of all models, in percent.
        wrongs: whether each model is wrong, a digit each.
        slices: that the pair is in.
        explained: the surest wrong model whose terms are known; empty if none is.
        terms: that count most for it.
    """

    left: str
    right: str
    label: str
    named: tuple[tuple[str, int], ...]
    wrong: int
    percents: str
    wrongs: str
    slices: tuple[str, ...]
    explained: str
    terms: tuple[str, ...]


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
    scored = {row.model: (read_scores(row.first.folder, "test"), row.first) for row in board.rows}
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
    train = frozenset(word for text in corpus.texts_of("train") for word in words(text))
    decisions = [read_decision(run) for _, run in known.values()]
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
        signs=signs(texts[0], texts[1], train),
        units=units_of(pairs.left, pairs.right),
        explainers=explainers({row.model: row for row in board.rows if row.model in known}),
    )


def write_errors(found: dict[str, Judged], target: Path) -> None:
    """Write each mistake, what all models say of the pairs of the page, and labels in doubt.

    Args:
        found: by dataset.
        target: folder of `FILE` and, for each dataset, of the `doubtful_file` that `twicetold label` reads.
    """
    if tables := [_table(data, each) for data, each in found.items()]:
        with write_file(target / FILE) as file:
            pq.write_table(pa.concat_tables(tables), file, compression="zstd")
    for data, each in found.items():
        if len(each.doubtful):
            write_text(target / doubtful_file(data), _doubtful_csv(each))


def doubtful_file(data: str) -> str:
    """Name of the file of a dataset's doubtful labels."""
    return f"{data}-doubtful.csv"


def _shown(found: Judged) -> NDArray[np.int64]:
    """The surest mistakes of each model, then the pair that each two models disagree about most."""
    sure = np.where(found.wrong, found.confidence, -1.0)
    chosen: dict[int, None] = {}
    for place in range(min(OF_EACH, sure.shape[1])):
        for of_model, order in zip(sure, np.argsort(-sure, axis=1, kind="stable"), strict=True):
            if of_model[order[place]] >= 0:
                chosen.setdefault(int(order[place]))
    apart: list[tuple[float, int]] = []
    for wrong, one in zip(found.wrong, found.probability, strict=True):
        for also, other in zip(found.wrong, found.probability, strict=True):
            gap = np.where(wrong & ~also, np.abs(one - other), -1.0)
            apart.append((-float(gap.max()), int(gap.argmax())))
    chosen |= {pair: None for gap, pair in sorted(apart) if gap <= 0}
    return np.array(list(chosen)[:MOST_PAIRS], np.int64)


def _label(label: float, same: bool) -> str:
    said = "same" if same else "not the same"
    return said if label in (0, 1) else f"{said} ({label:g})"


def _table(data: str, found: Judged) -> pa.Table:
    """A row for each mistake, and for each model and each pair that is shown or in doubt."""
    kept = found.wrong.copy()
    kept[:, np.concatenate([found.pairs_shown, found.doubtful])] = True
    models, pairs = np.nonzero(kept)
    columns = {
        "data": np.full(len(pairs), data, object),
        "pair": pairs,
        "left": pa.array(found.left, pa.string()).take(pa.array(pairs)),
        "right": pa.array(found.right, pa.string()).take(pa.array(pairs)),
        "label": found.label[pairs],
        "model": np.array(found.models, object)[models],
        "score": found.score[models, pairs].astype(np.float32),
        "probability": found.probability[models, pairs].astype(np.float32),
        "wrong": found.wrong[models, pairs],
        **{name: getattr(found.signs, name)[pairs] for name in SLICES},
    }
    return pa.table(columns)


def _doubtful_csv(found: Judged) -> str:
    """The first doubtful labels as a review without answers."""
    rows = []
    for pair in found.doubtful[:EXPORTED].tolist():
        against, mean = int(found.wrong[:, pair].sum()), float(found.probability[:, pair].mean())
        texts = (found.left[pair], found.right[pair])
        rows.append((*texts, "", f"{found.label[pair]:g}", against, len(found.models), f"{mean:.3f}"))
    return csv_text((*REVIEW, "label", "models_against", "models", "mean_probability"), rows)
