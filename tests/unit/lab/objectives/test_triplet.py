"""The triplet loss: FILM's hinge, and what holds of every similarity, activation and choice of negatives."""

import pytest
import torch
from torch.nn.functional import normalize, softplus

from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.triplet import Triplet


def batch(*sides):
    return EncodedBatch(*(Encoding(side) for side in sides))


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
