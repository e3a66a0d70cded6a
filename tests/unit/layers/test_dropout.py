"""Dropout with masks of our own against what PyTorch's promises."""

import pytest
import torch

from twicetold.layers.dropout import dropout

COUNT = 400_000


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_is_left_out_and_the_rest_makes_up_for_it(dtype, share):
    torch.manual_seed(0)
    inputs = torch.ones(COUNT // 4, 4, dtype=dtype, requires_grad=True)
    outputs = dropout(inputs, share, True)
    kept = outputs != 0
    assert float((~kept).double().mean()) == pytest.approx(share, abs=5 * (share * (1 - share) / COUNT) ** 0.5)
    torch.testing.assert_close(outputs[kept].unique(), torch.tensor([1 / (1 - share)], dtype=dtype), rtol=1e-2, atol=0)
    assert float(outputs.detach().double().mean()) == pytest.approx(1, abs=0.02)
    outputs.sum().backward()
    assert inputs.grad is not None
    torch.testing.assert_close(inputs.grad, outputs.detach())


def test_masks_follow_the_seed_and_neighbours_do_not_follow_each_other():
    def mask(seed):
        torch.manual_seed(seed)
        return dropout(torch.ones(COUNT), 0.5, True) != 0

    one = mask(0)
    assert torch.equal(one, mask(0))
    for other in (mask(1), *(one.roll(lag) for lag in range(1, 9))):
        assert float((one == other).double().mean()) == pytest.approx(0.5, abs=5 * 0.5 / COUNT**0.5)


@pytest.mark.parametrize(("share", "training"), [(0.3, False), (0.0, True)])
def test_nothing_is_left_out_where_nothing_should_be(share, training):
    inputs = torch.randn(3, 5)
    assert torch.equal(dropout(inputs, share, training), inputs)


def test_shapes_that_four_does_not_divide_and_empty_ones():
    for shape in [(), (1,), (3, 5), (0, 7)]:
        assert dropout(torch.ones(shape), 0.25, True).shape == shape
    assert dropout(torch.ones(1001), 0.25, True).unique().tolist() == pytest.approx([0, 4 / 3])
