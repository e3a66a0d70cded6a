"""Cosines of weighted vectors, against the paper's formula one perspective and one pair at a time."""

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


def naively(match, u, v):
    """m of two vectors, as the paper writes it."""
    return torch.stack([cosine_similarity(w * u, w * v, dim=0) for w in match.weight])


def test_each_perspective_is_the_cosine_of_both_vectors_times_its_weights():
    match, (u, v) = layer(), vectors(2, 6)
    expected = torch.stack([naively(match, a, b) for a, b in zip(u, v)])
    torch.testing.assert_close(match(u, v), expected)
    inputs = [match.weight, u, v]
    actual, wanted = (torch.autograd.grad((m * m).sum(), inputs) for m in (match(u, v), expected))
    torch.testing.assert_close(actual, wanted)


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


def test_the_head_is_a_linear_layer_on_the_perspectives_that_starts_as_their_mean():
    scorer, (u, v) = head(), vectors(2, 6)
    alike = torch.stack([naively(scorer.perspectives, a, b) for a, b in zip(u, v)])
    torch.testing.assert_close(scorer.score(Encoding(u), Encoding(v)), 3 * alike.mean(1))
    with torch.no_grad():
        scorer.decide.weight.copy_(torch.arange(COUNT)[None])
        scorer.decide.bias.fill_(-2.0)
    expected = (alike * torch.arange(COUNT)).sum(1) - 2
    torch.testing.assert_close(scorer.score(Encoding(u), Encoding(v)), expected)
    assert torch.equal(scorer.score(Encoding(v), Encoding(u)), scorer.score(Encoding(u), Encoding(v)))


def test_documents_are_ranked_by_the_cosine_of_their_embeddings():
    scorer, (u, v) = head(), vectors(2, 6)
    queries, documents = scorer.search_vectors(Encoding(u))[0], scorer.search_vectors(Encoding(v))[1]
    torch.testing.assert_close((queries * documents).sum(1), cosine_similarity(u, v))
