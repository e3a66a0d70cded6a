"""Multi-view DSSM of a query and items of several views, against its formula and its algorithm."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.features.views import View, Views
from twicetold.features.word_hashing import WordHashing
from twicetold.models.mv_dssm_items import MultiViewItems
from twicetold_lab.objectives.combined import Alternating
from twicetold_lab.objectives.info_nce import InfoNce

TOWER = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0}
COLUMNS = {
    "text": ["bank cuts rate", "film wins award", "drug fails trial", "chip maker hires", "rate cut by bank", "?"],
    "publisher": ["Post", "Wire", "Post", "", "Ledger", "Post"],
    "url_slug": ["bank rate", "award", "trial drug", "", "", "award"],
}
TEXTS = len(COLUMNS["text"])


@pytest.fixture
def built():
    views = [View("headline", ["text"], WordHashing()), View("outlet", ["publisher"], WordHashing())]
    views = Views([*views, View("slug", ["url_slug"], WordHashing(words=1))]).fit(COLUMNS)
    torch.manual_seed(0)
    model = MultiViewItems(**views.shape, hidden=[8], embedding=4, **TOWER)
    rows = views.transform(COLUMNS)
    with torch.no_grad():  # biases that are not zero, and a query's tower of its own, as after training
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
    return model, rows.gather(np.arange(TEXTS)), views


def test_a_query_is_scored_against_the_mean_of_the_views_that_an_item_has(built):
    model, rows, _ = built
    encoding = model.train().encode(rows)
    query, items = encoding.extra.query[:, 0], encoding.extra.document
    has = [[text != "?", publisher != "", slug != ""] for text, publisher, slug in zip(*COLUMNS.values())]
    for left in range(TEXTS):
        for right in range(TEXTS):

            def way(q, d):
                cosines = [cosine_similarity(query[q], items[d, m], dim=0) for m in range(3) if has[d][m]]
                return sum(cosines) / len(cosines)

            one, other = (Encoding(encoding.embedding[[n]]) for n in (left, right))
            torch.testing.assert_close((way(left, right) + way(right, left)) / 2, model.score(one, other)[0])


def test_a_view_that_an_item_lacks_is_no_part_of_its_vector(built):
    model, rows, _ = built
    encoding = model.train().encode(rows)
    assert not encoding.extra.document[3, 1:].any()
    item = encoding.embedding[3, 4:] * 2**0.5
    torch.testing.assert_close(item, encoding.extra.document[3, 0])


def test_an_item_of_which_the_text_alone_is_known_is_scored_by_its_text(built):
    model, _, views = built
    alone = views.transform(COLUMNS["text"]).gather(np.arange(TEXTS))
    encoding = model.train().encode(alone)
    items = encoding.extra.document
    assert items[:5, 0].any(1).all()
    assert not items[:, 1:].any()
    expected = cosine_similarity(encoding.extra.query[0, 0], items[0, 0], dim=0)
    torch.testing.assert_close(model.score(encoding, encoding)[0], expected)


def test_the_tower_of_queries_begins_as_that_of_the_view_it_reads():
    model = MultiViewItems(width=9, bounds=[0, 4, 9], hidden=[8], embedding=4, **TOWER)
    for name, parameter in model.query.named_parameters():
        assert torch.equal(parameter, model.items[0].get_parameter(name))


def test_each_step_of_a_round_trains_the_tower_of_one_view_and_that_of_queries(built):
    model, rows, views = built
    turned = views.transform({name: [*column[1:], column[0]] for name, column in COLUMNS.items()})
    others = turned.gather(np.arange(TEXTS))
    objective = Alternating(each=InfoNce(temperature=0.1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        optimizer.zero_grad()
        objective(EncodedBatch(model.train().encode(rows), model.encode(others)))["loss"].backward()
        optimizer.step()
        moved = {
            name.rpartition(".layers")[0] or name.rpartition(".hashing")[0] or name.rpartition(".bias")[0]
            for name, parameter in model.named_parameters()
            if not torch.equal(parameter, before[name])
        }
        assert moved == {"query", f"items.{step % 3}"}
