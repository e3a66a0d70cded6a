"""Cosines of weighted vectors; the formula is asserted of the families that consist of them."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import Encoding
from twicetold.layers.perspectives import MultiPerspective, Perspectives

SIZE, COUNT = 5, 4


def layer(count=COUNT):
    torch.manual_seed(0)
    return Perspectives(count, SIZE).double()


def vectors(*shape):
    torch.manual_seed(1)
    return torch.randn(*shape, SIZE, dtype=torch.float64, requires_grad=True)


def test_a_zero_vector_matches_nothing_and_has_a_finite_gradient():
    match, u = layer(), torch.zeros(1, SIZE, dtype=torch.float64, requires_grad=True)
    found = match(u, vectors(1))
    found.sum().backward()
    assert found.tolist() == [[0.0] * COUNT]
    assert torch.isfinite(u.grad).all()
    assert torch.isfinite(match.weight.grad).all()


def test_cosines_have_all_digits_under_autocast():
    match = layer().float()
    u = vectors(3).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(match(u, u), torch.ones(3, COUNT))
        torch.testing.assert_close(match.between(u[None], u[None])[0].diagonal(dim1=1, dim2=2), torch.ones(COUNT, 3))


def test_no_perspective_is_an_error():
    with pytest.raises(ValueError, match="at least one perspective; got 0"):
        layer(0)


def head():
    torch.manual_seed(0)
    return MultiPerspective(size=SIZE, perspectives=COUNT, scale=3.0).double()


def test_the_head_starts_as_the_mean_of_the_perspectives_in_either_order():
    scorer, (u, v) = head(), vectors(2, 6)
    torch.testing.assert_close(scorer.score(Encoding(u), Encoding(v)), 3 * scorer.perspectives(u, v).mean(1))
    assert torch.equal(scorer.score(Encoding(v), Encoding(u)), scorer.score(Encoding(u), Encoding(v)))


def test_documents_are_ranked_by_the_cosine_of_their_embeddings():
    scorer, (u, v) = head(), vectors(2, 6)
    queries, documents = scorer.search_vectors(Encoding(u))[0], scorer.search_vectors(Encoding(v))[1]
    torch.testing.assert_close((queries * documents).sum(1), cosine_similarity(u, v))
