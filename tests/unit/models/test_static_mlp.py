"""Static embeddings compared by a network: against the formula, text by text."""

import pytest
import torch
from torch.nn.functional import cosine_similarity, normalize

from twicetold.encoding import SparseRows
from twicetold.models.static_mlp import StaticMlp

ROWS = SparseRows(torch.tensor([0, 1, 4, 2, 3, 1]), torch.tensor([0, 3, 5, 6, 6]), None, 5)
"""Texts of three, two, one and no columns."""
BAGS = [[1, 1, 0, 0, 1], [0, 0, 1, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
PAIR = ((0, 3), (3, 5))  # entries of the first two


@pytest.fixture(params=[0, 3], ids=["one embedding for both", "some of it for the network alone"])
def model(request):
    torch.manual_seed(0)
    settings = {"init_std": 0.5, "input_dropout": 0.0, "head": [6], "dropout": 0.3, "scale": 2.0}
    return StaticMlp(width=5, embedding=4, own=request.param, **settings).eval()


def test_the_network_sees_difference_and_product_of_both_kinds_of_dimensions_at_their_length(model):
    left, right = (model.encode(SparseRows(ROWS.indices[a:b], torch.tensor([0, b - a]), None, 5)) for a, b in PAIR)
    u, v = (model.weight[ROWS.indices[a:b]].sum(0) for a, b in PAIR)
    ends = [slice(0, 4), slice(4, 7)] if model.own else [slice(0, 4)]
    long = [torch.cat([normalize(x[e], dim=0) * len(x[e]) ** 0.5 for e in ends]) for x in (u, v)]
    cosine = cosine_similarity(u[:4], v[:4], dim=0)
    seen = torch.cat([(long[0] - long[1]).abs(), long[0] * long[1], cosine[None]])
    expected = model.scale * cosine + model.head(seen).squeeze()
    torch.testing.assert_close(expected, model.score(left, right)[0])
    torch.testing.assert_close(model.score(left, right), model.score(right, left))


def test_the_cosine_and_what_ranks_documents_leave_the_networks_own_dimensions_out(model):
    encoding = model.encode(ROWS)
    queries, documents = model.search_vectors(encoding)
    assert queries is documents
    searched = model.weight[:, :4]
    torch.testing.assert_close(queries, normalize(searched.new_tensor(BAGS) @ searched))
