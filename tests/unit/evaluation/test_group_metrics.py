"""Agreement of groups: against scikit-learn, and against the definition text by text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

from twicetold.evaluation.group_metrics import group_scores

codes = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 6), min_size=n, max_size=n) for _ in range(2)])
)


def b_cubed(predicted, true):
    """Mean share of each text's predicted group that is of its true one."""
    shares = []
    for mine, label in zip(predicted, true):
        together = [other for group, other in zip(predicted, true) if group == mine]
        shares.append(sum(other == label for other in together) / len(together))
    return np.mean(shares)


@given(codes)
def test_scores_are_those_of_scikit_learn_and_of_the_definition(groups):
    predicted, true = groups
    scores = group_scores(predicted, true)
    assert scores.ari == pytest.approx(adjusted_rand_score(true, predicted))
    (_, false), (missed, both) = pair_confusion_matrix(true, predicted)
    assert scores.precision == pytest.approx(both / (both + false) if both + false else 0)
    assert scores.recall == pytest.approx(both / (both + missed) if both + missed else 0)
    assert scores.f1 == pytest.approx(2 * both / (2 * both + false + missed) if both + false + missed else 0)
    assert scores.b3_precision == pytest.approx(b_cubed(predicted, true))
    assert scores.b3_recall == pytest.approx(b_cubed(true, predicted))
    assert scores.b3 == pytest.approx(2 / (1 / scores.b3_precision + 1 / scores.b3_recall))


def test_counts_of_pairs_beyond_64_bits_of_their_product_are_exact():
    """Two groups of 200,000 texts against 4 of 100,000, in units of 10^10 pairs: 2 both, 2 false, 0 missed, 4 apart."""
    predicted, true = np.repeat([0, 1], 200_000), np.repeat([0, 1, 2, 3], 100_000)
    assert group_scores(predicted, true).ari == pytest.approx(2 * (2 * 4) / (2 * 4 + 4 * 6), abs=1e-5)


def test_names_of_groups_do_not_matter():
    assert group_scores([5, 5, 9], [1, 1, 0]) == group_scores([0, 0, 1], [7, 7, 2])
    assert group_scores([5, 5, 9], [1, 1, 0]).ari == 1


@pytest.mark.parametrize("groups", [([], []), ([1, 2], [1]), ([[1]], [[1]])])
def test_groups_of_other_texts_are_refused(groups):
    with pytest.raises(ValueError, match="expected a predicted and a true group of each text"):
        group_scores(*groups)
