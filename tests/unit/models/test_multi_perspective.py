"""Multi-perspective LSTM and CNN: their formulas."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from pair_networks import WITHOUT_A_WORD, assert_is_formula, assert_trains_without_a_word
from twicetold.models.mp_cnn import MpCnn
from twicetold.models.mp_lstm import MpLstm

SHARED = {"embedding": 6, "dropout": 0.1, "frozen": False, "perspectives": 3, "scale": 5.0}
LSTM = {"hidden": 5, "bidirectional": True, "pooling": "mean", **SHARED}
CNN = {"filters": 4, "windows": [1, 3], "pooling": "max", **SHARED}


def encoder_of(kind):
    torch.manual_seed(0)
    encoder = (MpLstm(width=9, **LSTM) if kind == "mp_lstm" else MpCnn(width=9, **CNN)).eval()
    with torch.no_grad():  # as if something had been learnt
        encoder.decide.weight.normal_()
        encoder.decide.bias.fill_(0.3)
    return encoder


def naive_embedding(encoder, text):
    """The paper's network for one text."""
    values = encoder.embed.weight[text]
    if isinstance(encoder, MpLstm):
        forwards = encoder.read.onwards(values)[0]
        backwards = encoder.read.backwards(values.flip(0))[0].flip(0)
        return torch.cat([forwards, backwards], 1).mean(0)
    one, three = (layer.convolution for layer in encoder.convolve)
    return torch.cat([one(values.T[None])[0], three(torch.nn.functional.pad(values.T[None], (1, 1)))[0]]).tanh().amax(1)


def naive_score(encoder, left, right):
    if not any(left) or not any(right):
        return torch.zeros(())
    u, v = (naive_embedding(encoder, text) for text in (left, right))
    alike = [cosine_similarity(w * u, w * v, dim=0) for w in encoder.perspectives.weight]
    return sum(w * m for w, m in zip(encoder.decide.weight[0], alike)) + encoder.decide.bias[0]


@pytest.mark.parametrize("kind", ["mp_lstm", "mp_cnn"])
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(kind):
    assert_is_formula(encoder_of(kind), naive_score)


@pytest.mark.parametrize("kind", ["mp_lstm", "mp_cnn"])
@WITHOUT_A_WORD
def test_a_batch_without_a_word_still_back_propagates(kind, sides):
    assert_trains_without_a_word(encoder_of(kind), sides)
