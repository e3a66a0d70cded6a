"""The pretended device refuses what a GPU refuses, allows what it allows, and counts copies."""

import pytest
import torch
from torch import nn

from pretended_device import ITEM, SHAPE, TO_DEVICE, TO_HOST


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
