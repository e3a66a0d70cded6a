"""The classifier of pairs against its formula, and what embeddings learn from it."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import EncodedBatch, Encoding, Roles
from twicetold_lab.objectives.pair_classes import PairClasses


def objective(**changes):
    return PairClasses(**{"embedding": 4, "classes": 3, **changes})


def pairs(size, *, seed=0, width=4):
    random = torch.Generator().manual_seed(seed)
    sides = [torch.randn(size, width, generator=random, dtype=torch.float64).requires_grad_() for _ in range(2)]
    return EncodedBatch(*map(Encoding, sides), label=torch.arange(size, dtype=torch.float32) % 3)


def test_the_loss_is_the_mean_of_one_pair_after_another():
    judged, batch = objective(), pairs(7)
    weight, bias = judged.weight.detach().double().numpy(), judged.bias.detach().double().numpy()
    losses, right = [], []
    for u, v, y in zip(batch.anchor.embedding, batch.positive.embedding, batch.label.int().tolist()):
        u, v = u.detach().numpy(), v.detach().numpy()
        logits = weight @ np.concatenate([u, v, abs(u - v)]) + bias
        losses.append(-np.log(np.exp(logits[y]) / np.exp(logits).sum()))
        right.append(logits.argmax() == y)
    found = judged(batch)
    assert found["loss"].item() == pytest.approx(np.mean(losses), rel=1e-12)
    assert found["right"].item() == pytest.approx(np.mean(right))


def test_gradients_are_those_of_finite_differences():
    judged, label = objective().double(), torch.tensor([0.0, 2.0, 1.0])
    sides = [side.embedding for side in (pairs(3).anchor, pairs(3, seed=1).positive)]

    def loss(u, v, weight):
        judged.weight.data = weight.data
        return torch.func.functional_call(
            judged, {"weight": weight}, EncodedBatch(Encoding(u), Encoding(v), label=label)
        )["loss"]

    assert torch.autograd.gradcheck(loss, (*sides, judged.weight.detach().clone().requires_grad_()))


def test_no_pair_gives_a_zero_that_back_propagates():
    batch = pairs(0)
    loss = objective()(batch)["loss"]
    loss.backward()
    assert loss.item() == 0
    assert batch.anchor.embedding.grad.shape == (0, 4)


def test_it_is_the_same_classifier_whatever_the_state_of_random_numbers():
    torch.manual_seed(1)
    one = objective()
    torch.manual_seed(2)
    assert torch.equal(one.weight, objective().weight)


def test_a_family_with_two_towers_has_premises_as_queries_and_hypotheses_as_documents():
    premise, hypothesis = torch.randn(2, 5, 1, 4, dtype=torch.float64).unbind()
    label = torch.arange(5) % 3.0

    def side(query, document):
        return Encoding(torch.zeros(5, 4), Roles(query, document))

    other = torch.full_like(premise, 9)
    towers = EncodedBatch(side(premise, other), side(other, hypothesis), label=label)
    plain = EncodedBatch(Encoding(premise[:, 0]), Encoding(hypothesis[:, 0]), label=label)
    assert objective()(towers)["loss"] == objective()(plain)["loss"]


def test_where_every_text_is_in_pairs_of_every_class_their_cosines_come_to_tell_the_classes():
    """Entailed texts come to lie nearer than neutral ones, and these nearer than contradictions."""
    story = torch.arange(24) // 2  # two texts of a story entail each other
    topic = torch.arange(24) // 6  # three stories of a topic are neutral
    left, right = torch.combinations(torch.arange(24)).T
    label = (story[left] == story[right]).float() + (topic[left] == topic[right])
    random = torch.Generator().manual_seed(0)
    texts = torch.nn.Parameter(torch.randn(24, 16, generator=random))
    judged = objective(embedding=16)
    optimizer = torch.optim.Adam([texts, *judged.parameters()], lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        found = judged(EncodedBatch(Encoding(texts[left]), Encoding(texts[right]), label=label))
        found["loss"].backward()
        optimizer.step()
    assert found["right"] == 1
    cosine = cosine_similarity(texts[left], texts[right])
    contradiction, neutral, entailment = (cosine[label == of].mean().item() for of in range(3))
    assert entailment > neutral + 0.1 > contradiction + 0.2


@pytest.mark.parametrize(
    ("label", "complaint"),
    [
        ([0.0, 0.5], "whole numbers from 0 to 2, and they go from 0 to 0.5"),
        ([0.0, 3.0], "go from 0 to 3: choose data=all_nli, or set objective.classes"),
        ([-1.0, 1.0], "go from -1 to 1"),
    ],
)
def test_labels_that_are_no_classes_are_refused(label, complaint):
    sides = [Encoding(torch.ones(2, 4)) for _ in range(2)]
    with pytest.raises(ValueError, match=complaint):
        objective()(EncodedBatch(*sides, label=torch.tensor(label)))


def test_vectors_of_another_size_are_answered_with_the_setting():
    with pytest.raises(ValueError, match=r"have 5 dimensions.*set objective\.embedding=5"):
        objective()(pairs(3, width=5))


def test_texts_without_pairs_are_refused():
    with pytest.raises(ValueError, match="choose examples=graded_pairs"):
        objective()(EncodedBatch(Encoding(torch.ones(2, 4)), label=torch.zeros(2)))


@pytest.mark.parametrize("setting", [{"classes": 1}, {"embedding": 0}])
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        objective(**setting)
