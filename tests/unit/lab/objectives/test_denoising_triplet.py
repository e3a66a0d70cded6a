"""The denoising autoencoder's objective: how its parts are put together, and what it says when something is missing."""

import pytest
import torch
from torch.nn.functional import softplus

from twicetold.encoding import EncodedBatch, Encoding, Reconstruction, Roles, SparseRows
from twicetold_lab.objectives import class_triplets, reconstruction
from twicetold_lab.objectives.denoising_triplet import DenoisingTriplet

WIDTH = 30
RECONSTRUCTIONS = ["cross_entropy", "mean_squared"]


def encoding(size: int, seed: int) -> Encoding:
    generator = torch.Generator().manual_seed(seed)
    offsets = torch.arange(size + 1) * 3
    indices = torch.rand(size, WIDTH, generator=generator).argsort(1)[:, :3].flatten()
    logits = torch.randn(size, WIDTH, generator=generator).requires_grad_()
    embedding = torch.randn(size, 5, generator=generator).requires_grad_()
    return Encoding(embedding, Reconstruction(logits, SparseRows(indices, offsets, None, WIDTH)))


def objective(negatives: str = "all", loss: str = "cross_entropy", alpha: float = 10, **options) -> DenoisingTriplet:
    return DenoisingTriplet(alpha=alpha, negatives=negatives, reconstruction=loss, **options)


@pytest.mark.parametrize("loss", RECONSTRUCTIONS)
@pytest.mark.parametrize("negatives", ["all", "batch_hard"])
def test_mined_total_is_the_reconstruction_weighted_by_triplets_plus_alpha_times_the_triplet_loss(negatives, loss):
    side, label = encoding(12, 0), torch.arange(12) % 3
    label[7] = -1
    losses = objective(negatives, loss)(EncodedBatch(side, label=label))
    triplets = getattr(class_triplets, {"all": "batch_all"}.get(negatives, negatives))(side.embedding, label)
    output = side.extra.logits if loss == "cross_entropy" else side.extra.logits.sigmoid()
    reconstructed = getattr(reconstruction, loss)(output, side.extra.target, triplets.data_weight)
    assert losses["reconstruction"].item() == pytest.approx(reconstructed.item())
    assert losses["triplet"].item() == pytest.approx(triplets.loss.item())
    assert losses["active"].item() == pytest.approx(triplets.fraction.item())
    assert losses["loss"].item() == pytest.approx(reconstructed.item() + 10 * triplets.loss.item())


@pytest.mark.parametrize("loss", RECONSTRUCTIONS)
def test_the_total_of_given_triplets_is_three_plain_reconstructions_plus_alpha_times_the_triplet_loss(loss):
    sides = [encoding(6, seed) for seed in range(3)]
    losses = objective("given", loss)(EncodedBatch(*sides))
    function = getattr(reconstruction, loss)
    outputs = [s.extra.logits if loss == "cross_entropy" else s.extra.logits.sigmoid() for s in sides]
    reconstructed = sum(function(y, s.extra.target).item() for y, s in zip(outputs, sides, strict=True))
    a, p, n = (s.embedding for s in sides)
    triplets = softplus((a * n).sum(1) - (a * p).sum(1)).mean()
    assert losses["loss"].item() == pytest.approx(reconstructed + 10 * triplets.item())


@pytest.mark.parametrize("negatives", ["all", "batch_hard"])
@pytest.mark.parametrize("label", [torch.zeros(6, dtype=torch.int64), torch.full((6,), -1)])
def test_a_batch_without_a_triplet_is_reconstructed_with_equal_weights(negatives, label):
    side = encoding(6, 0)
    losses = objective(negatives)(EncodedBatch(side, label=label))
    expected = reconstruction.cross_entropy(side.extra.logits, side.extra.target)
    assert losses["loss"].item() == pytest.approx(expected.item())
    assert losses["triplet"].item() == 0


def test_an_encoder_that_does_not_reconstruct_is_refused():
    for extra, named in ((None, "nothing"), (Roles(torch.ones(4, 1, 2), torch.ones(4, 1, 2)), "Roles")):
        side = Encoding(torch.ones(4, 2), extra)
        with pytest.raises(ValueError, match=f"as model=dae; this encoding comes with {named}"):
            objective()(EncodedBatch(side, label=torch.arange(4) % 2))
