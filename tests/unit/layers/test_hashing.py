import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from operations import dense
from twicetold.features.rows import CsrRows
from twicetold.layers.hashing import HashingLayer, HashingTower, columns, linear


def random_rows(seed, rows=7, width=9):
    matrix = sp.random(rows, width, density=0.3, format="csr", dtype=np.float32, rng=np.random.default_rng(seed))
    matrix.data = np.ceil(3 * matrix.data)
    return torch.from_numpy(matrix.toarray()), CsrRows.from_scipy(matrix).gather(np.arange(rows))


def tower(**changes):
    settings = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0}
    return HashingTower(9, sizes=[5, 4, 3], **{**settings, **changes})


@given(st.integers(0, 2**31))
def test_the_hashing_layer_is_a_matrix_product(seed):
    x, rows = random_rows(seed)
    layer = HashingLayer(9, 5)
    torch.testing.assert_close(x @ layer.weight, layer(rows))


def test_initial_weights_are_the_published_ones_and_biases_zero():
    for weight in (HashingLayer(4000, 300).weight, linear(4000, 300).weight):
        bound = (6 / 4300) ** 0.5
        assert weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)
    assert not linear(5, 4).bias.any()


def test_input_dropout_keeps_the_expected_sum():
    _, rows = random_rows(0)
    torch.manual_seed(0)
    network = tower(input_dropout=0.4)
    network.layers = torch.nn.Identity()
    network.train()
    mean = torch.stack([network(rows) for _ in range(3000)]).mean(0)
    torch.testing.assert_close(network.eval()(rows), mean, atol=0.1, rtol=0)


def test_batch_norm_replaces_the_biases():
    names = [name for name, _ in tower(batch_norm=True).named_parameters()]
    assert names[:2] == ["hashing.weight", "layers.0.weight"]
    assert not [name for name in names if name == "bias"]


@given(st.integers(0, 2**31), st.integers(0, 9), st.integers(0, 9))
def test_columns_are_a_slice(seed, one, other):
    start, end = sorted((one, other))
    x, rows = random_rows(seed)
    torch.testing.assert_close(x[:, start:end], dense(columns(rows, start, end)))
