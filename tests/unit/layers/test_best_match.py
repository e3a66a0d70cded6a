"""Matching functions against the papers' formulas, word by word."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.layers.alignment import Facing
from twicetold.layers.best_match import LEAST, FourMatchings, cosines, gathered, groups_of_pairs, match, weighted

LEFT, RIGHT = [3, 1, 0, 9, 2, 0], [2, 8, 4, 9, 0, 0]
SIZE = 5


def values_of(*lengths):
    torch.manual_seed(0)
    return torch.randn(sum(lengths), SIZE, dtype=torch.float64, requires_grad=True)


def facing_of(*lengths):
    return Facing.of(torch.tensor([0, *lengths]).cumsum(0))


def naive_match(word, other, window):
    """ŝ of one word, as the paper writes it."""
    if not len(other):
        return torch.zeros_like(word)
    alike = torch.stack([cosine_similarity(word, t, dim=0) for t in other])
    best = int(alike.argmax())
    if window == 0:
        return other[best]
    chosen = [j for j in range(len(other)) if window is None or abs(j - best) <= window]
    total = sum(alike[j] for j in chosen)
    return sum(alike[j] * other[j] for j in chosen) / (total if abs(total) > LEAST else LEAST)


def naively(values, window):
    texts = values.split([*LEFT, *RIGHT])
    facing = [texts[(n + len(LEFT)) % len(texts)] for n in range(len(texts))]
    return torch.stack([naive_match(word, other, window) for own, other in zip(texts, facing) for word in own])


def matched(values, window):
    facing, parts = facing_of(*LEFT, *RIGHT), []
    for (one, other), beyond in groups_of_pairs(values, facing):
        sides = match(one, other, beyond[1], window=window), match(other, one, beyond[0], window=window)
        parts.append(torch.stack(sides))
    return gathered(parts, values, facing)


@pytest.mark.parametrize("window", [0, 1, 3, None], ids=["max", "local-1", "local-3", "global"])
@pytest.mark.parametrize("group", [1, 3, 64])
def test_a_match_is_the_published_formula_whatever_texts_are_padded_together(window, group, monkeypatch):
    monkeypatch.setattr("twicetold.layers.alignment.GROUP", group)
    values = values_of(*LEFT, *RIGHT)
    expected = naively(values, window)
    found = matched(values, window)
    torch.testing.assert_close(found, expected)
    weights = torch.randn(values.shape, dtype=torch.float64)
    actual, wanted = (torch.autograd.grad((m * weights).sum(), values)[0] for m in (found, expected))
    torch.testing.assert_close(actual, wanted)


def test_weights_that_cancel_give_a_finite_match():
    values = torch.tensor([[[1.0, 0], [-1.0, 0]]], requires_grad=True)
    alike = cosines(torch.tensor([[[2.0, 0]]]), values)
    found = weighted(alike, values)
    found.sum().backward()
    assert alike.tolist() == [[[1, -1]]]
    assert torch.isfinite(found).all()
    assert torch.isfinite(values.grad).all()


def test_groups_and_their_inverse_keep_every_value_at_its_place():
    values, facing = values_of(*LEFT, *RIGHT), facing_of(*LEFT, *RIGHT)
    parts = [pairs.values for pairs in groups_of_pairs(values, facing)]
    assert torch.equal(gathered(parts, values, facing), values)


@pytest.mark.parametrize("lengths", [[], [0, 0, 0, 0]])
def test_pairs_without_a_word_have_no_group(lengths):
    values, facing = values_of(*lengths), facing_of(*lengths)
    assert list(groups_of_pairs(values, facing)) == []
    gathered([], values, facing).sum().backward()
    assert values.grad.shape == (0, SIZE)


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


def four_ways_naively(layer, states, backwards):
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
    found, expected = layer(states, offsets, Facing.of(offsets)), four_ways_naively(layer, states, backwards)
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
