"""The default on a dataset: the groups that `twicetold dedupe FILE` makes of the test texts, without a trained model.

The generic matcher scores the candidate pairs of the texts, and groups are average linkage on its probabilities
(`matching.comparison`). Nothing is learnt from train. Where the matcher of the package has learnt from files of a
dataset's kind, the one that was learnt from all other kinds takes its place (`held_out.json`, of
`pipelines/learn_matcher.py`).

| metric | groups or scores |
|---|---|
| `text_average_precision_<group>`, those over pairs | log odds; equal texts rank first, and pairs that are no |
| | candidates last, as one step |
| `b3_average`, `ari_average`, `pair_f1_average` | groups as they are made without labels |
| `b3_after_20` and so on | groups after so many true answers to the questions that `label` asks |
| `b3_calibrated` and so on | groups by the matcher moved by `LABELS` labelled candidates of validation, and |
| | by the cut with the highest B-cubed there |
| those of labelled pairs | probability of each pair, 0 where it is no candidate; the threshold is from validation |
| `accuracy_without_labels`, `f1_without_labels` | the same at a probability of 0.5 |

Shape letters: n texts of a split, N distinct ones, P candidates, R pairs of texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np
from scipy.special import expit

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.evaluation.all_pairs import related_pairs
from twicetold.evaluation.decision import decide
from twicetold.evaluation.group_metrics import agreement_intervals, group_scores, without_each
from twicetold.evaluation.inputs import UNKNOWN, ScoredPairs
from twicetold.evaluation.intervals import Ints
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import Floats, ScoreCounts
from twicetold.matching.comparison import CUT
from twicetold.matching.generic import generic_matcher, read_sets
from twicetold.matching.matcher import Matcher
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.comparisons import TEXT_RANKING
from twicetold_lab.evaluation.evaluators import Evaluation, Standard
from twicetold_lab.evaluation.text_ranking import TextRanking, rank_candidates
from twicetold_lab.evaluation.units import PairedUnits, Units, units_of
from twicetold_lab.matching.learning import Labelled, labelled
from twicetold_lab.matching.measures import groups_after, in_file
from twicetold_lab.matching.sources import LabelledFile, kind_of
from twicetold_lab.scoring.duplicates import duplicate_groups

HELD_OUT = "held_out.json"
LABELS = 500  # candidates of validation by which the matcher is moved
CUTS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True)
class WithoutLabels:
    """Evaluates the default.

    Args:
        answers: numbers of answers, ascending.
        seed: of the questions and the labels.
    """

    answers: Sequence[int] = (20, 50)
    seed: int = 0

    def report(self, corpus: Corpus, evaluator: Standard) -> tuple[Evaluation, dict[str, ScoredPairs]]:
        """Evaluate the default, and give the scores of labelled pairs by split (of documents: none).

        Raises:
            ValueError: if no two texts of validation or of test are known to be duplicates.
        """
        matcher = _matcher(corpus.name)
        splits = {split: _compared(corpus, split, evaluator.classes) for split in ("val", "test")}
        group, scored = splits["test"].file.name, dict[str, ScoredPairs]()
        report = Evaluation({"val": {}, "test": {}}, {"test": {}}, {})
        if corpus.kind == "labelled_pairs":
            scored = {split: _scored(corpus, split, one, matcher) for split, one in splits.items()}
            report = _decided(corpus, scored, evaluator)
        by_text = f"{TEXT_RANKING}{group}"
        for split, one in splits.items():
            texts, pairs = _rankings(one, matcher)
            by_pair = {f"auroc_{group}": pairs.auroc(), f"average_precision_{group}": pairs.average_precision()}
            report.metrics[split] |= by_pair | {by_text: texts.mean}
        report.intervals["test"][by_text] = texts.interval
        units: dict[str, PairedUnits] = {by_text: texts.units}
        grouped = {"average": one.groups(in_file(one, matcher).matcher)}
        grouped |= {f"after_{n}": g for n, g in groups_after(one, matcher, self.answers, seed=self.seed).items()}
        grouped["calibrated"] = self._calibrated(splits["val"], one, matcher)
        codes = codes_of(one)
        for name, groups in grouped.items():
            scores, ends = group_scores(groups, codes), agreement_intervals(groups, codes)
            report.metrics["test"] |= {f"b3_{name}": scores.b3, f"ari_{name}": scores.ari, f"pair_f1_{name}": scores.f1}
            report.intervals["test"] |= {f"{measure}_{name}": each for measure, each in ends.items()}
            units[f"b3_{name}"] = Units.of_left_out(without_each(groups, codes)[1], codes)
        curves = report.curves or {group: pairs.roc_curve().thinned()}
        return replace(report, curves=curves, units={**report.units, **units}), scored

    def _calibrated(self, val: Labelled, test: Labelled, matcher: Matcher) -> Ints:
        """Return (n,) groups of test by the matcher and the cut of validation."""
        known, count = val.comparison.columns, len(val.same)
        drawn = np.random.default_rng(self.seed).choice(count, min(LABELS, count), replace=False)
        moved = matcher.answered(known, drawn, val.same[drawn])
        best = max(CUTS, key=lambda cut: group_scores(val.groups(moved, cut=cut), codes_of(val)).b3)
        return test.groups(moved, cut=best)


def _matcher(data: str) -> Matcher:
    """Return the generic matcher, learnt without files of the kind of a dataset."""
    stored = read_sets((files(__package__) / HELD_OUT).read_text(encoding="utf-8"))
    kind = kind_of(data)
    return Matcher.from_json(stored[kind]) if kind in stored else generic_matcher(vectors=True)


def _compared(corpus: Corpus, split: str, classes: Sequence[str]) -> Labelled:
    """Return the texts of a split whose group is known, in a file that is named for the group."""
    groups = duplicate_groups(corpus, split, classes=classes)
    if groups is None:
        raise ValueError(f"expected texts of {split} of {corpus.name} of which some are duplicates and some are not")
    name, codes = groups
    known = np.flatnonzero(codes != UNKNOWN)
    texts = corpus.texts_of(split)
    return labelled(
        LabelledFile(name, corpus.name, [texts[row] for row in known], [str(code) for code in codes[known]]),
        vectors=True,
    )


def codes_of(one: Labelled) -> Ints:
    """Return (n,) true groups."""
    return np.array([int(code) for code in one.file.truth], np.int64)


def _rankings(one: Labelled, matcher: Matcher) -> tuple[TextRanking, ScoreCounts]:
    """Return rankings of the texts for each text, and of all pairs."""
    codes = codes_of(one)
    pairs = row_pairs(one.distinct, one.comparison.ends, matcher.log_odds(one.comparison.columns))
    return rank_candidates(*pairs, codes), _counts(codes, *pairs)


def row_pairs(distinct: DistinctTexts, ends: tuple[Ints, Ints], score: Floats) -> tuple[Ints, Ints, Floats]:
    """Three times (R,): pairs of rows whose texts are candidates or equal, and their scores; equal texts rank first.

    Args:
        distinct: of n rows.
        ends: (P,) and (P,) texts of the candidates.
        score: (P,) of the candidates.
    """
    order, size = np.argsort(distinct.place, kind="stable"), np.bincount(distinct.place)
    start, several = np.cumsum(size) - size, np.flatnonzero(size > 1)
    one, other = (np.append(side, several) for side in ends)
    values = np.append(score, np.full(len(several), score.max(initial=0.0) + 1))
    count = size[one] * size[other]
    pair = np.repeat(np.arange(len(one)), count)
    first, second = np.divmod(np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count), size[other][pair])
    left, right = order[start[one[pair]] + first], order[start[other[pair]] + second]
    kept = (one[pair] != other[pair]) | (left < right)
    return left[kept], right[kept], values[pair][kept]


def _counts(codes: Ints, left: Ints, right: Ints, score: Floats) -> ScoreCounts:
    """Return numbers of pairs with each score; those without one have the lowest."""
    distinct, place = np.unique(score, return_inverse=True)
    same = codes[left] == codes[right]
    positive, negative = (np.bincount(place[part], minlength=len(distinct)) for part in (same, ~same))
    positives = related_pairs(codes)
    others = len(codes) * (len(codes) - 1) // 2 - positives
    return ScoreCounts(
        np.append(score.min(initial=0.0) - 1, distinct),
        np.append(positives - positive.sum(), positive),
        np.append(others - negative.sum(), negative),
    )


def _scored(corpus: Corpus, split: str, file: Labelled, matcher: Matcher) -> ScoredPairs:
    """Return the labelled pairs of a split by the probability that the matcher gives them."""
    pairs, comparison = corpus.pairs[split], in_file(file, matcher)
    rows = (np.searchsorted(corpus.members[split], side) for side in (pairs.left, pairs.right))
    one, other = (file.distinct.place[side] for side in rows)
    apart = one != other
    score = np.ones(len(one), np.float64)
    score[apart] = expit(comparison.score(one[apart], other[apart]))
    return ScoredPairs(score, pairs.label)


def _decided(corpus: Corpus, scored: Mapping[str, ScoredPairs], evaluator: Standard) -> Evaluation:
    """Return the standard evaluation of labelled pairs, and the decisions at a probability of 0.5."""
    val, test = scored["val"], scored["test"]
    units = units_of(corpus.pairs["test"].left, corpus.pairs["test"].right)
    report = evaluator.labelled_pairs(val, test, decision=decide(val.score, val.label), units=units)
    for split, pairs in scored.items():
        at_half = Confusion.of(pairs.score >= CUT, pairs.label)
        report.metrics[split] |= {"accuracy_without_labels": at_half.accuracy, "f1_without_labels": at_half.f1}
    return report
