"""Every leaf of conf/objective/: no false negatives, and it trains a dense family on labelled pairs or says why not."""

from functools import cache
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from torch.nn.functional import cosine_similarity

from pretended_device import on_both_devices
from twicetold.encoding import EncodedBatch, Encoding

# The right text of a row is no negative of another row's anchor there.
OWN_ROW_ONLY = {"contrastive", "correlation", "pair_bce", "similarity_mse"}
FOLDER = Path(__file__).parents[2] / "conf/objective"
NEEDS = {
    "denoising_triplet": "choose examples=labelled_texts",
    "film": "choose examples=triplets, or objective.negatives=all",
    "lexvec": "choose model=lexvec",
    "skip_gram": "choose word2vec or fasttext",
    "triplet_film": "choose examples=triplets, or objective.negatives=all",
}
PAIRED = sorted(p.stem for p in FOLDER.glob("*.yaml") if p.stem not in {"none", *NEEDS})
CHOICES = [
    *(f"objective={leaf}" for leaf in PAIRED if leaf not in OWN_ROW_ONLY),
    "objective=triplet objective.negatives=all",
    "objective=triplet objective.negatives=batch_hard",
    "objective=triplet objective.activation=softplus objective.margin=null objective.negatives=all",
    "objective=triplet objective.activation=softplus objective.margin=null objective.similarity=dot "
    "objective.negatives=batch_hard",
    "objective=triplet_film objective.negatives=all",
    "objective=triplet_film objective.negatives=all objective.similarity=dot",
    "objective=info_nce objective.similarity=dot",
    "objective=info_nce objective.similarity=dot objective.length_penalty=0.002",
    "objective=closest_and_mean objective.parts.hinges.semi_hard=true",
    "objective=closest_and_mean objective.weights.softmax=1",
    "objective=info_nce_dssm objective.negatives=null",
    "objective=info_nce_dssm objective.drawn=true",
]


@pytest.fixture(scope="session")
def leaf_of(composed):
    return cache(lambda *choice: composed("train", "data=toy_questions", "model=dssm", *choice).objective)


@pytest.fixture
def objective_of(leaf_of, device):
    return lambda *choice: instantiate(leaf_of(*choice)).to(device)


@pytest.fixture
def loss_of(device):
    """The loss of an objective, of embeddings and labels that are moved to the device."""

    def loss(objective, anchor, positive, *, negative=None, **codes):
        anchor, positive = anchor.to(device), positive.to(device)
        sides = [None if side is None else Encoding(side.to(device)) for side in (anchor, positive, negative)]
        moved = {name: code.to(device) for name, code in codes.items()}
        return objective(EncodedBatch(*sides, score=cosine_similarity(anchor, positive, dim=1), **moved))["loss"].cpu()

    return loss


def three_pairs(angle):
    """(3, 6) anchors and right texts; the right text of row 1 turns about its own anchor, nearer to row 0 or farther.

    Its cosine with its own anchor stays what it is, and so do those with the two texts of row 2.
    """
    anchor = torch.eye(6)[[0, 2, 4]]
    positive = torch.zeros(3, 6)
    positive[0, 0], positive[0, 1] = 0.8, 0.6
    positive[1, 2], positive[1, 0], positive[1, 3] = 0.6, 0.8 * angle.cos(), 0.8 * angle.sin()
    positive[2, 4], positive[2, 5] = 0.8, 0.6
    return anchor, positive


def push(loss_at):
    """By how much the loss falls when the angle grows: above 0 where it pushes the turned text away from row 0."""
    angle = torch.tensor(0.25, requires_grad=True)
    loss = loss_at(angle)
    return -torch.autograd.grad(loss, angle, materialize_grads=True)[0].item()


@pytest.mark.parametrize("choice", CHOICES)
@on_both_devices
def test_texts_of_the_same_cluster_in_other_rows_are_never_negatives(choice, objective_of, loss_of):
    objective = objective_of(*choice.split())

    def between(first, second):
        group = torch.tensor([first, second, 9])
        rest = {"group": group, "positive_group": group, "label": torch.ones(3)}
        return push(lambda angle: loss_of(objective, *three_pairs(angle), **rest))

    assert between(4, 5) > 1e-3
    assert between(-1, -1) > 1e-3
    assert between(4, 4) <= 1e-6


@pytest.mark.parametrize("choice", ["info_nce", "triplet", "info_nce_dpr"])
@on_both_devices
def test_mined_negatives_of_other_rows_are_not_negatives_of_their_own_cluster(choice, objective_of, loss_of):
    objective = objective_of(f"objective={choice}", *(["objective.negatives=all"] * (choice == "triplet")))
    anchor, positive = three_pairs(torch.tensor(1.25))
    group = torch.tensor([4, 5, 9])

    def of(cluster):
        def loss_at(angle):
            mined = torch.eye(6)[[5, 3, 3]]
            mined[2] = three_pairs(angle)[1][1] * (torch.arange(6) != 2)  # only row 0's anchor can it come near
            codes = {"group": group, "positive_group": group, "negative_group": torch.tensor([0, 1, cluster])}
            return loss_of(objective, anchor, positive, negative=mined, **codes)

        return push(loss_at)

    assert of(7) > 1e-3
    assert of(4) <= 1e-6


OF_COSINES = "objective=pair_bce objective.scale=10 objective.threshold=0.5"


@pytest.mark.parametrize("choice", [*(f"objective={leaf}" for leaf in PAIRED), OF_COSINES])
@on_both_devices
def test_it_trains_a_dense_family_on_labelled_pairs(choice, objective_of, loss_of):
    objective = objective_of(*choice.split())
    random = torch.Generator().manual_seed(0)
    sides = [torch.randn(24, 5, generator=random).requires_grad_() for _ in range(2)]
    group = torch.arange(24) // 3
    label = (torch.arange(24) % 3 < 2).float()
    losses = loss_of(objective, *sides, label=label, group=group, positive_group=group)
    losses.backward()
    assert torch.isfinite(losses)
    assert all(torch.isfinite(side.grad).all() and side.grad.any() for side in sides)
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in objective.parameters())


def test_every_leaf_is_tried_here():
    assert {p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.rglob("*.yaml")} == {
        *PAIRED,
        *NEEDS,
        "none",
    }


@pytest.mark.parametrize("leaf", NEEDS)
@on_both_devices
def test_one_that_cannot_names_what_it_needs(leaf, objective_of, loss_of):
    objective = objective_of(f"objective={leaf}")
    with pytest.raises(ValueError, match=NEEDS[leaf]):
        loss_of(objective, *three_pairs(torch.tensor(1.0)), label=torch.ones(3))
