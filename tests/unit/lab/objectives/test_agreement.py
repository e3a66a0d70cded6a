"""The consistency of a text and its copy: its value and its gradient, which reaches the copy alone."""

import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.agreement import Agreement
from twicetold_lab.objectives.pair_bce import PairBce
from twicetold_lab.objectives.weighted_sum import WeightedSum


def sides(rows=6, seed=0):
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, 4, generator=random, dtype=torch.float64).requires_grad_() for _ in range(2)]


def agreement(text, copy):
    return Agreement()(EncodedBatch(Encoding(text), copy=Encoding(copy)))["loss"]


def test_it_is_the_mean_of_one_minus_the_cosine_with_the_text_held_fixed():
    text, copy = sides()
    loss = agreement(text, copy)
    loss.backward()
    fixed, moved = text.detach(), copy.detach().clone().requires_grad_()
    expected = torch.stack([1 - (t @ c) / (t.norm() * c.norm()) for t, c in zip(fixed, moved)]).mean()
    expected.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(copy.grad, moved.grad)
    assert text.grad is None


def test_its_gradient_is_that_of_finite_differences():
    text, copy = sides()
    assert torch.autograd.gradcheck(lambda c: agreement(text.detach(), c), copy)


def test_it_is_zero_for_copies_in_the_same_direction_and_two_for_the_opposite():
    text, _ = sides()
    assert agreement(text, 3 * text).item() == pytest.approx(0, abs=1e-12)
    assert agreement(text, -text).item() == pytest.approx(2)


def test_texts_and_copies_without_a_known_word_take_no_part():
    text, copy = (side.detach() for side in sides(4))
    text[0], copy[1] = 0, 0
    copy.requires_grad_()
    loss = agreement(text, copy)
    loss.backward()
    torch.testing.assert_close(loss, agreement(text[2:], copy[2:]))
    assert torch.isfinite(copy.grad).all()
    assert not copy.grad[:2].any()


@pytest.mark.parametrize("rows", [0, 3])
def test_where_nobody_takes_part_the_loss_is_zero_and_back_propagates(rows):
    copy = torch.zeros(rows, 4, requires_grad=True)
    loss = agreement(torch.zeros(rows, 4), copy)
    loss.backward()
    assert loss.item() == 0
    assert not copy.grad.any()


def test_beside_another_objective_it_counts_by_its_weight():
    text, copy = sides()
    batch = EncodedBatch(Encoding(text), Encoding(text), label=torch.ones(6), score=torch.zeros(6), copy=Encoding(copy))
    parts = {"own": PairBce(pos_weight=None), "consistency": Agreement()}
    losses = WeightedSum(parts=parts, weights={"own": 1, "consistency": 0.3})(batch)
    assert losses["loss"].item() == pytest.approx(losses["own"].item() + 0.3 * losses["consistency"].item(), rel=1e-6)


def test_without_copies_it_says_what_to_choose():
    with pytest.raises(ValueError, match=r"consistency\.weight"):
        Agreement()(EncodedBatch(Encoding(torch.ones(2, 3))))
