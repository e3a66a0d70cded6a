"""What holds of every objective, whatever it computes. A new objective adds one line to `OBJECTIVES`."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from twicetold.encoding import EncodedBatch, Encoding, Reconstruction, SparseRows
from twicetold_lab.objectives.closest_and_mean import ClosestAndMean
from twicetold_lab.objectives.combined import Alternating, WeightedSum
from twicetold_lab.objectives.contrastive import Contrastive
from twicetold_lab.objectives.denoising_triplet import DenoisingTriplet
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.objectives.pair_bce import PairBce
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.similarities import Correlation, SimilarityMse
from twicetold_lab.objectives.triplet import Triplet
from twicetold_lab.objectives.two_levels import TwoLevels

WIDTH = 20


def nce(**changes):
    return InfoNce(**{"temperature": 0.1, **changes})


def triplet(similarity="euclidean", activation="hinge", negatives="all", **changes):
    chosen = {"margin": 0.2 if activation == "hinge" else None, "average": "all"} | changes
    return Triplet(similarity=similarity, activation=activation, negatives=negatives, **chosen)


def denoising(**changes):
    return DenoisingTriplet(**{"alpha": 3, "negatives": "all", "reconstruction": "cross_entropy"} | changes)


def two_levels(**changes):
    return TwoLevels(**{"boundaries": [0.2, 0.6], "weights": [1, 1], "scale": 10} | changes)


OF_CLASSES = {
    f"denoising_triplet-{negatives}-{loss}": denoising(negatives=negatives, reconstruction=loss)
    for negatives in ("all", "batch_hard", "given")
    for loss in ("cross_entropy", "mean_squared")
}
OBJECTIVES = OF_CLASSES | {
    f"triplet-{similarity}-{activation}-{negatives}": triplet(similarity, activation, negatives, average=average)
    for similarity, average in (("dot", "all"), ("cosine", "all"), ("euclidean", "nonzero"))
    for activation in ("hinge", "softplus")
    for negatives in ("all", "semi_hard", "batch_hard", "given")
}
OBJECTIVES |= {
    "alternating": Alternating(each=nce()),
    "pair_bce": PairBce(),
    "weighted_sum": WeightedSum(
        parts={"pairs": PairBce(), "search": nce(temperature=0.2)}, weights={"pairs": 1, "search": 0.2}
    ),
    "closest_and_mean": ClosestAndMean(margin=0.25, semi_hard=False),
    "closest_and_mean-semi_hard": ClosestAndMean(margin=0.25, semi_hard=True),
    "info_nce": nce(temperature=0.05, symmetric=True),
    "info_nce-length_penalty": nce(similarity="dot", temperature=1.0, length_penalty=0.002),
    "contrastive": Contrastive(margin=1.0),
    "similarity_mse": SimilarityMse(),
    "two_levels": two_levels(),
}
# In the batch below, mined negatives and right texts of other rows are of other classes.
VANISHING = {"triplet-dot-hinge-given", "triplet-cosine-hinge-given", "triplet-euclidean-hinge-given"}
VANISHING |= {"triplet-dot-softplus-given", *OF_CLASSES}


@pytest.fixture(params=OBJECTIVES.values(), ids=OBJECTIVES)
def objective(request) -> Objective:
    return request.param


def side(embedding: Tensor, seed: int) -> Encoding:
    generator = torch.Generator().manual_seed(seed)
    size = len(embedding)
    entries = torch.rand(size, WIDTH, generator=generator).argsort(1)[:, :4].flatten()
    logits = torch.randn(size, WIDTH, generator=generator, dtype=embedding.dtype).requires_grad_()
    target = SparseRows(entries, torch.arange(size + 1) * 4, None, WIDTH)
    return Encoding(embedding.requires_grad_(), Reconstruction(logits, target))


def batch(anchor: Tensor, positive: Tensor, negative: Tensor, label: Tensor) -> EncodedBatch:
    return scored(side(anchor, 1), side(positive, 2), side(negative, 3), label)


def scored(anchor: Encoding, positive: Encoding, negative: Encoding, label: Tensor) -> EncodedBatch:
    score = (anchor.embedding * positive.embedding).sum(1)
    return EncodedBatch(anchor, positive, negative, label=label, score=score)


def random_batch(size: int) -> EncodedBatch:
    sides = torch.randn(3, size, 4, generator=torch.Generator().manual_seed(size), dtype=torch.float64)
    return batch(*sides.clone().unbind(), label=torch.arange(size) % 3)


def permuted(encoded: Encoding, order: Tensor) -> Encoding:
    target = encoded.extra.target
    indices = target.indices.view(len(target), -1)[order].flatten()
    return Encoding(
        encoded.embedding[order],
        Reconstruction(encoded.extra.logits[order], SparseRows(indices, target.offsets, None, WIDTH)),
    )


def leaves(encoded: EncodedBatch) -> list[Tensor]:
    sides = (encoded.anchor, encoded.positive, encoded.negative)
    return [tensor for s in sides for tensor in (s.embedding, s.extra.logits)]


def test_the_order_of_the_batch_does_not_matter(objective):
    encoded = random_batch(18)
    order = torch.randperm(18, generator=torch.Generator().manual_seed(0))
    sides = (encoded.anchor, encoded.positive, encoded.negative)
    shuffled = scored(*(permuted(s, order) for s in sides), label=encoded.label[order])
    straight, turned = objective(encoded), objective(shuffled)
    assert {k: pytest.approx(v.item(), rel=1e-7) for k, v in straight.items()} == {
        k: v.item() for k, v in turned.items()
    }


@pytest.mark.parametrize("name", sorted(VANISHING))
def test_the_loss_vanishes_where_every_triplet_is_well_satisfied(name):
    axes = 8 * torch.eye(3, dtype=torch.float64)[torch.arange(9) % 3]
    losses = OBJECTIVES[name](batch(axes.clone(), axes.clone(), axes.roll(1, 0), torch.arange(9) % 3))
    assert losses["triplet" if name in OF_CLASSES else "loss"].item() == pytest.approx(0, abs=1e-20)


def test_gradients_are_finite_at_coincident_points(objective):
    for value in (0.0, 0.5):
        sides = torch.full((3, 6, 4), value).unbind()
        encoded = batch(*(s.clone() for s in sides), label=torch.arange(6) % 2)
        objective(encoded)["loss"].backward()
        assert all(torch.isfinite(leaf.grad).all() for leaf in leaves(encoded) if leaf.grad is not None)


def test_an_empty_batch_gives_a_zero_that_back_propagates(objective):
    encoded = random_batch(0)
    losses = objective(encoded)
    losses["loss"].backward()
    assert losses["loss"].item() == 0
    assert encoded.anchor.embedding.grad.shape == (0, 4)


def test_the_total_is_called_loss_and_every_part_is_a_finite_scalar(objective):
    losses = objective(random_batch(12))
    assert losses["loss"].requires_grad
    assert all(value.shape == () and torch.isfinite(value) for value in losses.values())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_in_mixed_precision_the_loss_is_still_exact(name):
    sides = torch.randn(3, 12, 4, generator=torch.Generator().manual_seed(0)).unbind()
    encoded = batch(*(side.clone() for side in sides), label=torch.arange(12) % 3)
    objective = deepcopy(OBJECTIVES[name]).eval()
    expected = objective(encoded)["loss"].item()
    with torch.autocast("cpu", torch.bfloat16):
        assert objective(encoded)["loss"].item() == pytest.approx(expected, rel=1e-5)


def test_it_has_no_parameters_and_so_holds_no_encoder(objective):
    assert list(objective.parameters()) == []


TEXTS, PAIR = (Encoding(torch.ones(3, 2)),), (Encoding(torch.ones(3, 2)),) * 2
SPARSE = Encoding(SparseRows(torch.tensor([0]), torch.tensor([0, 1]), None, 3))


@pytest.mark.parametrize(
    ("objective", "encoded", "examples"),
    [
        *(
            (one, EncodedBatch(*TEXTS), "")
            for one in [nce(), nce(similarity="dot"), Contrastive(margin=1), triplet(), triplet(negatives="given")]
        ),
        *((triplet("dot", "softplus", negatives), EncodedBatch(*TEXTS), "") for negatives in ("all", "given")),
        (ClosestAndMean(margin=0.25, semi_hard=False), EncodedBatch(*TEXTS), "duplicates"),
        (SimilarityMse(), EncodedBatch(*TEXTS), "similarities"),
        (SimilarityMse(), EncodedBatch(*PAIR), "similarities"),
        (Correlation(), EncodedBatch(*PAIR, score=torch.ones(3)), "graded_pairs"),
        (PairBce(), EncodedBatch(*PAIR, score=torch.ones(3)), "labelled_pairs"),
        (PairBce(), EncodedBatch(*PAIR, label=torch.ones(3)), "labelled_pairs"),
        (two_levels(), EncodedBatch(*TEXTS, label=torch.arange(3)), "story_and_category"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_batch_without_what_is_needed_names_the_examples_that_have_it(objective, encoded, examples):
    with pytest.raises(ValueError, match=rf"choose\s+examples={examples}"):
        objective(encoded)
    if type(objective) in (InfoNce, Contrastive, Triplet, ClosestAndMean):
        with pytest.raises(TypeError, match="objective=none"):
            objective(EncodedBatch(SPARSE, SPARSE, SPARSE))


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: nce(temperature=0), "above 0; got 0"),
        (lambda: nce(similarity="cos"), "cosine, dot; got 'cos'"),
        (lambda: nce(negatives=0), "at least 1, or null for the whole batch; got 0"),
        (lambda: nce(temperature=1, similarity="dot", length_penalty=-1), "at least 0; got -1"),
        (lambda: nce(length_penalty=0.1), "no effect on cosines"),
        (lambda: Contrastive(margin=3), "at most 2; got 3"),
        (lambda: triplet(margin=0), "above 0; got 0"),
        (lambda: triplet(negatives="easy"), "all, semi_hard, batch_hard; got 'easy'"),
        (lambda: triplet(margin=None), "above 0; got None"),
        (lambda: triplet("dots"), "similarity must be one of dot, cosine, euclidean; got 'dots'"),
        (lambda: triplet(average="some"), "average must be one of all, nonzero; got 'some'"),
        (lambda: triplet("dot", "softplus", margin=1), "softplus has no margin: set it to null"),
        (lambda: triplet("dot", "relu"), "activation must be one of hinge, softplus; got 'relu'"),
        (lambda: denoising(alpha=-1), "at least 0; got -1"),
        (lambda: denoising(alpha=float("nan")), "at least 0; got nan"),
        (lambda: denoising(negatives="hardest"), "all, batch_hard, given; got 'hardest'"),
        (lambda: denoising(reconstruction="bce"), "cross_entropy, mean_squared; got 'bce'"),
        (lambda: two_levels(boundaries=[0.6, 0.2]), "boundar.*; got"),
        (lambda: two_levels(boundaries=[0.2, 1.0]), "boundar.*; got"),
        (lambda: two_levels(weights=[1.0, -1.0]), "weights.*; got"),
        (lambda: two_levels(scale=0.0), "scale.*; got"),
        (lambda: PairBce(scale=-1), "above 0, or null for a logit; got -1"),
        (lambda: WeightedSum(parts={"a": PairBce()}, weights={"b": 1}), r"each of \['a'\], got \['b'\]"),
    ],
)
def test_bad_settings_are_refused_with_the_choices(build, complaint):
    with pytest.raises(ValueError, match=complaint):
        build()
