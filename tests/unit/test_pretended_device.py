"""The pretended device refuses what a GPU refuses, allows what it allows, and counts copies."""

import pytest
import torch
from torch import nn

from pretended_device import ITEM, SHAPE, TO_DEVICE, TO_HOST, Pretended, pretend


@pytest.mark.parametrize(
    "mixed",
    [
        lambda here, there: here + there,
        lambda here, there: there @ here,
        lambda here, there: torch.cat([here, there]),
        lambda here, there: nn.Linear(3, 3).to(there.device)(here),
        lambda here, there: there.index_add_(0, torch.arange(3), there),
        lambda here, there: there.masked_fill_(here > 0, 1.0),
        lambda here, there: torch.stack([there[0, 0], here[0, 0]]),
    ],
)
def test_tensors_of_two_devices_are_refused(mixed, pretended):
    here, there = torch.ones(3, 3), torch.ones(3, 3, device=pretended.device)
    with pytest.raises(RuntimeError, match="expected all tensors on pretended"):
        mixed(here, there)
    with pytest.raises(RuntimeError, match="numpy"):
        there.numpy()


def test_a_number_without_dimension_and_indices_may_come_from_the_cpu(pretended):
    there = torch.arange(6.0, device=pretended.device).view(2, 3)
    assert (there * torch.tensor(2.0)).sum().item() == 30
    assert there[torch.tensor([1])].tolist() == [[3, 4, 5]]
    there[torch.tensor([0])] = 7.0
    assert there.tolist() == [[7, 7, 7], [3, 4, 5]]
    assert pretended.traffic[TO_DEVICE] == 2  # the indices


def test_copies_are_counted_and_what_python_waits_for(pretended):
    there = torch.tensor([1.0, 0.0, 2.0], device=pretended.device)
    assert there.device == torch.zeros(3).to(there.device).device == pretended.device
    assert pretended.traffic == {TO_DEVICE: 2}
    assert float(there.sum()) == 3
    assert (there > 1).any()
    assert pretended.traffic[ITEM] == 2
    assert len(there[there > 0]) == len(there.nonzero()) == 2
    assert pretended.traffic[SHAPE] == 2
    assert there.cpu().tolist() == [1, 0, 2]
    assert pretended.traffic == {TO_DEVICE: 2, TO_HOST: 1, ITEM: 2, SHAPE: 2}


@pytest.mark.parametrize("of", [nn.LSTM(3, 4, 1), nn.Linear(3, 4), nn.Conv1d(3, 3, 1)])
def test_gradients_equal_those_of_the_cpu(of, pretended):
    def gradients(layer, inputs):
        outputs = layer(inputs)
        (outputs[0] if isinstance(outputs, tuple) else outputs).square().sum().backward()
        found = [parameter.grad.cpu() for parameter in layer.parameters()]
        layer.zero_grad()
        return found

    inputs = torch.randn(5, 3, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        gradients(of.to(pretended.device), inputs.to(pretended.device)), gradients(of.cpu(), inputs)
    )


def test_beyond_the_context_the_device_is_gone_and_nothing_else_has_changed():
    before = torch.inference_mode
    with pretend() as operations:
        there = torch.ones(2, device=operations.device)
        assert isinstance(there, Pretended)
    with pytest.raises(RuntimeError, match="outside `pretend`"):
        there + there
    assert torch.inference_mode is before
    weight = torch.ones(2, requires_grad=True)
    (weight * 2).sum().backward()
    assert weight.grad.tolist() == [2, 2]
