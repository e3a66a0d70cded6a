"""Pooling of states, against one text at a time."""

import pytest
import torch

from twicetold.encoding import unit_vectors
from twicetold.layers.pooling import Pooling

LENGTHS = [3, 0, 5, 1, 0]


def pooled_alone(pool, states, how):
    if not len(states):
        return states.new_zeros(states.shape[1])
    if how == "attention":
        return (pool.attend(states).softmax(0) * states).sum(0)
    return {"mean": states.mean(0), "max": states.amax(0), "first": states[0], "last": states[-1]}[how]


@pytest.mark.parametrize("how", ["first", "mean", "max", "last", "attention"])
def test_every_text_is_pooled_as_if_it_were_alone(how):
    torch.manual_seed(0)
    pool = Pooling(how, 4)
    states, offsets = torch.randn(sum(LENGTHS), 4, requires_grad=True), torch.tensor([0, *LENGTHS]).cumsum(0)
    expected = torch.stack([pooled_alone(pool, text, how) for text in states.split(LENGTHS)])
    actual = pool(states, offsets)
    torch.testing.assert_close(actual, expected)
    (gradient,) = torch.autograd.grad(actual.square().sum(), states)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.square().sum(), states)[0])


def test_the_last_states_of_both_directions_are_at_opposite_ends():
    states = torch.arange(12.0).reshape(3, 4)
    pooled = Pooling("last", 4, bidirectional=True)(states, torch.tensor([0, 3]))
    assert pooled.tolist() == [[8, 9, 2, 3]]


@pytest.mark.parametrize("how", ["first", "mean", "max", "last", "attention"])
def test_texts_without_tokens_give_zeros_that_back_propagate(how):
    states = torch.zeros(0, 4, requires_grad=True)
    pooled = Pooling(how, 4)(states, torch.tensor([0, 0, 0]))
    assert pooled.tolist() == [[0] * 4] * 2
    pooled.sum().backward()


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_attention_weights_stay_finite_for_any_score(scale):
    torch.manual_seed(0)
    pool = Pooling("attention", 4)
    pool.attend[2].weight.data *= scale
    states = torch.randn(9, 4)
    pooled = pool(states, torch.tensor([0, 4, 9]))
    assert torch.isfinite(pooled).all()
    assert (pooled <= states.amax(0) + 1e-6).all()


def test_an_unknown_pooling_is_an_error():
    with pytest.raises(ValueError, match="mean, max, last, attention; got 'median'"):
        Pooling("median", 4)


def test_unit_vectors_have_length_one_and_zero_stays_zero_with_a_small_gradient():
    vectors = torch.tensor([[3.0, 4], [0, 0]], requires_grad=True)
    out = unit_vectors(vectors)
    assert out.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]
    out.sum().backward()
    assert vectors.grad.abs().max() <= 1
