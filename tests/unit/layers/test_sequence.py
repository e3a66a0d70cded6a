"""Layers over sequences of any length, against PyTorch's own on one text at a time."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from twicetold.encoding import SparseRows
from twicetold.layers import sequence
from twicetold.layers.sequence import RaggedConvolution, RaggedLstm, TokenEmbedding, with_known_token

LENGTHS = [3, 0, 7, 1, 7, 2, 0]


def offsets_of(lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def values_of(lengths, size=5):
    return torch.randn(sum(lengths), size, generator=torch.Generator().manual_seed(1), requires_grad=True)


def per_text(values, lengths):
    return values.split(list(lengths))


def read_alone(layer, values, lengths):
    """PyTorch's own LSTM on one text after another."""
    own = nn.LSTM(5, 4, bidirectional=layer.backwards is not None).to(values.dtype)
    parts = {"": layer.onwards, "_reverse": layer.backwards}
    weights = {f"{name}{end}": p for end, part in parts.items() if part for name, p in part.named_parameters()}
    texts = [text[:, None] for text in per_text(values, lengths) if len(text)]
    return torch.cat([torch.func.functional_call(own, weights, text)[0][:, 0] for text in texts])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("group", [1, 2, 64])
@pytest.mark.parametrize("lengths", [LENGTHS, [1, 1], [4], [0, 9, 0]])
def test_states_and_gradients_of_each_text_are_those_of_pytorchs_own_lstm(lengths, group, bidirectional, monkeypatch):
    monkeypatch.setattr(sequence, "GROUP", group)
    torch.manual_seed(0)
    layer, values = RaggedLstm(5, 4, bidirectional=bidirectional).double(), values_of(lengths).detach().double()
    values.requires_grad_()
    inputs = [values, *layer.parameters()]
    states = layer(values, offsets_of(lengths))
    expected = read_alone(layer, values, lengths)
    assert states.shape == (sum(lengths), layer.size)
    torch.testing.assert_close(states, expected)
    weights = torch.randn(states.shape, dtype=states.dtype)
    actual, wanted = (torch.autograd.grad((each * weights).sum(), inputs) for each in (states, expected))
    torch.testing.assert_close(actual, wanted)


def test_the_lstm_reads_in_mixed_precision():
    layer, values = RaggedLstm(5, 4), values_of(LENGTHS)
    exact = layer(values, offsets_of(LENGTHS))
    with torch.autocast("cpu", torch.bfloat16):
        mixed = layer(values, offsets_of(LENGTHS))
    mixed.float().sum().backward()
    torch.testing.assert_close(exact, mixed.float(), atol=0.02, rtol=0.02)


def test_the_lstm_reads_in_mixed_precision_on_a_processor_with_avx2_alone():
    """oneDNN reads the limit once, when it is first used: a process of its own."""
    program = "import runpy, sys; runpy.run_path(sys.argv[1])['test_the_lstm_reads_in_mixed_precision']()"
    limits = {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
    command = [sys.executable, "-c", program, __file__]
    done = subprocess.run(command, env=os.environ | limits, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_asking_for_an_lstm_in_bf16_draws_no_random_number():
    sequence._cpu_has_bf16_lstm.cache_clear()
    before = torch.get_rng_state()
    sequence._cpu_has_bf16_lstm()
    assert torch.equal(before, torch.get_rng_state())


def test_a_long_text_costs_its_neighbours_no_padding():
    layer, computed = RaggedLstm(5, 4), []
    layer.onwards.register_forward_pre_hook(lambda module, inputs: computed.append(inputs[0].shape[:2].numel()))
    lengths = [3] * 200 + [90]
    layer(values_of(lengths), offsets_of(lengths))
    assert sum(computed) < 200 * 3 + 64 * 90


@pytest.mark.parametrize(
    ("window", "centred"), [(1, True), (3, True), (5, True), (1, False), (2, False), (3, False), (9, False)]
)
def test_every_text_is_convolved_with_zeros_beyond_its_ends(window, centred):
    torch.manual_seed(0)
    layer = RaggedConvolution(5, 4, window=window, centred=centred)
    values = values_of(LENGTHS).detach().requires_grad_()
    ends = (window // 2, window // 2) if centred else (0, window - 1)
    texts = [text for text in per_text(values, LENGTHS) if len(text)]
    expected = torch.cat([layer.convolution(nn.functional.pad(text.T[None], ends))[0].T for text in texts])
    found = layer(values, offsets_of(LENGTHS))
    torch.testing.assert_close(found, expected)
    inputs = [values, *layer.parameters()]
    actual, wanted = (torch.autograd.grad((x * x).sum(), inputs) for x in (found, expected))
    torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("window", "centred", "said"), [(4, True, "odd number of them; got 4"), (0, False, "got 0")])
def test_a_window_without_a_token_or_a_centre_is_an_error(window, centred, said):
    with pytest.raises(ValueError, match=said):
        RaggedConvolution(5, 4, window=window, centred=centred)


@pytest.mark.parametrize(
    "layer", [RaggedLstm(5, 4), RaggedConvolution(5, 4, window=3), RaggedConvolution(5, 4, window=3, centred=False)]
)
@pytest.mark.parametrize("lengths", [[], [0, 0]])
def test_a_batch_without_a_token_still_back_propagates(layer, lengths):
    values = values_of(lengths)
    states = layer(values, offsets_of(lengths))
    assert states.shape == (0, 4)
    states.sum().backward()
    assert values.grad.shape == (0, 5)


def tokens(*texts, width=6):
    lengths = [len(text) for text in texts]
    return SparseRows(
        torch.tensor([n for text in texts for n in text], dtype=torch.int64), offsets_of(lengths), None, width
    )


def test_known_tokens_are_those_but_zero():
    assert with_known_token(tokens([0, 0], [], [0, 4], [1])).tolist() == [False, False, True, True]


def test_pretrained_vectors_are_kept_and_missing_ones_drawn_with_their_spread():
    vectors = np.zeros((2000, 8), np.float32)
    vectors[:1000] = np.random.default_rng(0).normal(0, 3, (1000, 8))
    torch.manual_seed(0)
    layer = TokenEmbedding(2000, 8, vectors=vectors)
    np.testing.assert_array_equal(vectors[:1000], layer.weight[:1000].detach())
    assert layer.weight[1000:].std().item() == pytest.approx(3, rel=0.05)
    assert layer.weight.requires_grad


def test_frozen_vectors_get_no_gradient():
    layer = TokenEmbedding(6, 4, frozen=True)
    assert not layer(tokens([1, 2])).requires_grad


def test_pretrained_vectors_of_another_size_are_an_error_that_says_what_to_set():
    with pytest.raises(ValueError, match=r"50 dimensions .* set encoder.embedding=50"):
        TokenEmbedding(6, 128, vectors=np.ones((6, 50), np.float32))


def test_dropout_is_for_training_alone():
    layer, rows = TokenEmbedding(6, 400, dropout=0.5), tokens([1, 2])
    dropped = layer.train()(rows)
    assert 0.4 < (dropped == 0).float().mean().item() < 0.6
    assert torch.equal(layer.eval()(rows), layer.weight[[1, 2]])
