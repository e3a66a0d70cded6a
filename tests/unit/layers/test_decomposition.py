"""Convolution over windows that begin at each token, against PyTorch's own on one text at a time."""

import pytest
import torch
from torch.nn.functional import pad

from twicetold.layers.decomposition import WindowsFrom

LENGTHS = [3, 0, 7, 1, 7, 2, 0]


@pytest.mark.parametrize("window", [1, 2, 3, 9])
def test_every_text_is_convolved_as_if_it_were_alone(window):
    torch.manual_seed(0)
    layer = WindowsFrom(5, 4, window=window).double()
    values = torch.randn(sum(LENGTHS), 5, dtype=torch.float64, requires_grad=True)
    texts = [text for text in values.split(LENGTHS) if len(text)]
    expected = torch.cat([layer.convolution(pad(text.T[None], (0, window - 1)))[0].T for text in texts])
    found = layer(values, torch.tensor([0, *LENGTHS]).cumsum(0))
    torch.testing.assert_close(found, expected)
    inputs = [values, *layer.parameters()]
    actual, wanted = (torch.autograd.grad((x * x).sum(), inputs) for x in (found, expected))
    torch.testing.assert_close(actual, wanted)


@pytest.mark.parametrize("lengths", [[], [0, 0]])
def test_a_batch_without_a_token_still_back_propagates(lengths):
    values = torch.zeros(0, 5, requires_grad=True)
    found = WindowsFrom(5, 4, window=3)(values, torch.tensor([0, *lengths]))
    found.sum().backward()
    assert found.shape == (0, 4)
    assert values.grad.shape == (0, 5)


def test_a_window_without_a_token_is_an_error():
    with pytest.raises(ValueError, match="at least one token; got 0"):
        WindowsFrom(5, 4, window=0)
