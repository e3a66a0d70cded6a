"""Measures of a matcher's groups of files, beside the best threshold on one similarity, and what answers change.

Shape letters: n rows, P pairs, A answers.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.group_metrics import GroupScores, group_scores
from twicetold.matching.candidates import Pairs
from twicetold.matching.comparison import Comparison, best_cut
from twicetold.matching.matcher import Matcher
from twicetold.matching.questions import questions
from twicetold.neighbours.components import components
from twicetold_lab.matching.learning import Labelled

THRESHOLDS = 40  # that are tried for the best
BLEND = 0.5  # weight of letters and words beside vectors, as of the default of dedupe
PER_ROUND = 5  # questions between two updates


def by_matcher(one: Labelled, matcher: Matcher) -> GroupScores:
    """Return scores of average linkage on the matcher's probabilities."""
    return group_scores(one.groups(in_file(one, matcher).matcher), one.file.truth)


def in_file(one: Labelled, matcher: Matcher) -> Comparison:
    """Return the comparison of a file by a matcher, moved to what the file shows without labels."""
    return one.comparison.with_matcher(matcher).in_valley()


def by_threshold(one: Labelled, similarity: NDArray[np.float32], threshold: float) -> GroupScores:
    """Return scores of components of the pairs that reach a similarity."""
    kept, (left, right) = similarity >= threshold, one.comparison.ends
    groups = components(len(one.distinct), left[kept], right[kept])
    return group_scores(groups[one.distinct.place], one.file.truth)


def blended(one: Labelled) -> NDArray[np.float32]:
    """Return (P,) similarity of letters, words and vectors, or of the former alone where there are no vectors."""
    pairs: Pairs = one.comparison.pairs
    return pairs.lexical if pairs.cosine is None else BLEND * pairs.lexical + (1 - BLEND) * pairs.cosine


def best_threshold(one: Labelled, similarity: NDArray[np.float32]) -> GroupScores:
    """Return the best that a threshold can do, chosen on the truth."""
    tried = np.unique(np.quantile(similarity, np.linspace(0.3, 0.999, THRESHOLDS)))
    return max((by_threshold(one, similarity, value) for value in tried), key=lambda scores: scores.f1)


def answered(one: Labelled, matcher: Matcher, budgets: Sequence[int], *, seed: int) -> dict[int, GroupScores]:
    """Return scores of `groups_after`, by number of answers."""
    found = groups_after(one, matcher, budgets, seed=seed)
    return {budget: group_scores(groups, one.file.truth) for budget, groups in found.items()}


def groups_after(one: Labelled, matcher: Matcher, budgets: Sequence[int], *, seed: int) -> dict[int, NDArray[np.int64]]:
    """Return (n,) groups after numbers of answers, which are the truth.

    Args:
        one: the file.
        matcher: that starts.
        budgets: numbers of answers, ascending.
        seed: of questions.
    """
    matcher = in_file(one, matcher).matcher
    asked: list[int] = []
    said: list[bool] = []
    groups = {}
    for budget in budgets:
        while len(asked) < budget:
            fresh = questions(one.comparison, matcher, asked, count=min(PER_ROUND, budget - len(asked)), seed=seed)
            if not len(fresh):
                break
            asked += fresh.tolist()
            said += one.same[fresh].tolist()
            matcher = matcher.answered(one.comparison.columns, np.array(asked), np.array(said))
        probability = matcher.probability(one.comparison.columns)
        probability[asked] = said
        groups[budget] = one.groups(matcher, probability, best_cut(probability, len(asked)))
    return groups
