"""The two hinges on closest and mean negative, against the course's values and loops over rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import normalize

from operations import Operations
from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.closest_and_mean import ClosestAndMean

MARGIN = 0.25
COURSE = (
    [[0.26726124, 0.53452248, 0.80178373], [-0.5178918, -0.57543534, -0.63297887]],
    [[0.26726124, 0.53452248, 0.80178373], [0.5178918, 0.57543534, 0.63297887]],
)
SECOND = ([[1, 0], [0.6, 0.8], [0, 1]], [[0.8, 0.6], [0, 1], [0.6, 0.8]])


def batch(anchor, positive, **labels):
    sides = (torch.as_tensor(side, dtype=torch.float64).clone().requires_grad_() for side in (anchor, positive))
    return EncodedBatch(*(Encoding(side) for side in sides), **{n: torch.tensor(v) for n, v in labels.items()})


def loss(encoded, *, semi_hard=False):
    return ClosestAndMean(margin=MARGIN, semi_hard=semi_hard)(encoded)["loss"].item()


@pytest.mark.parametrize(("sides", "expected"), [(COURSE, 0.5), (SECOND, (0.05 + 0.88 + 0.70) / 3)])
def test_the_courses_values_come_out(sides, expected):
    assert loss(batch(*sides)) == pytest.approx(expected, abs=1e-7)


def rows_of(anchor, positive, group, duplicate, *, semi_hard):
    """Loss of each row with something to stand against, by the formula."""
    scores = normalize(anchor, dim=1) @ normalize(positive, dim=1).T
    own = scores.diagonal().tolist()
    duplicates = [score for score, same in zip(own, duplicate) if same]
    for i, row in enumerate(scores.tolist()):
        if not duplicate[i]:
            if duplicates:
                yield sum(max(0.0, MARGIN - score + own[i]) for score in duplicates) / len(duplicates)
            continue
        others = [score for j, score in enumerate(row) if j != i and (group[0][i] < 0 or group[0][i] != group[1][j])]
        if not others:
            continue
        candidates = [score for score in others if score <= own[i] or not semi_hard]
        closest = max(0.0, MARGIN - own[i] + max(candidates)) if candidates else 0.0
        yield closest + max(0.0, MARGIN - own[i] + sum(others) / len(others))


CODES = st.integers(-1, 3)
ROWS = st.lists(st.tuples(CODES, CODES, st.booleans()), min_size=1, max_size=9)


@given(ROWS, st.integers(0, 99))
def test_both_losses_are_the_formula_row_by_row(rows, seed):
    anchor, positive = torch.randn(2, len(rows), 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    left, right, duplicate = zip(*rows)
    encoded = batch(anchor, positive, group=left, positive_group=right, label=[float(d) for d in duplicate])
    reference = list(rows_of(anchor, positive, (left, right), duplicate, semi_hard=False))
    assert loss(encoded) == pytest.approx(sum(reference) / max(len(reference), 1))
    reference = list(rows_of(anchor, positive, (left, right), duplicate, semi_hard=True))
    assert loss(encoded, semi_hard=True) == pytest.approx(sum(reference))


@pytest.mark.parametrize("codes", [{"group": [7] * 3, "positive_group": [7] * 3}, {"label": [0.0] * 3}])
def test_rows_of_one_cluster_or_all_labelled_as_no_duplicates_give_a_zero_that_back_propagates(codes):
    encoded = batch(*SECOND, **codes)
    losses = ClosestAndMean(margin=MARGIN, semi_hard=False)(encoded)
    losses["loss"].backward()
    assert losses["loss"].item() == 0


def test_group_codes_of_texts_are_not_taken_for_labels_of_pairs():
    assert loss(batch(*SECOND, label=[0, 0, 1])) == loss(batch(*SECOND))


def test_a_greater_batch_takes_no_more_operations():
    def count(size):
        anchor, positive = torch.randn(2, size, 8)
        group = list(range(size))
        encoded = batch(anchor, positive, group=group, positive_group=group, label=[1.0] * size)
        with Operations() as operations:
            ClosestAndMean(margin=MARGIN, semi_hard=False)(encoded)["loss"].backward()
        return operations.count

    assert count(1024) == count(16)
