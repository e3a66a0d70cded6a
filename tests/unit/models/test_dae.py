"""The autoencoder against its formulas (Okura et al. 2016; louislung/DAE_RNN_News_Recommendation)."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from twicetold.features.rows import CsrRows
from twicetold.models.dae import DenoisingAutoencoder


@pytest.fixture
def x():
    matrix = sp.random(6, 11, density=0.4, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    matrix.data[:] = 1
    return torch.from_numpy(matrix.toarray()), CsrRows.from_scipy(matrix, binary=True).gather(np.arange(6))


def encoder(**changes):
    settings = {
        "hidden": 4,
        "activation": "sigmoid",
        "corruption": "none",
        "corruption_level": 0.3,
        "decay_when_encoding": False,
    }
    torch.manual_seed(0)
    model = DenoisingAutoencoder(width=11, **{**settings, **changes})
    with torch.no_grad():
        model.hidden_bias.normal_()
        model.visible_bias.normal_()
    return model


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_hidden_units_are_f_of_xw_plus_b_minus_f_of_b(x, activation):
    dense, rows = x
    model = encoder(activation=activation)
    f = getattr(torch, activation)
    expected = f(dense @ model.weight + model.hidden_bias) - f(model.hidden_bias)
    torch.testing.assert_close(expected, model.eval().encode(rows).embedding)


def test_the_reconstruction_uses_the_tied_weights(x):
    _, rows = x
    model = encoder().train()
    encoded = model.encode(rows)
    expected = encoded.embedding @ model.weight.T + model.visible_bias
    torch.testing.assert_close(expected, encoded.extra.logits.dense())
    assert encoded.extra.target is rows


def test_an_empty_text_has_a_zero_embedding():
    empty = CsrRows.from_scipy(sp.csr_matrix((1, 11), dtype=np.float32)).gather(np.array([0]))
    model = encoder().eval()
    assert model.encode(empty).embedding.abs().max() == 0
    assert model.score(model.encode(empty), model.encode(empty)).tolist() == [0]


def test_outside_training_the_input_is_scaled_by_what_masking_leaves(x):
    dense, rows = x
    model = encoder(corruption="masking", decay_when_encoding=True).eval()
    expected = torch.sigmoid(0.7 * dense @ model.weight + model.hidden_bias) - torch.sigmoid(model.hidden_bias)
    torch.testing.assert_close(expected, model.encode(rows).embedding)


def test_initial_weights_are_xaviers_and_biases_zero():
    model = DenoisingAutoencoder(
        width=4000, hidden=50, activation="sigmoid", corruption="none", corruption_level=0.0, decay_when_encoding=False
    )
    bound = (6 / 4050) ** 0.5
    assert model.weight.abs().max() <= bound
    assert model.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)
    assert model.hidden_bias.abs().max() == model.visible_bias.abs().max() == 0
