"""The alignment layer against RE2's formula, pair by pair."""

import pytest
import torch
from torch.nn.functional import gelu

from twicetold.layers import alignment
from twicetold.layers.alignment import GROUP, Alignment, Facing

LEFT, RIGHT = [3, 1, 0, 9, 2, 0], [2, 8, 4, 9, 0, 0]


def offsets_of(*lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def layer_and_values(*lengths, size=5, hidden=4):
    torch.manual_seed(0)
    layer = Alignment(size, hidden, dropout=0.3).double().eval()
    return layer, torch.randn(sum(lengths), size, dtype=torch.float64, requires_grad=True)


def naively(layer, values, left, right):
    """Word by word and pair by pair."""
    texts = values.split([*left, *right])
    aligned = []
    for n, own in enumerate(texts):
        other = texts[(n + len(left)) % len(texts)]
        for word in own:
            scores = [layer.temperature * (gelu(layer.project(word)) @ gelu(layer.project(o))) for o in other]
            weights = torch.stack(scores).softmax(0) if scores else []
            aligned.append(sum((w * o for w, o in zip(weights, other)), torch.zeros_like(word)))
    return torch.stack(aligned)


@pytest.mark.parametrize("group", [1, 3, 64])
def test_words_are_aligned_by_the_published_formula_whatever_texts_are_padded_together(group, monkeypatch):
    monkeypatch.setattr(alignment, "GROUP", group)
    layer, values = layer_and_values(*LEFT, *RIGHT)
    expected = naively(layer, values, LEFT, RIGHT)
    torch.testing.assert_close(layer(values, Facing.of(offsets_of(*LEFT, *RIGHT))), expected)


def test_gradients_are_those_of_the_formula():
    layer, values = layer_and_values(*LEFT, *RIGHT)
    weights = torch.randn(values.shape, dtype=torch.float64)
    inputs = [values, *layer.parameters()]
    actual = torch.autograd.grad((layer(values, Facing.of(offsets_of(*LEFT, *RIGHT))) * weights).sum(), inputs)
    expected = torch.autograd.grad((naively(layer, values, LEFT, RIGHT) * weights).sum(), inputs)
    torch.testing.assert_close(actual, expected)


def test_a_word_that_faces_an_empty_text_is_aligned_with_zeros():
    layer, values = layer_and_values(2, 0)
    assert layer(values, Facing.of(offsets_of(2, 0))).tolist() == [[0.0] * 5] * 2


@pytest.mark.parametrize("lengths", [[], [0, 0, 0, 0]])
def test_a_batch_without_a_word_still_back_propagates(lengths):
    layer, values = layer_and_values(*lengths)
    layer(values, Facing.of(offsets_of(*lengths))).sum().backward()
    assert values.grad.shape == (0, 5)


def test_a_long_pair_costs_its_neighbours_no_padding():
    lengths = [4] * (2 * GROUP - 1) + [90]
    facing = Facing.of(offsets_of(*lengths, *lengths))
    assert len(facing.token) == 2 * (GROUP * 4 + GROUP * 90)


def test_training_leaves_out_inputs_of_the_projection_alone():
    layer, values = layer_and_values(1, 1)
    aligned = layer.train()(values, Facing.of(offsets_of(1, 1)))
    assert torch.equal(aligned, values.flip(0))  # each text has one word: all weight is on it, whatever F says
