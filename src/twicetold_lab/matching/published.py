"""A matcher on labelled pairs with published splits: features of a pair, a logistic regression and boosted trees.

Features are those of `twicetold.matching`, of the whole text and of each field, and shares of fields that are equal,
near or contradicting. In the scope `pair` they are about the two records alone. In the scope `table` some say as well
how the pair stands among all records of both tables, whose texts are known and whose labels are not. Published systems
judge a pair alone, so `pair` is what compares with them.

Two things can give a label away. The number of labelled pairs that a record is in does, where the pairs were chosen by
a search (`audit` of the corpus), so features of rank among the *labelled* pairs are left out here. And where each
question was given one pair of either kind (`mqp`), the scope `table` makes a choice between two of a judgement of one.

Everything is chosen on validation: the ridge of the regression and the threshold. Test is read once.

Shape letters: P pairs, N records, F features, K nearest records.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.decision import Aim, best_threshold
from twicetold.evaluation.intervals import Interval
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import ScoreCounts
from twicetold.matching.candidates import Pairs, lexical_rows, pair_dots
from twicetold.matching.matcher import Matcher
from twicetold.matching.pair_features import Column, pair_features
from twicetold.matching.records import record_features
from twicetold.matching.regression import Floats, fit_logistic
from twicetold.matching.terms import Terms
from twicetold.matching.trees import Trees
from twicetold.normal_form import normal_form
from twicetold.trained.fitted import static_vectors
from twicetold_lab.data.corpus import SPLITS, Corpus
from twicetold_lab.evaluation.pair_intervals import accuracy_interval, confusion_intervals
from twicetold_lab.matching.trees import grown

Scope = Literal["pair", "table"]
PairScorer: TypeAlias = Callable[[Sequence[str], Sequence[str]], ArrayLike]
"""Scores of pairs of texts, left and right."""
Result = TypeVar("Result")
RIDGES = (1.0, 3.0, 10.0, 30.0, 100.0)  # precision of coefficients around 0
SPREAD = 0.3  # of answers, as of the generic matcher
NEAREST = 10  # K
BLOCK = 1_000  # records that are compared at a time
TIE = 1e-6  # similarities nearer than this are equal
WHOLE = "text"  # view of all fields
GROUPS = {
    "codes of one text within the other": r"codes_",
    "numbers, units, symbols": r"(numbers|units|symbols)_",
    "words shared and not": r"(shared|spelt|order)_|squeezed|prefix",
    "similarity by letters and words": r":(letters|words|lexical)$",
    "vectors": r"cosine",
    "scores of other models": r"^model:",
    "standing in the tables": r"_(rank|gap|above)_",
    "single fields": rf"^(?!{WHOLE}:)",
    "the whole text": rf"^{WHOLE}:",
}
"""Name of a group of features -> pattern of their names."""


@dataclass(frozen=True)
class PublishedPairs:
    """Labelled pairs of a corpus with their features.

    Args:
        columns: (P,) features by name.
        same: (P,) whether a pair matches.
        side: (P,) number of its split.
        known: (P,) whether both of its texts are in train.
        left: (P,) text on the left.
    """

    columns: dict[str, Column]
    same: NDArray[np.bool_]
    side: NDArray[np.int64]
    known: NDArray[np.bool_]
    left: NDArray[np.int64]

    def of(self, split: str) -> tuple[dict[str, Column], NDArray[np.bool_]]:
        """Features and labels of a split."""
        rows = self.side == SPLITS.index(split)
        return {name: column[rows] for name, column in self.columns.items()}, self.same[rows]

    def without(self, pattern: str) -> "PublishedPairs":
        """The pairs without features whose name has a pattern."""
        kept = {name: column for name, column in self.columns.items() if not re.search(pattern, name)}
        return replace(self, columns=kept)


@dataclass(frozen=True)
class Measured:
    """F1 and accuracy on test, each at its threshold from validation, with 95 % intervals.

    Args:
        f1: of the pairs.
        f1_interval: by the bootstrap over texts on the left.
        f1_known: of pairs whose texts are both in train; None if there are none.
        f1_new: of the other pairs.
        accuracy: of the pairs.
        accuracy_interval: its interval.
    """

    f1: float
    f1_interval: Interval
    f1_known: float | None
    f1_new: float
    accuracy: float
    accuracy_interval: Interval


@dataclass(frozen=True)
class PairClassifier:
    """The mean probability of a logistic regression and of boosted trees."""

    logistic: Matcher
    trees: Trees

    @classmethod
    def learnt(cls, pairs: PublishedPairs, *, seed: int = 0) -> "PairClassifier":
        """Learn from the pairs of train; the ridge has the best average precision on validation."""
        columns, same = pairs.of("train")
        held_out, truth = pairs.of("val")
        tried = (regression(columns, same, ridge=ridge) for ridge in RIDGES)
        best = max(tried, key=lambda one: ScoreCounts.of(one.probability(held_out), truth).average_precision())
        return cls(best, grown(list(columns), np.column_stack(list(columns.values())), same, seed=seed))

    def probability(self, columns: Mapping[str, Column]) -> Floats:
        """(P,) of pairs with these features."""
        return (self.logistic.probability(columns) + self.trees.probability(columns)) / 2


def published_pairs(
    corpus: Corpus, *, scope: Scope = "pair", models: Mapping[str, PairScorer] | None = None
) -> PublishedPairs:
    """The labelled pairs of a corpus, with features of the whole text and of each field.

    Args:
        corpus: of labelled pairs.
        scope: whether features are about the two records alone, or about their place in the tables as well.
        models: further models by name, such as `twicetold.load(folder).similarity`; the score of each is a feature.

    Raises:
        ValueError: if the scope is unknown.
    """
    if scope not in ("pair", "table"):
        raise ValueError(f"expected the scope 'pair' or 'table', got {scope!r}")
    parts = [corpus.pairs[split] for split in SPLITS]
    left, right = (np.concatenate([getattr(part, end) for part in parts]) for end in ("left", "right"))
    views = {WHOLE: corpus.texts, **corpus.fields}
    folded = {name: normal_form(view.to_pylist()) for name, view in views.items()}
    columns: dict[str, Column] = {}
    for place, (name, texts) in enumerate(folded.items()):
        # The first field is the name or title; vectors and standing of the others say little.
        found = _of_view(texts, left, right, nearest=scope == "table" and place < 2, vectors=place < 2)
        columns |= {f"{name}:{feature}": column for feature, column in found.items()}
    if corpus.fields:
        pairs = Pairs(len(corpus), left, right, np.zeros(len(left), np.float32), None)
        columns |= record_features([folded[name] for name in corpus.fields], pairs)
    ends = [corpus.texts.take(pa.array(end)).to_pylist() for end in (left, right)]
    columns |= {f"model:{name}": np.asarray(score(*ends), np.float32) for name, score in (models or {}).items()}
    known = np.isin(left, corpus.members["train"]) & np.isin(right, corpus.members["train"])
    side = np.repeat(np.arange(len(SPLITS)), [len(part) for part in parts])
    return PublishedPairs(columns, np.concatenate([part.label for part in parts]) > 0, side, known, left)


def _of_view(
    texts: list[str], left: NDArray[np.int64], right: NDArray[np.int64], *, nearest: bool, vectors: bool
) -> dict[str, Column]:
    """Features of one column of text."""
    terms = Terms.of(texts)
    rows = lexical_rows(terms)
    embedded = static_vectors(texts) if vectors else None
    cosine = None if embedded is None else pair_dots(embedded, left, right)
    pairs = Pairs(len(texts), left, right, pair_dots(rows, left, right), cosine)
    # Ranks among the labelled pairs, which begin so, would say how many of these a record has.
    found = {
        name: column
        for name, column in pair_features(terms, pairs).items()
        if not name.startswith(("lexical_", "cosine_"))
    }
    if nearest:
        found |= _standing(rows, pairs, pairs.lexical, "lexical")
        found |= {} if cosine is None else _standing(embedded, pairs, cosine, "cosine")
    return found


def _standing(rows: Any, pairs: Pairs, similarity: Column, name: str) -> dict[str, Column]:
    """Standing of a pair among the K nearest records of the other table: rank, gap to the best, above the mean."""
    ends = (pairs.left, pairs.right)
    tables = [np.unique(end) for end in ends]
    found: dict[str, Column] = {}
    for side, (end, own, other) in enumerate(zip(ends, tables, tables[::-1], strict=True)):
        best = _nearest(rows, own, other)[np.searchsorted(own, end)]
        first = best[:, 0] <= similarity + TIE
        gap = similarity - np.where(first, best[:, min(1, best.shape[1] - 1)], best[:, 0])
        word = ("left", "right")[side]
        found[f"{name}_rank_{word}"] = np.log1p((best > similarity[:, None] + TIE).sum(axis=1)).astype(np.float32)
        found[f"{name}_gap_{word}"] = gap.astype(np.float32)
        found[f"{name}_above_{word}"] = (similarity - best.mean(axis=1)).astype(np.float32)
    return found


def _nearest(rows: Any, own: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float32]:
    """(records, K) highest similarities to records of the other table, descending."""
    across = rows[other].T
    blocks = []
    for start in range(0, len(own), BLOCK):
        product = rows[own[start : start + BLOCK]] @ across
        dense = np.asarray(product.toarray() if hasattr(product, "toarray") else product, np.float32)
        blocks.append(-np.partition(-dense, min(NEAREST, dense.shape[1]) - 1, axis=1)[:, :NEAREST])
    return -np.sort(-np.concatenate(blocks), axis=1)


def regression(columns: Mapping[str, Column], same: NDArray[np.bool_], *, ridge: float) -> Matcher:
    """A logistic regression on labelled pairs, as a matcher that can be stored and go on with answers.

    Args:
        columns: (P,) features by name.
        same: (P,) whether a pair matches.
        ridge: precision of the coefficients of standardised features around 0.
    """
    rows = np.column_stack(list(columns.values())).astype(np.float64)
    mean, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-3
    inputs = np.column_stack([np.ones(len(rows)), (rows - mean) / scale])
    count = inputs.shape[1]
    precision = np.append(1e-3, np.full(count - 1, ridge))
    found = fit_logistic(inputs, same, mean=np.zeros(count), precision=precision)
    return Matcher(tuple(columns), mean, scale, found, found, np.zeros((0, count)), SPREAD)


def measure(pairs: PublishedPairs, classifier: PairClassifier | Matcher | Trees) -> Measured:
    """F1 and accuracy of a trained classifier on test."""
    held_out, truth = pairs.of("val")
    columns, same = pairs.of("test")
    probability, test = classifier.probability(columns), pairs.side == SPLITS.index("test")
    known = pairs.known[test]
    verdicts = {}
    aims: tuple[Aim, ...] = ("f1", "accuracy")
    scores, weights = classifier.probability(held_out), np.ones(len(truth))
    for aim in aims:
        verdicts[aim] = probability >= best_threshold(scores, truth, weights, aim=aim)
    said, right = verdicts["f1"], int((verdicts["accuracy"] == same).sum())
    return Measured(
        f1=Confusion.of(said, same).f1,
        f1_interval=confusion_intervals(said, same, pairs.left[test])["f1"],
        f1_known=Confusion.of(said[known], same[known]).f1 if known.any() else None,
        f1_new=Confusion.of(said[~known], same[~known]).f1,
        accuracy=right / len(same),
        accuracy_interval=accuracy_interval(right, len(same)),
    )


def without_groups(pairs: PublishedPairs) -> dict[str, float]:
    """F1 on test without each group of features, and with the first group, codes, alone."""
    found = {
        f"without {name}": measure(fewer, PairClassifier.learnt(fewer)).f1
        for name, pattern in GROUPS.items()
        if 0 < len((fewer := pairs.without(pattern)).columns) < len(pairs.columns)
    }
    codes = pairs.without(rf"^(?!.*({next(iter(GROUPS.values()))}))")
    return found | {"codes alone": measure(codes, PairClassifier.learnt(codes)).f1}


def codes_rule(corpus: Corpus, fields: Sequence[str]) -> float:
    """F1 on test of a rule that is not learnt: a code of one record occurs in the other, and no two codes contradict.

    Args:
        corpus: of labelled pairs.
        fields: that are read, as one text.
    """
    texts = pc.binary_join_element_wise(*(corpus.fields[name] for name in fields), " ")
    columns, same = published_pairs(replace(corpus, texts=texts, fields={})).of("test")
    said = (columns[f"{WHOLE}:codes_any"] > 0) & (columns[f"{WHOLE}:codes_contradict"] == 0)
    return Confusion.of(said, same).f1


def seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """CPU seconds of a call, and what it returns."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
