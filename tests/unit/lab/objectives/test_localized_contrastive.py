"""The softmax over the pairs of one anchor against a naive loop and PyTorch's cross-entropy."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.localized_contrastive import LocalizedContrastive


def rows(score, label, group):
    nothing = Encoding(torch.zeros(len(label), 2))
    return EncodedBatch(
        nothing, nothing, label=torch.tensor(label), group=torch.tensor(group, dtype=torch.int64), score=score
    )


def scores(size, seed=0):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=random, dtype=torch.float64).requires_grad_()


def naive(score, label, group, temperature):
    losses = []
    for i, s in enumerate(score):
        others = [score[j] for j in range(len(score)) if group[j] == group[i] != -1 and label[j] <= 0.5]
        if label[i] > 0.5 and others:
            weights = [math.exp(x / temperature) for x in [s, *others]]
            losses.append(-math.log(weights[0] / sum(weights)))
    return sum(losses) / max(len(losses), 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_the_loss_is_the_mean_of_one_positive_after_another(seed, temperature):
    random = torch.Generator().manual_seed(seed)
    score = scores(25, seed)
    label = torch.randint(0, 2, (25,), generator=random).float().tolist()
    group = torch.randint(-1, 6, (25,), generator=random).tolist()
    found = LocalizedContrastive(temperature=temperature)(rows(score, label, group))["loss"]
    assert found.item() == pytest.approx(naive(score.tolist(), label, group, temperature), rel=1e-12)


def test_with_one_positive_of_each_anchor_it_is_the_cross_entropy_over_its_candidates():
    score = scores(12)
    label, group = [1.0, 0.0, 0.0, 0.0] * 3, [n // 4 for n in range(12)]
    found = LocalizedContrastive(temperature=0.5)(rows(score, label, group))["loss"]
    expected = cross_entropy(score.view(3, 4) / 0.5, torch.zeros(3, dtype=torch.long))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(loss, score, retain_graph=True)[0] for loss in (found, expected)))


def test_the_share_of_positives_that_come_first_is_told():
    batch = rows(torch.tensor([2.0, 1.0, 0.0, 1.0, 5.0]), [1.0, 0.0, 1.0, 0.0, 1.0], [0, 0, 1, 1, 2])
    assert LocalizedContrastive(temperature=1)(batch)["first"] == 0.5  # the last has no negative


@pytest.mark.parametrize(("label", "group"), [([], []), ([1.0, 1.0], [0, 0]), ([0.0, 0.0], [0, 0])])
def test_without_a_positive_that_has_a_negative_the_loss_is_a_zero_that_back_propagates(label, group):
    score = scores(len(label))
    loss = LocalizedContrastive(temperature=1)(rows(score, label, group))["loss"]
    loss.backward()
    assert loss == 0
    assert not score.grad.any()


def test_far_scores_keep_gradients_finite():
    score = torch.tensor([-1e4, 1e4], requires_grad=True)
    LocalizedContrastive(temperature=0.01)(rows(score, [1.0, 0.0], [0, 0]))["loss"].backward()
    assert score.grad.isfinite().all()
