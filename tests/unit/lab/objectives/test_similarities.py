"""Objectives on graded similarities against naive loops, the squared error of torch and the correlation of NumPy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity

from twicetold.encoding import EncodedBatch, Encoding, Roles
from twicetold_lab.objectives.similarities import Correlation, SimilarityMse


def side(size, seed, *, towers=False):
    random = torch.Generator().manual_seed(seed)
    embedding, query, document = torch.randn(3, size, 5, generator=random, dtype=torch.float64)
    return Encoding(embedding, Roles(query[:, None], document[:, None]) if towers else None)


@given(size=st.integers(1, 9), seed=st.integers(0, 1000), towers=st.booleans(), triplets=st.booleans())
def test_the_loss_equals_a_naive_loop_over_pairs_or_over_margins_of_triplets(size, seed, towers, triplets):
    sides = [side(size, seed + place, towers=towers) for place in range(2 + triplets)]
    label = torch.rand(size, generator=torch.Generator().manual_seed(seed))
    query = sides[0].extra.query[:, 0] if towers else sides[0].embedding
    documents = [one.extra.document[:, 0] if towers else one.embedding for one in sides[1:]]
    losses = []
    for row in range(size):
        near, *far = (cosine_similarity(query[row], one[row], dim=0).item() for one in documents)
        losses.append((near - sum(far) - label[row].item()) ** 2)
    assert SimilarityMse()(EncodedBatch(*sides, label=label))["loss"].item() == pytest.approx(sum(losses) / size)


SIDE = Encoding(torch.zeros(6, 2))
GRADE = torch.tensor([5.0, 0, 3.2, 1, 4, 2])


def loss_of(score, grade=GRADE):
    return Correlation()(EncodedBatch(anchor=SIDE, positive=SIDE, label=grade, score=score))["loss"]


def test_it_is_one_minus_the_correlation_of_numpy_whatever_the_scale():
    score = torch.randn(6, generator=torch.Generator().manual_seed(0))
    expected = 1 - np.corrcoef(score.numpy(), GRADE.numpy())[0, 1]
    assert loss_of(score).item() == pytest.approx(expected, abs=1e-6)
    assert loss_of(0.1 * score - 3).item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("size", [0, 1, 6])
def test_scores_that_are_all_alike_have_a_finite_gradient(size):
    score = torch.ones(size, requires_grad=True)
    loss = loss_of(score, GRADE[:size])
    loss.backward()
    assert loss.item() == 1
    assert score.grad.isfinite().all()
