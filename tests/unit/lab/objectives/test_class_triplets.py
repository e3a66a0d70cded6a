"""Triplets of texts with class codes, against the dense B×B×B definition and loops."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from operations import Operations
from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives import all_pairs
from twicetold_lab.objectives.class_triplets import batch_all, batch_hard
from twicetold_lab.objectives.triplet import Triplet


def softplus(x: Tensor) -> Tensor:
    return F.softplus(x, threshold=40)


def given_loss(*sides: Tensor) -> dict[str, Tensor]:
    objective = Triplet(similarity="dot", activation="softplus", margin=None, negatives="given", average="all")
    return objective(EncodedBatch(*map(Encoding, sides)))


def valid_triplets(label: Tensor) -> Tensor:
    same = label[:, None] == label
    known = label >= 0
    positive = same & ~torch.eye(len(label), dtype=torch.bool) & known
    return positive[:, :, None] & (~same & known & known[:, None])[:, None, :]


def dense_batch_all(embedding: Tensor, label: Tensor) -> tuple[Tensor, Tensor, int]:
    """Loss, data weight and number of violated triplets from the B×B×B definition, in float64."""
    dots = embedding.double() @ embedding.double().T
    gap = dots[:, None, :] - dots[:, :, None]
    valid = valid_triplets(label)
    weight = valid.sum((1, 2)) + valid.sum((0, 1)) + valid.sum((0, 2))
    # Not gap · valid: a term that overflowed outside the triplets would make nan.
    loss = torch.where(valid, softplus(gap), 0).sum() / max(int(valid.sum()), 1)
    return loss, weight, int(((gap > 1e-16) & valid).sum())


def assert_equals_dense(embedding: Tensor, label: Tensor, *, relative: float) -> None:
    ours, theirs = (embedding.detach().clone().requires_grad_() for _ in range(2))
    loss = batch_all(ours, label)
    expected, weight, violated = dense_batch_all(theirs, label)
    expected.backward()
    loss.loss.backward()
    largest = theirs.grad.abs().max()
    assert loss.loss.item() == pytest.approx(expected.item(), rel=relative, abs=0)
    assert (ours.grad - theirs.grad).abs().max() <= relative * largest
    assert loss.data_weight.tolist() == weight.tolist()
    assert loss.count.item() == violated
    assert loss.fraction.item() == pytest.approx(violated / max(int(valid_triplets(label).sum()), 1), rel=1e-6)


def unit_batch(size: int) -> tuple[Tensor, Tensor]:
    embedding, label = random_batch(size, 4, 1.0, 3, torch.float64)
    return F.normalize(embedding, dim=1), label


def test_all_triplets_of_distances_equal_the_dense_definition():
    unit, label = unit_batch(25)
    ours, theirs = (unit.clone().requires_grad_() for _ in range(2))
    found = batch_all(ours, label, euclidean=True)
    distance = torch.cdist(theirs, theirs)
    gap = distance[:, :, None] - distance[:, None, :]
    valid = valid_triplets(label)
    expected = torch.where(valid, softplus(gap), 0).sum() / valid.sum()
    assert found.loss.item() == pytest.approx(expected.item(), rel=1e-6)
    assert found.count.item() == ((gap > 0) & valid).sum()
    for loss in (found.loss, expected):
        loss.backward()
    # the two know different derivatives along the radius, on which unit vectors do not move
    grads = [h.grad - (h.grad * unit).sum(1, keepdim=True) * unit for h in (ours, theirs)]
    torch.testing.assert_close(*grads, rtol=1e-6, atol=1e-9)


def random_batch(size: int, width: int, scale: float, classes: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(size * 31 + width)
    embedding = scale * torch.randn(size, width, generator=generator, dtype=dtype)
    return embedding, torch.randint(0, classes, (size,), generator=generator)


PRECISIONS = [(torch.float32, 1e-6), (torch.float64, 1e-10)]


def far_dots(dtype, longest):
    embedding, label = random_batch(60, 4, 1, 3, dtype)
    return embedding * (longest / (embedding @ embedding.T).abs().max()).sqrt(), label


def one_long_row(dtype):
    embedding, label = random_batch(60, 4, 1, 3, dtype)
    embedding[17] *= 1000
    return embedding, label


def separated(dtype, gap):
    """One axis a class, so that positives have dots near |gap| and negatives near 0; inverted where it is above 0."""
    label = torch.arange(48) % 3
    axes = torch.eye(3, dtype=dtype)[label]
    noise = 0.01 * random_batch(48, 3, 1, 2, dtype)[0]
    return math.sqrt(abs(gap)) * (axes if gap < 0 else 1 - axes) + noise, label


def one_violation(dtype):
    """Among thousands of satisfied triplets."""
    label = torch.arange(60) % 2
    embedding = 5 * torch.eye(2, dtype=dtype)[label]
    embedding[0] = torch.tensor([0, 5.0])
    return embedding, label


def ties(dtype):
    """Embeddings of few whole numbers, a part of unknown class."""
    embedding, label = random_batch(60, 3, 1, 5, dtype)
    return embedding.round() / 2, label - 1


def skewed_classes(dtype):
    embedding, label = random_batch(90, 8, 0.7, 2, dtype)
    label[:] = 0
    label[3], label[[5, 8]] = 1, 2
    return embedding, label


BATCHES = {
    **{
        f"{size} rows of {classes} classes at {scale}": partial(random_batch, size, 12, scale, classes)
        for size, classes in [(3, 2), (7, 2), (40, 3), (121, 4), (121, 60)]
        for scale in [1e-4, 0.05, 0.3, 1, 2.5]
    },
    "ties": ties,
    **{f"dots up to {longest:g}": partial(far_dots, longest=longest) for longest in (1e3, 1e6)},
    **{f"classes {gap:g} apart": partial(separated, gap=gap) for gap in (-60.0, -30.0, -9.0, 9.0, 60.0)},
    "one long row": one_long_row,
    "one violation": one_violation,
    "skewed classes": skewed_classes,
}


@pytest.mark.parametrize(("dtype", "relative"), PRECISIONS)
@pytest.mark.parametrize("made", BATCHES.values(), ids=BATCHES)
def test_batch_all_equals_the_dense_definition(made, dtype, relative):
    assert_equals_dense(*made(dtype), relative=relative)


@pytest.mark.parametrize("scale", [0.1, 1, 30])
def test_gradients_agree_with_finite_differences(scale):
    embedding, label = random_batch(8, 3, scale, 3, torch.float64)
    embedding.requires_grad_()
    assert torch.autograd.gradcheck(lambda h: batch_all(h, label).loss, embedding)
    assert torch.autograd.gradcheck(lambda h: batch_hard(h, label).loss, embedding)
    assert torch.autograd.gradcheck(lambda h: given_loss(h[:2], h[2:4], h[4:6])["loss"], embedding)


@pytest.mark.parametrize("loss", [batch_all, batch_hard])
def test_rows_of_unknown_class_take_no_part(loss):
    embedding, label = random_batch(30, 5, 1, 3, torch.float64)
    label[::4] = -1
    label[1] = -7
    known = label >= 0
    whole, part = embedding.clone().requires_grad_(), embedding[known].clone().requires_grad_()
    of_whole, of_part = loss(whole, label), loss(part, label[known])
    of_whole.loss.backward()
    of_part.loss.backward()
    assert of_whole.loss.item() == pytest.approx(of_part.loss.item(), rel=1e-12)
    assert of_whole.data_weight[known].tolist() == of_part.data_weight.tolist()
    assert of_whole.fraction.item() == pytest.approx(of_part.fraction.item())
    assert not of_whole.data_weight[~known].any()
    assert not whole.grad[~known].any()
    torch.testing.assert_close(whole.grad[known], part.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", [batch_all, batch_hard])
@pytest.mark.parametrize("label", [[], [-1, -1], [-1, 4], [0], [3, 3, 3, 3], [1, 2, 3, 4]])
def test_a_batch_without_a_triplet_gives_a_zero_that_back_propagates(loss, label):
    embedding = torch.ones(len(label), 3, requires_grad=True)
    found = loss(embedding, torch.tensor(label, dtype=torch.int64))
    found.loss.backward()
    assert (found.loss.item(), found.count.item(), found.fraction.item()) == (0, 0, 0)
    assert embedding.grad.shape == embedding.shape
    assert not embedding.grad.any()
    assert not found.data_weight.any()


def naive_batch_hard(embedding: Tensor, label: Tensor) -> tuple[float, list[float], int]:
    dots = (embedding @ embedding.T).tolist()
    labels = label.tolist()
    weight, losses = [0.0] * len(labels), []
    for a, row in enumerate(dots):
        positives = {j: d for j, d in enumerate(row) if labels[j] == labels[a] and j != a}
        negatives = {j: d for j, d in enumerate(row) if labels[j] != labels[a]}
        if not positives or not negatives or (gap := max(negatives.values()) - min(positives.values())) <= 0:
            continue
        losses.append(math.log1p(math.exp(gap)))
        weight[a] += 1
        for j in positives:
            weight[j] += positives[j] == min(positives.values())
        for j in negatives:
            weight[j] += negatives[j] == max(negatives.values())
    return sum(losses) / max(len(losses), 1), weight, len(losses)


@given(values=st.lists(st.integers(-2, 2), min_size=4, max_size=24), seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_batch_hard_equals_a_loop_over_anchors_ties_included(values, seed):
    rows = torch.tensor(values[: len(values) // 2 * 2], dtype=torch.float64).view(-1, 2)
    label = torch.randint(0, 3, (len(rows),), generator=torch.Generator().manual_seed(seed))
    found = batch_hard(rows, label)
    loss, weight, count = naive_batch_hard(rows, label)
    assert found.loss.item() == pytest.approx(loss, rel=1e-12)
    assert found.data_weight.tolist() == weight
    assert (found.count.item(), found.fraction.item()) == (count, pytest.approx(count / len(rows)))


@pytest.mark.parametrize("loss", [batch_all, batch_hard])
def test_sixteen_bit_embeddings_are_summed_in_more(loss):
    embedding, label = random_batch(64, 8, 0.5, 4, torch.float32)
    half = embedding.bfloat16().requires_grad_()
    found = loss(half, label)
    found.loss.backward()
    expected = loss(half.detach().float(), label)
    assert found.loss.dtype == torch.float32
    assert found.loss.item() == pytest.approx(expected.loss.item(), rel=1e-6)
    assert half.grad.dtype == torch.bfloat16


def test_batch_all_passes_nan_on_instead_of_hiding_it():
    embedding, label = random_batch(12, 3, 1, 2, torch.float32)
    embedding[4, 1] = torch.nan
    assert torch.isnan(batch_all(embedding, label).loss)


@pytest.mark.parametrize("loss", [batch_all, batch_hard])
def test_labels_of_pairs_are_refused_with_a_reason(loss):
    with pytest.raises(TypeError, match="integer class codes"):
        loss(torch.ones(4, 2), torch.ones(4))
    with pytest.raises(ValueError, match="one label per row"):
        loss(torch.ones(4, 2), torch.ones(3, dtype=torch.int64))


@pytest.mark.parametrize("accuracy", [1e-7, 1e-11])
@pytest.mark.parametrize("span", [1e-3, 0.5, 3.0, 40.0, all_pairs.WIDEST])
def test_the_interpolated_kernels_have_the_stated_relative_error_for_every_pair(span, accuracy):
    grid = all_pairs._Grid.fit(span, 100, accuracy, torch.device("cpu"))
    dots = torch.linspace(0, span, 301, dtype=torch.float64)
    cell = (dots / (2 * grid.half_width)).long().clamp(max=grid.cells - 1)
    x = dots / grid.half_width - 2 * cell - 1
    degree = torch.arange(grid.order)
    basis = torch.cos(degree[:, None] * x.clamp(-1, 1).arccos()) * torch.where(degree % 4 < 2, 1, -1)[:, None]
    spread = torch.zeros(len(dots), grid.order, grid.cells, dtype=torch.float64)
    spread[torch.arange(len(dots)), :, cell] = basis.T
    spread = spread.flatten(1)
    gap = dots - dots[:, None]
    for kernel, exact in ((grid.softplus, softplus(gap)), (grid.sigmoid, gap.sigmoid())):
        assert ((spread @ kernel @ spread.T) / exact - 1).abs().max() <= accuracy


def test_memory_stays_far_below_the_cube_of_the_batch():
    embedding, label = random_batch(1024, 16, 1, 4, torch.float32)
    embedding.requires_grad_()
    with Operations() as operations:
        batch_all(embedding, label).loss.backward()
    assert operations.bytes <= 16 * 2**20
