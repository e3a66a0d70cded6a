"""L.D.C.: the network against the paper's formulas, and what a pair's score may depend on."""

import pytest
import torch
from torch.nn.functional import cosine_similarity, pad

from pair_networks import assert_is_formula
from twicetold.layers import alignment
from twicetold.layers.best_match import LEAST
from twicetold.models.ldc import WAYS, Ldc

SMALL = {"embedding": 6, "filters": 4, "windows": [1, 2, 3], "dropout": 0.2, "frozen": False}
VARIANTS = [(0, "orthogonal"), (0, "linear"), (1, "orthogonal"), (3, "linear"), (None, "linear")]


def encoder_of(window=0, decomposition="orthogonal", scale=5.0, **further):
    torch.manual_seed(0)
    settings = {"width": 9, "window": window, "decomposition": decomposition, "scale": scale}
    return Ldc(**settings | SMALL | further).eval()


def naive_match(word, other, window):
    alike = torch.stack([cosine_similarity(word, t, dim=0) for t in other])
    best = int(alike.argmax())
    if window == 0:
        return other[best]
    chosen = [j for j in range(len(other)) if window is None or abs(j - best) <= window]
    total = sum(alike[j] for j in chosen)
    return sum(alike[j] * other[j] for j in chosen) / (total if abs(total) > LEAST else LEAST)


def naive_parts(way, s, t):
    if not t.any():
        similar = torch.zeros_like(s)
    else:
        similar = cosine_similarity(s, t, dim=0) * s if way == "linear" else (s @ t) / (t @ t) * t
    return torch.cat([similar, s - similar])


def naive_score(encoder, left, right):
    """L.D.C. as the paper writes it, for one pair, word by word, but for the mean over both orders and the cosine."""
    if not any(left) or not any(right):
        return torch.zeros(())
    table = encoder.embed.weight * (torch.arange(9) > 0)[:, None]
    texts, features = (table[left], table[right]), []
    for own, other in (texts, texts[::-1]):
        matches = [naive_match(word, other, encoder.window) for word in own]
        channels = torch.stack([naive_parts(encoder.decomposition, s, t) for s, t in zip(own, matches)])
        composed = [
            layer.convolution(pad(channels.T[None], (0, n)))[0].tanh().amax(1)
            for n, layer in enumerate(encoder.compose)
        ]
        features.append(torch.cat(composed))
    u, v = features
    weight = encoder.decide.weight[0]
    orders = [torch.cat([weight, weight]) @ torch.cat(order) + encoder.decide.bias[0] for order in ((u, v), (v, u))]
    compared = sum(orders) / 2
    if encoder.scale is None:
        return compared
    return compared + encoder.scale * cosine_similarity(*(text.mean(0) for text in texts), dim=0)


@pytest.mark.parametrize("group", [1, 3, 64])
@pytest.mark.parametrize("scale", [5.0, None], ids=["with the cosine", "as published"])
@pytest.mark.parametrize(("window", "decomposition"), VARIANTS)
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(
    window, decomposition, scale, group, monkeypatch
):
    monkeypatch.setattr(alignment, "GROUP", group)
    assert_is_formula(encoder_of(window, decomposition, scale), naive_score)


@pytest.mark.parametrize(
    ("setting", "said"),
    [({"window": -1}, "0 for none; got -1"), ({"decomposition": "half"}, "linear, orthogonal; got 'half'")],
)
def test_a_wrong_setting_is_an_error(setting, said):
    with pytest.raises(ValueError, match=said):
        encoder_of(**setting)


@pytest.mark.parametrize("way", WAYS)
def test_a_word_that_the_other_text_repeats_is_similar_as_a_whole_and_one_without_a_match_dissimilar(way):
    words, matches = torch.randn(2, 4, 5, dtype=torch.float64)
    matches[1], matches[2] = words[1], 0
    words.requires_grad_()
    similar = WAYS[way](words, matches)
    torch.testing.assert_close(similar[1], words[1])
    assert not similar[2].any()
    similar.sum().backward()
    assert torch.isfinite(words.grad).all()
