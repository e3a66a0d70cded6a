"""The four matchings of BiMPM against the paper's formulas, word by word."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.layers.alignment import Facing
from twicetold.layers.four_matchings import FourMatchings

LEFT, RIGHT = [3, 1, 0, 9, 2, 0], [2, 8, 4, 9, 0, 0]
SIZE, COUNT = 5, 3


def offsets_of(*lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def layer_and_states(*lengths, backwards=False):
    torch.manual_seed(0)
    return FourMatchings(SIZE, COUNT, backwards=backwards), torch.randn(sum(lengths), SIZE, requires_grad=True)


def over_perspectives(match, u, v):
    return torch.stack([cosine_similarity(w * u, w * v, dim=0) for w in match.weight])


def naive_matchings(layer, state, other, backwards):
    """The 4 L numbers of one word."""
    if not len(other):
        return torch.zeros(4 * COUNT)
    alike = torch.stack([cosine_similarity(state, h, dim=0) for h in other])
    mean = sum(a * h for a, h in zip(alike, other)) / alike.sum()
    parts = [
        over_perspectives(layer.full, state, other[0 if backwards else -1]),
        torch.stack([over_perspectives(layer.most, state, h) for h in other]).amax(0),
        over_perspectives(layer.mean, state, mean),
        over_perspectives(layer.chosen, state, other[alike.argmax()]),
    ]
    return torch.cat(parts)


def naively(layer, states, backwards):
    texts = states.split([*LEFT, *RIGHT])
    facing = [texts[(n + len(LEFT)) % len(texts)] for n in range(len(texts))]
    found = [naive_matchings(layer, word, other, backwards) for own, other in zip(texts, facing) for word in own]
    return torch.stack(found)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("group", [1, 3, 64])
def test_matchings_are_the_published_formulas_whatever_texts_are_padded_together(group, backwards, monkeypatch):
    monkeypatch.setattr("twicetold.layers.alignment.GROUP", group)
    layer, states = layer_and_states(*LEFT, *RIGHT, backwards=backwards)
    offsets = offsets_of(*LEFT, *RIGHT)
    found, expected = layer(states, offsets, Facing.of(offsets)), naively(layer, states, backwards)
    torch.testing.assert_close(found, expected)
    weights = torch.randn(found.shape)
    inputs = [states, *layer.parameters()]
    actual, wanted = (torch.autograd.grad((m * weights).sum(), inputs) for m in (found, expected))
    torch.testing.assert_close(actual, wanted, rtol=1e-3, atol=1e-4)


def test_exchanging_the_texts_exchanges_the_matchings():
    layer, states = layer_and_states(*LEFT, *RIGHT)
    offsets, swapped = offsets_of(*LEFT, *RIGHT), offsets_of(*RIGHT, *LEFT)
    one = layer(states, offsets, Facing.of(offsets)).split([sum(LEFT), sum(RIGHT)])
    parts = states.split([sum(LEFT), sum(RIGHT)])
    other = layer(torch.cat(parts[::-1]), swapped, Facing.of(swapped)).split([sum(RIGHT), sum(LEFT)])
    torch.testing.assert_close(one, other[::-1])


@pytest.mark.parametrize("lengths", [[], [0, 0, 0, 0]])
def test_pairs_without_a_word_still_back_propagate(lengths):
    layer, states = layer_and_states(*lengths)
    found = layer(states, offsets_of(*lengths), Facing.of(offsets_of(*lengths)))
    assert found.shape == (0, 4 * COUNT)
    found.sum().backward()
    assert states.grad.shape == (0, SIZE)
