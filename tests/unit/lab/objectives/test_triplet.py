"""The triplet loss: FILM's hinge, and what holds of every similarity, activation and choice of negatives."""

import pytest
import torch
from torch.nn.functional import normalize, softplus

from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.triplet import Triplet


def hinge_of(margin):
    """What conf/objective/triplet_film.yaml builds."""
    return Triplet(similarity="cosine", activation="hinge", margin=margin, negatives="given", average="all")


def batch(*sides):
    return EncodedBatch(*(Encoding(side) for side in sides))


def test_it_is_pytorch_metric_learnings_triplet_margin_loss_on_cosines():
    from pytorch_metric_learning.distances import CosineSimilarity
    from pytorch_metric_learning.losses import TripletMarginLoss
    from pytorch_metric_learning.reducers import MeanReducer

    torch.manual_seed(0)
    sides = [torch.randn(8, 4) for _ in range(3)]
    sides[2][0] = sides[1][0]  # a tie
    theirs = TripletMarginLoss(margin=0.3, distance=CosineSimilarity(), reducer=MeanReducer())
    index = torch.arange(8)
    expected = theirs(torch.cat(sides), indices_tuple=(index, index + 8, index + 16))
    torch.testing.assert_close(hinge_of(0.3)(batch(*sides))["loss"], expected, atol=1e-5, rtol=0)


SIMILARITIES = {
    "dot": lambda a, b: a @ b.T,
    "cosine": lambda a, b: normalize(a, dim=1) @ normalize(b, dim=1).T,
    "euclidean": lambda a, b: -torch.cdist(normalize(a, dim=1), normalize(b, dim=1)),
}


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("activation", ["hinge", "softplus"])
@pytest.mark.parametrize("negatives", ["given", "all", "semi_hard", "batch_hard"])
@pytest.mark.parametrize("average", ["all", "nonzero"])
def test_every_combination_is_its_naive_loop(similarity, activation, negatives, average):
    generator = torch.Generator().manual_seed(3)
    if negatives == "given":
        sides = torch.randn(3, 9, 4, generator=generator, dtype=torch.float64)
        anchors, encoded = sides[0], batch(*sides)
        near, far = (SIMILARITIES[similarity](sides[0], side).diagonal() for side in sides[1:])
        gaps = (far - near).tolist()
    else:
        anchors = torch.randn(15, 4, generator=generator, dtype=torch.float64)
        label = torch.arange(15) % 4
        encoded = EncodedBatch(Encoding(anchors), label=label)
        score, gaps = SIMILARITIES[similarity](anchors, anchors).tolist(), []
        for a in range(15):
            near = [score[a][p] for p in range(15) if p != a and label[p] == label[a]]
            far = [score[a][n] for n in range(15) if label[n] != label[a]]
            if negatives == "batch_hard":
                gaps += [gap for gap in [max(far) - min(near)] if gap > 0]
                continue
            for p in near:
                chosen = [n for n in far if n < p] if negatives == "semi_hard" else far
                gaps += [n - p for n in (chosen if negatives == "all" else sorted(chosen)[-1:])]
    margin = 0.4 * (anchors.square().sum(1).mean().item() if similarity == "dot" else 1)
    gaps = torch.tensor(gaps, dtype=torch.float64)
    losses = (margin + gaps).relu() if activation == "hinge" else softplus(gaps, threshold=40)
    active = losses > 0 if activation == "hinge" else gaps > 0
    expected = losses.sum() / ((losses > 0).sum() if average == "nonzero" else len(losses))
    found = Triplet(
        similarity=similarity,
        activation=activation,
        margin=0.4 if activation == "hinge" else None,
        negatives=negatives,
        average=average,
    )(encoded)
    assert found["loss"].item() == pytest.approx(expected.item(), rel=1e-7)
    if negatives != "batch_hard":
        assert found["active"].item() == pytest.approx(active.double().mean().item())
