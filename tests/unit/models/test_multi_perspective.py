"""Multi-perspective LSTM and CNN: their formulas."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from pair_networks import assert_is_formula, embedded
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


def naive_score(encoder, left, right):
    if not any(left) or not any(right):
        return torch.zeros(())
    u, v = (embedded(encoder, text) for text in (left, right))
    alike = [cosine_similarity(w * u, w * v, dim=0) for w in encoder.perspectives.weight]
    return sum(w * m for w, m in zip(encoder.decide.weight[0], alike)) + encoder.decide.bias[0]


@pytest.mark.parametrize("kind", ["mp_lstm", "mp_cnn"])
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(kind):
    assert_is_formula(encoder_of(kind), naive_score)
