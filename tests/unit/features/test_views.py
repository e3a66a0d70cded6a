import numpy as np
import pytest

from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.bm25 import Bm25Weights
from twicetold.features.views import View, Views
from twicetold.features.word_hashing import WordHashing

COLUMNS = {"text": ["bank cuts rate", "film wins"], "publisher": ["Post", "Wire"], "hostname": ["post.example", ""]}


def dense(rows):
    return rows.to_scipy().toarray()


@pytest.fixture
def views():
    return Views(
        [
            View("words", ["text"], BagOfWords(max_df=1.0)),
            View("outlet", ["publisher", "hostname"], WordHashing()),
            View("bm25", ["text"], Bm25Weights()),
        ]
    )


def test_columns_of_the_views_lie_side_by_side(views):
    rows = dense(views.fit(COLUMNS).transform(COLUMNS))
    outlets = ["Post post.example", "Wire "]
    expected = [
        dense(featuriser.fit(texts).transform(texts))
        for featuriser, texts in (
            (BagOfWords(), COLUMNS["text"]),
            (WordHashing(), outlets),
            (Bm25Weights(), COLUMNS["text"]),
        )
    ]
    np.testing.assert_array_equal(np.hstack(expected), rows)
    assert views.shape["bounds"] == [0, *np.cumsum([part.shape[1] for part in expected])]
    assert views.shape["width"] == rows.shape[1]


def test_it_asks_for_the_fields_of_its_views(views):
    assert views.fields == ("hostname", "publisher")


def test_new_texts_may_come_without_the_other_fields(views):
    rows = dense(views.fit(COLUMNS).transform(["bank wins"]))
    _, start, end, _ = views.shape["bounds"]
    assert rows[0, :start].sum() == 2
    assert rows[0, start:end].sum() == 0


def test_a_corpus_without_the_fields_is_refused_with_a_way_out(views):
    with pytest.raises(ValueError, match=r"'outlet' reads \['publisher', 'hostname'\], .* features=views_text"):
        views.fit(COLUMNS["text"])


def test_the_card_holds_the_cards_of_the_views(views):
    card = views.fit(COLUMNS).card_
    assert set(card) == {"outlet"}
    assert card["outlet"]["words"] == 3
