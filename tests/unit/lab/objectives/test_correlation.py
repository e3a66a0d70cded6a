import numpy as np
import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.similarities import Correlation

SIDE = Encoding(torch.zeros(6, 2))
GRADE = torch.tensor([5.0, 0, 3.2, 1, 4, 2])


def loss_of(score, grade=GRADE):
    return Correlation()(EncodedBatch(anchor=SIDE, positive=SIDE, label=grade, score=score))["loss"]


def test_it_is_one_minus_the_correlation_of_numpy_whatever_the_scale():
    score = torch.randn(6, generator=torch.Generator().manual_seed(0))
    expected = 1 - np.corrcoef(score.numpy(), GRADE.numpy())[0, 1]
    assert loss_of(score).item() == pytest.approx(expected, abs=1e-6)
    assert loss_of(0.1 * score - 3).item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("size", [0, 1, 6])
def test_scores_that_are_all_alike_have_a_finite_gradient(size):
    score = torch.ones(size, requires_grad=True)
    loss = loss_of(score, GRADE[:size])
    loss.backward()
    assert loss.item() == 1
    assert score.grad.isfinite().all()


def test_a_batch_without_grades_names_the_examples_that_have_them():
    with pytest.raises(ValueError, match="choose examples=graded_pairs"):
        loss_of(torch.ones(6), None)
