"""The families with a tower for either role."""

from functools import partial

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity, normalize

from twicetold.encoding import EncodedBatch, Encoding, Roles, SparseRows
from twicetold.models.dssm import Dssm
from twicetold.models.dual_encoder import DualEncoder
from twicetold.models.ict import Ict
from twicetold.models.query_document import QueryDocument
from twicetold_lab.objectives.in_batch import candidates

FAMILIES = {
    "dual_encoder": lambda: DualEncoder(width=30, words=8, hidden=8, embedding=6, dropout=0.0),
    "ict": lambda: Ict(width=30, embedding=6),
}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def family(request):
    torch.manual_seed(0)
    return request.param()


def rows(count, seed=0, length=5):
    random = np.random.default_rng(seed)
    indices = np.sort(random.integers(1, 30, (count, length)), axis=1).ravel()
    return SparseRows(torch.from_numpy(indices), torch.arange(count + 1) * length, None, 30)


def one_role(family, features, role):
    return getattr(family.train().encode(features).extra, role)[:, 0]


TOWER = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0}
BY_COSINE = {
    "dssm": lambda: Dssm(width=30, hidden=[8], embedding=6, shared=False, **TOWER),
    "query_document layers": lambda: QueryDocument(width=30, hidden=[8], embedding=6, directed=False, **TOWER),
    "query_document sums": lambda: QueryDocument(width=30, hidden=None, embedding=6, directed=False, **TOWER),
}


@pytest.mark.parametrize("family", FAMILIES | BY_COSINE)
def test_the_score_is_the_mean_of_both_directions(family):
    unit = partial(normalize, dim=1) if family in BY_COSINE else torch.clone
    family = (FAMILIES | BY_COSINE)[family]()
    with torch.no_grad():  # roles apart
        for name, parameter in family.document.named_parameters():
            parameter.add_(torch.randn_like(parameter) * (0.5 if "weight" in name else 0.0))
    left, right = rows(7), rows(7, seed=1)
    ql, dl = (unit(one_role(family, left, role)) for role in ("query", "document"))
    qr, dr = (unit(one_role(family, right, role)) for role in ("query", "document"))
    assert not torch.allclose(ql, dl)
    score = family.score(family.encode(left), family.encode(right))
    torch.testing.assert_close(score, ((ql * dr).sum(1) + (qr * dl).sum(1)) / 2)
    torch.testing.assert_close(score, family.score(family.encode(right), family.encode(left)))


@pytest.mark.parametrize("hidden", [[8], None], ids=["layers", "sums"])
def test_towers_begin_alike_and_a_directed_score_is_of_the_left_text_as_query_and_the_right_one_as_document(hidden):
    torch.manual_seed(0)
    family = QueryDocument(width=30, hidden=hidden, embedding=6, directed=True, **TOWER)
    left, right = rows(4), rows(4, seed=1)
    torch.testing.assert_close(one_role(family, left, "query"), one_role(family, left, "document"))
    with torch.no_grad():
        for parameter in family.document.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    expected = cosine_similarity(one_role(family, left, "query"), one_role(family, right, "document"))
    score = family.score(family.encode(left), family.encode(right))
    torch.testing.assert_close(score, expected)
    assert not torch.allclose(score, family.score(family.encode(right), family.encode(left)))


def test_in_batch_objectives_compare_queries_with_documents(family):
    with torch.no_grad():
        for parameter in family.document.parameters():
            parameter.mul_(-1)
    sides = [family.train().encode(rows(6, seed=seed)) for seed in range(3)]
    compared = candidates(EncodedBatch(*sides), unit_length=False)
    torch.testing.assert_close(compared.anchor, sides[0].extra.query[:, 0])
    expected = torch.cat([side.extra.document[:, 0] for side in sides[1:]])
    torch.testing.assert_close(compared.other, expected)
    turned = compared.turned()
    torch.testing.assert_close(turned.anchor @ turned.other.T, (compared.anchor @ compared.other[:6].T).T)


def test_texts_with_class_codes_are_queries_and_documents_too(family):
    encoded = family.train().encode(rows(6))
    compared = candidates(EncodedBatch(encoded, label=torch.tensor([0, 0, 1, -1, 2, 2])), unit_length=False)
    known = torch.tensor([0, 1, 2, 4, 5])
    torch.testing.assert_close(compared.anchor, encoded.extra.query[known, 0])
    torch.testing.assert_close(compared.other, encoded.extra.document[known, 0])


def test_an_embedding_of_several_views_is_compared_as_it_is():
    views = torch.randn(4, 3, 2)
    side = Encoding(views.flatten(1), Roles(views, views))
    assert candidates(EncodedBatch(side, side), unit_length=False).anchor is side.embedding


def test_dots_begin_soft_enough_for_a_softmax(family):
    queries, documents = (one_role(family, rows(40), role) for role in ("query", "document"))
    assert (queries @ documents.T).abs().max() <= 6**0.5 + 1e-5
