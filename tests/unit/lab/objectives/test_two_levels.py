import pytest
import torch
from torch.nn.functional import cosine_similarity, normalize, softplus

from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives import row_blocks
from twicetold_lab.objectives.two_levels import TwoLevels

SETTINGS = {"boundaries": [0.2, 0.6], "weights": [1.0, 3.0], "scale": 10.0}


def texts(size, seed=0):
    random = torch.Generator().manual_seed(seed)
    embedding = torch.randn(size, 5, generator=random, dtype=torch.float64).requires_grad_()
    story = torch.randint(-1, size // 3, (size,), generator=random)
    category = torch.where(story < 0, torch.randint(-1, 3, (size,), generator=random), story % 3)
    return embedding, category, story


def loss_of(embedding, category, story, **settings):
    return TwoLevels(**{**SETTINGS, **settings})(EncodedBatch(Encoding(embedding), label=category, group=story))


def by_loops(embedding, category, story, *, boundaries, weights, scale):
    vectors = normalize(embedding, dim=1)
    total = embedding.sum() * 0
    for codes, boundary, weight in zip((category.tolist(), story.tolist()), boundaries, weights):
        sides = {True: [], False: []}
        for i, one in enumerate(codes):
            for j, other in enumerate(codes):
                if i != j and one != -1 and other != -1:
                    gap = scale * (vectors[i] @ vectors[j] - boundary)
                    sides[one == other].append(softplus(-gap if one == other else gap))
        total = total + weight / scale * sum(torch.stack(side).mean() for side in sides.values() if side)
    return total


@pytest.mark.parametrize("block", [None, 7])
def test_loss_and_gradient_are_those_of_loops_over_all_pairs(block, monkeypatch):
    if block:
        monkeypatch.setattr(
            row_blocks, "_blocks", lambda a, _: [slice(s, min(s + block, len(a))) for s in range(0, len(a), block)]
        )
    embedding, category, story = texts(30)
    expected, actual = by_loops(embedding, category, story, **SETTINGS), loss_of(embedding, category, story)["loss"]
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(*(torch.autograd.grad(loss, embedding)[0] for loss in (actual, expected)))


def test_learning_orders_story_above_category_above_the_rest():
    torch.manual_seed(0)
    story = torch.arange(24) // 3
    category = story // 4
    embedding = torch.randn(24, 6, requires_grad=True)
    optimizer = torch.optim.Adam([embedding], lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        loss_of(embedding, category, story)["loss"].backward()
        optimizer.step()
    cosine = cosine_similarity(embedding[:, None], embedding[None], dim=2).detach()
    level = (category[:, None] == category).int() + (story[:, None] == story).int() + 5 * torch.eye(24).int()
    assert cosine[level == 2].min() > cosine[level == 1].max()
    assert cosine[level == 1].min() > cosine[level == 0].max()


def test_pairs_have_clusters_for_stories_and_no_categories():
    left, right = texts(12, seed=2)[0], texts(12, seed=3)[0]
    cluster = torch.arange(12) // 2
    batch = EncodedBatch(Encoding(left), Encoding(right), group=cluster, positive_group=cluster)
    losses = TwoLevels(**SETTINGS)(batch)
    both = loss_of(torch.cat([left, right]), torch.full((24,), -1), cluster.repeat(2))
    torch.testing.assert_close(losses["loss"], both["loss"])
    assert losses["category"] == 0
