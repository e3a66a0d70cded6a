"""Alignment and matching of the words of two texts; the formulas are asserted of the families that consist of them."""

import torch

from twicetold.layers.alignment import GROUP, Alignment, Facing
from twicetold.layers.best_match import cosines, weighted


def offsets_of(*lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def layer_and_values(*lengths, size=5, hidden=4):
    torch.manual_seed(0)
    layer = Alignment(size, hidden, dropout=0.3).double().eval()
    return layer, torch.randn(sum(lengths), size, dtype=torch.float64, requires_grad=True)


def test_a_word_that_faces_an_empty_text_is_aligned_with_zeros():
    layer, values = layer_and_values(2, 0)
    assert layer(values, Facing.of(offsets_of(2, 0))).tolist() == [[0.0] * 5] * 2


def test_a_long_pair_costs_its_neighbours_no_padding():
    lengths = [4] * (2 * GROUP - 1) + [90]
    facing = Facing.of(offsets_of(*lengths, *lengths))
    assert len(facing.token) == 2 * (GROUP * 4 + GROUP * 90)


def test_training_leaves_out_inputs_of_the_projection_alone():
    layer, values = layer_and_values(1, 1)
    aligned = layer.train()(values, Facing.of(offsets_of(1, 1)))
    assert torch.equal(aligned, values.flip(0))  # each text has one word: all weight is on it, whatever F says


def test_weights_that_cancel_give_a_finite_match():
    values = torch.tensor([[[1.0, 0], [-1.0, 0]]], requires_grad=True)
    alike = cosines(torch.tensor([[[2.0, 0]]]), values)
    found = weighted(alike, values)
    found.sum().backward()
    assert alike.tolist() == [[[1, -1]]]
    assert torch.isfinite(found).all()
    assert torch.isfinite(values.grad).all()
