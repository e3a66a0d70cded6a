"""The denoising autoencoder's objective: how its parts are put together, and what it says when something is missing."""

import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding, SparseRows
from twicetold.objectives import reconstruction, triplet
from twicetold.objectives.denoising_triplet import DenoisingTriplet

WIDTH = 30
RECONSTRUCTIONS = ["cross_entropy", "mean_squared", "cosine_proximity"]


def encoding(size: int, seed: int) -> Encoding:
    generator = torch.Generator().manual_seed(seed)
    offsets = torch.arange(size + 1) * 3
    indices = torch.rand(size, WIDTH, generator=generator).argsort(1)[:, :3].flatten()
    logits = torch.randn(size, WIDTH, generator=generator).requires_grad_()
    embedding = torch.randn(size, 5, generator=generator).requires_grad_()
    return Encoding(embedding, {"logits": logits, "target": SparseRows(indices, offsets, None, WIDTH)})


def objective(mining: str = "batch_all", loss: str = "cross_entropy", alpha: float = 10, **options) -> DenoisingTriplet:
    return DenoisingTriplet(alpha=alpha, mining=mining, reconstruction=loss, **options)


@pytest.mark.parametrize("loss", RECONSTRUCTIONS)
@pytest.mark.parametrize("mining", ["batch_all", "batch_hard"])
def test_mined_total_is_the_reconstruction_weighted_by_triplets_plus_alpha_times_the_triplet_loss(mining, loss):
    side, label = encoding(12, 0), torch.arange(12) % 3
    label[7] = -1
    losses = objective(mining, loss)(EncodedBatch(side, label=label))
    triplets = getattr(triplet, mining)(side.embedding, label)
    output = side.extras["logits"] if loss == "cross_entropy" else side.extras["logits"].sigmoid()
    reconstructed = getattr(reconstruction, loss)(output, side.extras["target"], triplets.data_weight)
    assert losses["reconstruction"].item() == pytest.approx(reconstructed.item())
    assert losses["triplet"].item() == pytest.approx(triplets.loss.item())
    assert losses["fraction"].item() == pytest.approx(triplets.fraction.item())
    assert losses["loss"].item() == pytest.approx(reconstructed.item() + 10 * triplets.loss.item())


@pytest.mark.parametrize("loss", RECONSTRUCTIONS)
def test_explicit_total_is_three_plain_reconstructions_plus_alpha_times_the_triplet_loss(loss):
    sides = [encoding(6, seed) for seed in range(3)]
    losses = objective("explicit", loss)(EncodedBatch(*sides))
    function = getattr(reconstruction, loss)
    outputs = [s.extras["logits"] if loss == "cross_entropy" else s.extras["logits"].sigmoid() for s in sides]
    reconstructed = sum(function(y, s.extras["target"]).item() for y, s in zip(outputs, sides, strict=True))
    triplets = triplet.explicit(*(s.embedding for s in sides))
    assert losses["loss"].item() == pytest.approx(reconstructed + 10 * triplets.loss.item())


def test_only_the_total_carries_a_gradient():
    losses = objective()(EncodedBatch(encoding(9, 0), label=torch.arange(9) % 3))
    assert [name for name, value in losses.items() if value.requires_grad] == ["loss"]
    assert all(value.ndim == 0 for value in losses.values())


@pytest.mark.parametrize("mining", ["batch_all", "batch_hard"])
@pytest.mark.parametrize("label", [torch.zeros(6, dtype=torch.int64), torch.full((6,), -1)])
def test_a_batch_without_a_triplet_is_reconstructed_with_equal_weights(mining, label):
    side = encoding(6, 0)
    losses = objective(mining)(EncodedBatch(side, label=label))
    expected = reconstruction.cross_entropy(side.extras["logits"], side.extras["target"])
    assert losses["loss"].item() == pytest.approx(expected.item())
    assert losses["triplet"].item() == 0


def test_the_reference_learns_nothing_from_a_batch_without_a_triplet():
    side = encoding(6, 0)
    losses = objective(reference_exact=True)(EncodedBatch(side, label=torch.zeros(6, dtype=torch.int64)))
    losses["loss"].backward()
    assert losses["loss"].item() == 0
    assert not side.extras["logits"].grad.any()


@pytest.mark.parametrize("mining", ["batch_all", "batch_hard"])
def test_mining_without_labels_names_the_examples_that_have_them(mining):
    with pytest.raises(ValueError, match="choose examples=labelled_texts"):
        objective(mining)(EncodedBatch(encoding(4, 0)))


@pytest.mark.parametrize("missing", ["positive", "negative"])
def test_explicit_triplets_without_a_side_name_the_examples_that_have_it(missing):
    sides = {"positive": encoding(4, 1), "negative": encoding(4, 2)} | {missing: None}
    with pytest.raises(ValueError, match=f"no {missing}: choose examples=triplets"):
        objective("explicit")(EncodedBatch(encoding(4, 0), **sides))


def test_an_encoder_that_does_not_reconstruct_is_refused():
    side = Encoding(torch.ones(4, 2), {"target": encoding(4, 0).extras["target"]})
    with pytest.raises(ValueError, match=r"no logits among its extras \(target\)"):
        objective()(EncodedBatch(side, label=torch.arange(4) % 2))


def test_a_lexical_encoding_is_refused():
    side = Encoding(encoding(4, 0).extras["target"])
    with pytest.raises(TypeError, match="choose objective=none"):
        objective()(EncodedBatch(side, label=torch.arange(4) % 2))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"alpha": -1}, "at least 0; got -1"),
        ({"alpha": float("nan")}, "at least 0; got nan"),
        ({"mining": "hardest"}, "batch_all, batch_hard, explicit; got 'hardest'"),
        ({"loss": "bce"}, "cross_entropy, mean_squared, cosine_proximity; got 'bce'"),
    ],
)
def test_bad_settings_are_refused_with_the_choices(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        objective(**options)
