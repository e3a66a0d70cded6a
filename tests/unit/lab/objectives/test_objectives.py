"""What holds of every objective, whatever it computes. A new objective adds one line to `OBJECTIVES`."""

from dataclasses import dataclass

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
from twicetold_lab.objectives.similarities import SimilarityMse
from twicetold_lab.objectives.triplet import Triplet
from twicetold_lab.objectives.two_levels import TwoLevels

WIDTH = 20


def nce(**changes):
    return InfoNce(**{"temperature": 0.1, **changes})


@dataclass(frozen=True)
class Case:
    objective: Objective
    zero_when_satisfied: str | None
    """The part that vanishes, exactly or beyond any use, once every triplet is well satisfied."""


# In the batch below, mined negatives and right texts of other rows are of other classes.
VANISHING = {"hinge": {("dot", "given"), ("cosine", "given"), ("euclidean", "given")}, "softplus": {("dot", "given")}}
OBJECTIVES = {
    f"denoising_triplet-{negatives}-{loss}": Case(
        DenoisingTriplet(alpha=3, negatives=negatives, reconstruction=loss), zero_when_satisfied="triplet"
    )
    for negatives in ("all", "batch_hard", "given")
    for loss in ("cross_entropy", "mean_squared")
}
OBJECTIVES["alternating"] = Case(Alternating(each=nce()), zero_when_satisfied=None)
OBJECTIVES["pair_bce"] = Case(PairBce(), zero_when_satisfied=None)
OBJECTIVES["weighted_sum"] = Case(
    WeightedSum(
        parts={"pairs": PairBce(), "search": nce(temperature=0.2)},
        weights={"pairs": 1, "search": 0.2},
    ),
    zero_when_satisfied=None,
)
for semi_hard in (False, True):
    OBJECTIVES[f"closest_and_mean-semi_hard-{semi_hard}"] = Case(
        ClosestAndMean(margin=0.25, semi_hard=semi_hard), zero_when_satisfied=None
    )
OBJECTIVES |= {
    f"triplet-{similarity}-{activation}-{negatives}": Case(
        Triplet(
            similarity=similarity,
            activation=activation,
            margin=0.2 if activation == "hinge" else None,
            negatives=negatives,
            average="nonzero" if similarity == "euclidean" else "all",
        ),
        zero_when_satisfied="loss" if (similarity, negatives) in VANISHING[activation] else None,
    )
    for similarity in ("dot", "cosine", "euclidean")
    for activation in ("hinge", "softplus")
    for negatives in ("all", "semi_hard", "batch_hard", "given")
}
OBJECTIVES |= {
    "info_nce": Case(nce(temperature=0.05, symmetric=True), zero_when_satisfied=None),
    "info_nce-length_penalty": Case(
        nce(similarity="dot", temperature=1.0, length_penalty=0.002), zero_when_satisfied=None
    ),
}
OBJECTIVES["contrastive"] = Case(Contrastive(margin=1.0), zero_when_satisfied=None)
OBJECTIVES["similarity_mse"] = Case(SimilarityMse(), zero_when_satisfied=None)
OBJECTIVES["two_levels"] = Case(TwoLevels(boundaries=[0.2, 0.6], weights=[1, 1], scale=10), zero_when_satisfied=None)


@pytest.fixture(params=OBJECTIVES.values(), ids=OBJECTIVES)
def case(request) -> Case:
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


def test_the_order_of_the_batch_does_not_matter(case):
    encoded = random_batch(18)
    order = torch.randperm(18, generator=torch.Generator().manual_seed(0))
    sides = (encoded.anchor, encoded.positive, encoded.negative)
    shuffled = scored(*(permuted(s, order) for s in sides), label=encoded.label[order])
    straight, turned = case.objective(encoded), case.objective(shuffled)
    assert {k: pytest.approx(v.item(), rel=1e-7) for k, v in straight.items()} == {
        k: v.item() for k, v in turned.items()
    }


def test_the_loss_vanishes_where_every_triplet_is_well_satisfied(case):
    if case.zero_when_satisfied is None:
        pytest.skip("this objective has no term that vanishes")
    axes = 8 * torch.eye(3, dtype=torch.float64)[torch.arange(9) % 3]
    encoded = batch(axes.clone(), axes.clone(), axes.roll(1, 0), torch.arange(9) % 3)
    assert case.objective(encoded)[case.zero_when_satisfied].item() == pytest.approx(0, abs=1e-20)


def test_gradients_are_finite_at_coincident_points(case):
    for value in (0.0, 0.5):
        sides = torch.full((3, 6, 4), value).unbind()
        encoded = batch(*(s.clone() for s in sides), label=torch.arange(6) % 2)
        case.objective(encoded)["loss"].backward()
        assert all(torch.isfinite(leaf.grad).all() for leaf in leaves(encoded) if leaf.grad is not None)


def test_an_empty_batch_gives_a_zero_that_back_propagates(case):
    encoded = random_batch(0)
    losses = case.objective(encoded)
    losses["loss"].backward()
    assert losses["loss"].item() == 0
    assert encoded.anchor.embedding.grad.shape == (0, 4)


def test_the_total_is_called_loss_and_every_part_is_a_finite_scalar(case):
    losses = case.objective(random_batch(12))
    assert losses["loss"].requires_grad
    assert all(value.shape == () and torch.isfinite(value) for value in losses.values())


def test_it_has_no_parameters_and_so_holds_no_encoder(case):
    assert list(case.objective.parameters()) == []
