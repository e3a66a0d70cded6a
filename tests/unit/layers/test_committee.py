"""A committee against its members, each by itself."""

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from twicetold.encoding import Encoding, SparseRows
from twicetold.layers.committee import committee_of, members_of
from twicetold.models.protocol import Rankable, Searchable
from twicetold.models.static import Static
from twicetold.models.static_mlp import StaticMlp

ROWS = SparseRows(torch.tensor([0, 1, 4, 2, 3, 1]), torch.tensor([0, 3, 5, 6, 6]), None, 5)
OTHERS = SparseRows(torch.tensor([1, 2, 2, 0]), torch.tensor([0, 1, 2, 3, 4]), None, 5)


def static(embedding=3):
    return Static(width=5, embedding=embedding, spread=0.5, input_dropout=0.0)


def static_mlp():
    settings = {"embedding": 4, "own": 2, "spread": 0.5, "input_dropout": 0.0, "head": [6], "dropout": 0.0}
    return StaticMlp(width=5, sharpness=2.0, **settings)


class PairsOnly(nn.Module):
    """A family that has no vector for a text."""

    def encode(self, features):
        return Encoding(torch.ones(len(features), 2))

    def score(self, left, right):
        return left.embedding.sum(1) + right.embedding.sum(1)


def scored(encoder):
    with torch.no_grad():
        return encoder.score(encoder.encode(ROWS), encoder.encode(OTHERS))


@pytest.mark.parametrize("make", [static, static_mlp, PairsOnly])
def test_the_score_is_the_mean_of_the_members_scores(make):
    members = [make() for _ in range(3)]
    torch.testing.assert_close(scored(committee_of(members)), torch.stack([*map(scored, members)]).mean(0))


def test_a_committee_of_one_is_its_member():
    member = static()
    assert committee_of([member]) is member
    assert members_of(member) == (member,)


def test_dot_products_of_a_searchable_committees_vectors_are_its_scores():
    committee = committee_of([static(3), static(4)])
    assert isinstance(committee, Searchable)
    (queries, _), (_, documents) = (committee.search_vectors(committee.encode(rows)) for rows in (ROWS, OTHERS))
    torch.testing.assert_close((queries * documents).sum(1), scored(committee))


def test_a_rankable_committee_ranks_by_the_mean_of_the_members_cosines():
    members = [static_mlp(), static_mlp()]
    committee = committee_of(members)
    assert isinstance(committee, Rankable)
    assert not isinstance(committee, Searchable)
    queries, documents = committee.ranking_vectors(committee.encode(ROWS))
    assert queries is documents
    each = [normalize(member.encode(ROWS).embedding) for member in members]
    torch.testing.assert_close(queries @ documents.T, sum(one @ one.T for one in each) / 2)


def test_a_committee_can_do_what_all_its_members_can():
    assert not isinstance(committee_of([PairsOnly(), static_mlp()]), Rankable | Searchable)
    assert not isinstance(committee_of([static(), static_mlp()]), Rankable | Searchable)


def test_members_of_members_are_trained_each_by_itself():
    one, two, three = static(), static(), static()
    assert members_of(committee_of([committee_of([one, two]), three])) == (one, two, three)
