"""Multi-view DSSM of a query and items of several views, against its formula and its algorithm."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import Encoding
from twicetold.features.views import View, Views
from twicetold.features.word_hashing import WordHashing
from twicetold.models.mv_dssm_items import MultiViewItems

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
