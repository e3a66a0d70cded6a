"""Two towers for two kinds of text."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import EncodedBatch, Encoding, SparseRows
from twicetold.features.word_hashing import WordHashing
from twicetold.models.query_document import QueryDocument
from twicetold_lab.objectives.info_nce import InfoNce

TOWER = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0}
TITLES = ["bank cuts rate", "film wins award", "drug fails trial", "chip maker hires"]
BODIES = ["lender lowers interest", "movie takes prize", "medicine does nothing", "semiconductor firm grows"]


@pytest.fixture(params=[[8], None], ids=["layers", "sums"])
def model_of(request):
    def _model_of(directed, width):
        torch.manual_seed(0)
        return QueryDocument(width=width, hidden=request.param, embedding=6, directed=directed, **TOWER)

    return _model_of


@pytest.fixture
def rows():
    featuriser = WordHashing().fit([*TITLES, *BODIES])
    made = featuriser.transform([*TITLES, *BODIES, "?"])
    return lambda *texts: made.gather(np.array(texts, np.int64))


def shaken(model):
    """With a tower of documents that is another than that of queries."""
    with torch.no_grad():
        for parameter in model.document.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    return model


def in_role(model, features, role):
    return getattr(model.train().encode(features).extra, role)[:, 0]


def test_the_towers_begin_alike(model_of, rows):
    model = model_of(True, rows(0).width)
    features = rows(0, 1, 2, 3)
    torch.testing.assert_close(in_role(model, features, "query"), in_role(model, features, "document"))


def test_a_directed_score_is_of_the_left_text_as_query_and_the_right_one_as_document(model_of, rows):
    model = shaken(model_of(True, rows(0).width))
    left, right = rows(0, 1, 2, 3), rows(4, 5, 6, 7)
    expected = cosine_similarity(in_role(model, left, "query"), in_role(model, right, "document"))
    score = model.score(model.encode(left), model.encode(right))
    torch.testing.assert_close(score, expected)
    assert not torch.allclose(score, model.score(model.encode(right), model.encode(left)))


def test_otherwise_it_is_the_mean_of_both_directions(model_of, rows):
    model = shaken(model_of(False, rows(0).width))
    left, right = rows(0, 1, 2, 3), rows(4, 5, 6, 7)
    one = cosine_similarity(in_role(model, left, "query"), in_role(model, right, "document"))
    other = cosine_similarity(in_role(model, right, "query"), in_role(model, left, "document"))
    score = model.score(model.encode(left), model.encode(right))
    torch.testing.assert_close(score, (one + other) / 2)
    torch.testing.assert_close(score, model.score(model.encode(right), model.encode(left)))


def test_two_towers_learn_what_one_cannot_where_a_word_means_something_else_in_a_query(model_of):
    """The query `a` asks for the document `b`, and `b` for `a`; `a` is no answer to `a`."""
    model = shaken(model_of(True, 3))  # of towers that are alike, each would meet the other half-way and stay there
    columns = SparseRows(torch.arange(2) + 1, torch.arange(3), None, 3)
    swapped = SparseRows(torch.arange(2, 0, -1), torch.arange(3), None, 3)
    objective = InfoNce(temperature=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        objective(EncodedBatch(model.train().encode(columns), model.encode(swapped)))["loss"].backward()
        optimizer.step()
    encoding = model.eval().encode(columns)
    same, crossed = model.score(encoding, encoding), model.score(encoding, Encoding(encoding.embedding.flip(0)))
    assert (crossed > same + 1).all()
