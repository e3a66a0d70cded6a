"""The sparse reconstruction losses against torch's own on the same target made dense."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from operations import Operations
from twicetold.encoding import EncodedBatch, Encoding, LinearLogits, Reconstruction, SparseRows
from twicetold_lab.objectives.denoising_triplet import DenoisingTriplet
from twicetold_lab.objectives.reconstruction import cross_entropy, mean_squared


def sparse(dense: Tensor, *, binary: bool) -> SparseRows:
    rows, columns = dense.nonzero(as_tuple=True)
    offsets = F.pad(torch.bincount(rows, minlength=len(dense)).cumsum(0), (1, 0))
    return SparseRows(columns, offsets, None if binary else dense[rows, columns], dense.shape[1])


def example(*, binary: bool, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, a dense target with an empty row, and weights."""
    generator = torch.Generator().manual_seed(5)
    logits = 3 * torch.randn(6, 40, generator=generator, dtype=dtype)
    target = torch.rand(6, 40, generator=generator, dtype=dtype) * (torch.rand(6, 40, generator=generator) < 0.2)
    target[2] = 0
    if binary:
        target = target.ceil()
    return logits, target, torch.tensor([8, 8, 3, 0, 1, 4], dtype=dtype)


def dense_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(1)


def dense_mean_squared(output: Tensor, target: Tensor) -> Tensor:
    return F.mse_loss(output, target, reduction="none").sum(1)


LOSSES = [
    (cross_entropy, dense_cross_entropy),
    (mean_squared, dense_mean_squared),
]


@pytest.mark.parametrize(("loss", "dense"), LOSSES)
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_loss_and_gradient_equal_those_of_the_dense_target(
    loss: Callable[..., Tensor], dense: Callable[..., Tensor], binary: bool, weighted: bool
):
    output, target, weight = example(binary=binary)
    ours, theirs = output.clone().requires_grad_(), output.clone().requires_grad_()
    rows = dense(theirs, target)
    expected = (weight * rows).sum() / weight.sum() if weighted else rows.mean()
    found = loss(ours, sparse(target, binary=binary), weight if weighted else None)
    expected.backward()
    found.backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_cross_entropy_keeps_nothing_for_backward_but_the_logits():
    logits, target, _ = example(binary=True)
    logits.requires_grad_()
    decoded = logits * 1
    saved: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        cross_entropy(decoded, sparse(target, binary=True))
    assert [t.data_ptr() for t in saved if t.numel() >= logits.numel()] == [decoded.data_ptr()]


def test_cross_entropy_is_finite_for_saturated_logits():
    logits = torch.tensor([[1e4, -1e4]], requires_grad=True)
    loss = cross_entropy(logits, sparse(torch.tensor([[0.0, 1.0]]), binary=True))
    loss.backward()
    assert loss.item() == 2e4
    assert logits.grad.tolist() == [[1.0, -1.0]]


def test_cross_entropy_takes_logits_that_are_not_contiguous():
    logits, target, weight = example(binary=True)
    turned = logits.T.contiguous().T.requires_grad_()
    rows = sparse(target, binary=True)
    found = cross_entropy(turned, rows, weight)
    found.backward()
    straight = logits.clone().requires_grad_()
    cross_entropy(straight, rows, weight).backward()
    torch.testing.assert_close(turned.grad, straight.grad)


def test_cross_entropy_of_sixteen_bit_logits_is_summed_in_thirty_two():
    logits, target, _ = example(binary=True, dtype=torch.float32)
    half = logits.bfloat16()
    rows = sparse(target, binary=True)
    found = cross_entropy(half, rows)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(cross_entropy(half.float(), rows).item(), rel=1e-2)


def decoder(
    rows: int, width: int, *, dtype: torch.dtype = torch.float64
) -> tuple[tuple[Tensor, Tensor, Tensor], SparseRows]:
    """Hidden, weight and bias that logits of some size come from, and a target of weighted entries."""
    generator = torch.Generator().manual_seed(7)
    factors = [torch.randn(shape, generator=generator, dtype=dtype) for shape in ((rows, 4), (width, 4), (width,))]
    columns = torch.randint(width // 8, (rows, 8), generator=generator) + width // 8 * torch.arange(8)
    values = torch.rand(8 * rows, generator=generator, dtype=dtype)
    target = SparseRows(columns.flatten(), torch.arange(0, 8 * rows + 1, 8), values, width)
    hidden, weight, bias = (factor.requires_grad_() for factor in factors)
    return (hidden, weight, bias), target


@pytest.mark.parametrize("width", [40, 50_000], ids=["one tile", "several tiles"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("binary", [True, False])
def test_loss_and_gradients_of_factors_equal_those_of_the_logits_multiplied_out(width, weighted, binary):
    factors, target = decoder(6, width)
    if binary:
        target = replace(target, values=None)
    weight = torch.tensor([8, 8, 3, 0, 1, 4]) if weighted else None
    logits = LinearLogits(*factors)
    expected = 3 * cross_entropy(logits.dense(), target, weight)
    found = 3 * cross_entropy(logits, target, weight)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, factors), torch.autograd.grad(expected, factors))


@pytest.mark.parametrize("loss", ["cross_entropy", "mean_squared"])
def test_every_reconstruction_of_the_objective_takes_factors(loss):
    factors, target = decoder(6, 40, dtype=torch.float32)
    objective = DenoisingTriplet(alpha=1, negatives="all", reconstruction=loss)
    label = torch.tensor([0, 0, 1, 1, 2, 2])

    def total(logits: Tensor | LinearLogits) -> Tensor:
        encoding = Encoding(factors[0], Reconstruction(logits, target))
        return objective(EncodedBatch(encoding, label=label))["loss"]

    logits = LinearLogits(*factors)
    torch.testing.assert_close(total(logits), total(logits.dense()))


def test_logits_as_factors_are_never_whole_in_memory():
    factors, target = decoder(64, 20_000, dtype=torch.float32)
    with Operations() as operations:
        cross_entropy(LinearLogits(*factors), target).backward()
    assert operations.numbers <= 64 * 20_000 / 4


def test_factors_under_autocast_give_the_loss_and_gradients_of_thirty_two_bits_to_about_a_percent():
    factors, target = decoder(6, 40, dtype=torch.float32)
    expected = cross_entropy(LinearLogits(*factors), target)
    with torch.autocast("cpu", torch.bfloat16):
        found = cross_entropy(LinearLogits(*factors), target)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0.01, atol=0)
    for coarse, fine in zip(torch.autograd.grad(found, factors), torch.autograd.grad(expected, factors), strict=True):
        assert (coarse - fine).norm() <= 0.02 * fine.norm()


def test_factors_of_no_rows_give_a_zero_that_back_propagates():
    factors, _ = decoder(2, 40)
    none = LinearLogits(factors[0][:0], *factors[1:])
    loss = cross_entropy(none, sparse(torch.zeros(0, 40), binary=True))
    gradients = torch.autograd.grad(loss, factors)
    assert loss.item() == 0
    assert not any(gradient.any() for gradient in gradients)


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES])
def test_weights_of_zero_and_no_rows_at_all_give_a_zero_that_back_propagates(loss):
    output, target, _ = example(binary=True)
    output.requires_grad_()
    zero = loss(output, sparse(target, binary=True), torch.zeros(6))
    zero.backward()
    assert zero.item() == 0
    assert not output.grad.any()
    none = torch.zeros(0, 40, requires_grad=True)
    empty = loss(none, sparse(torch.zeros(0, 40), binary=True))
    empty.backward()
    assert empty.item() == 0


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES])
def test_outputs_and_factors_of_another_width_are_refused(loss):
    target = sparse(example(binary=True)[1], binary=True)
    for output in (torch.zeros(6, 41), LinearLogits(*decoder(6, 41)[0])):
        with pytest.raises(ValueError, match=r"target's shape \(6, 40\); got \(6, 41\)"):
            loss(output, target)
