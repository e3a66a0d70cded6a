import math

import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.combined import WeightedSum
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.objectives.pair_bce import PairBce

SIDE = Encoding(torch.randn(5, 3, generator=torch.Generator().manual_seed(0)))
LABEL = torch.tensor([1.0, 0, 0, 1, 0])
SCORE = torch.tensor([2.0, -1, 0.5, -3, 0])


def batch(**changes):
    return EncodedBatch(**{"anchor": SIDE, "positive": SIDE, "label": LABEL, "score": SCORE, **changes})


def test_it_is_the_mean_cross_entropy_of_the_scores():
    expected = sum(math.log1p(math.exp(-s if y else s)) for s, y in zip(SCORE.tolist(), LABEL.tolist())) / 5
    assert PairBce()(batch())["loss"].item() == pytest.approx(expected)


def test_a_label_between_is_the_probability_to_be_learnt():
    p = torch.tensor([0.1, 0.9, 0.5, 0.3, 0.7])
    q = torch.sigmoid(SCORE)
    expected = -(p * q.log() + (1 - p) * (1 - q).log()).mean()
    loss = PairBce()(batch(label=p))["loss"]
    torch.testing.assert_close(loss, expected)


def test_a_weighted_sum_is_the_sum_of_its_parts():
    parts = {
        "pairs": PairBce(),
        "search": InfoNce(temperature=0.2, symmetric=True),
    }
    losses = WeightedSum(parts=parts, weights={"pairs": 2, "search": 0.5})(batch())
    assert losses["loss"].item() == pytest.approx(2 * losses["pairs"].item() + 0.5 * losses["search"].item())
    assert {name: part(batch())["loss"].item() for name, part in parts.items()} == {
        name: losses[name].item() for name in parts
    }


def test_a_weighted_sum_needs_scores_if_a_part_does():
    search = InfoNce(temperature=0.2, symmetric=True)
    assert not WeightedSum(parts={"search": search}, weights={"search": 1}).needs_score
    both = {"search": search, "pairs": PairBce()}
    assert WeightedSum(parts=both, weights={"search": 1, "pairs": 1}).needs_score


def test_a_cosine_is_scaled_and_shifted_by_what_the_objective_learns():
    objective = PairBce(scale=4.0, threshold=0.5)
    loss = objective(batch())["loss"]
    assert loss.item() == pytest.approx(PairBce()(batch(score=4 * (SCORE - 0.5)))["loss"].item())
    loss.backward()
    assert {name for name, p in objective.named_parameters() if p.grad.abs() > 0} == {"log_scale", "threshold"}


def test_what_a_part_of_a_weighted_sum_learns_is_among_its_parameters():
    parts = {"pairs": PairBce(scale=4.0)}
    assert len(list(WeightedSum(parts=parts, weights={"pairs": 1}).parameters())) == 2
