"""Objectives that alternate between views."""

import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding, Roles
from twicetold_lab.objectives.combined import Alternating, WeightedSum
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.objectives.pair_bce import PairBce


def nce():
    return InfoNce(temperature=0.1)


def side(seed, views=3):
    vectors = torch.randn(5, views, 4, generator=torch.Generator().manual_seed(seed))
    return Encoding(vectors.flatten(1), Roles(vectors, vectors))


def of_view(encoding, view):
    return Encoding(encoding.extra.query[:, view])


def test_the_steps_of_training_take_view_after_view_and_their_losses_add_up_to_that_of_all():
    batch, objective = EncodedBatch(side(0), side(1)), Alternating(each=nce())
    taken = [objective(batch)["loss"] for _ in range(6)]
    alone = [nce()(EncodedBatch(of_view(batch.anchor, m), of_view(batch.positive, m)))["loss"] for m in range(3)]
    torch.testing.assert_close(torch.stack(taken), torch.stack(alone * 2))
    torch.testing.assert_close(sum(taken[:3]), nce()(batch)["loss"])


def test_outside_training_all_views_count_and_no_turn_is_taken():
    batch, objective = EncodedBatch(side(0), side(1)), Alternating(each=nce())
    torch.testing.assert_close(objective.eval()(batch)["loss"], nce()(batch)["loss"])
    assert objective.steps == 0


def test_an_encoder_of_one_view_makes_no_difference():
    one, other = (Encoding(torch.randn(5, 4)) for _ in range(2))
    objective = Alternating(each=nce())
    losses = [objective(EncodedBatch(one, other))["loss"] for _ in range(3)]
    torch.testing.assert_close(torch.stack(losses), nce()(EncodedBatch(one, other))["loss"].expand(3))


def test_a_training_that_resumes_goes_on_with_the_view_that_was_next():
    batch, stopped, resumed = EncodedBatch(side(0), side(1)), Alternating(each=nce()), Alternating(each=nce())
    for _ in range(4):
        stopped(batch)
    resumed.load_state_dict(stopped.state_dict())
    torch.testing.assert_close(resumed(batch)["loss"], stopped(batch)["loss"])


def test_an_objective_on_scores_of_pairs_is_refused():
    scored = WeightedSum(parts={"pairs": PairBce()}, weights={"pairs": 1})
    for each in (PairBce(), scored):
        with pytest.raises(ValueError, match=f"{type(each).__name__} reads scores of pairs, which have no views"):
            Alternating(each=each)
