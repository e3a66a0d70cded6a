"""Lexical neighbours of the leaf `mining=neighbours` are current for a training by hand."""

from functools import partial

import numpy as np
import pytest
from hydra.utils import instantiate

from twicetold import layout
from twicetold.data.freshness import triplets_are_current
from twicetold.mining import lexical_neighbours, neighbour, random


@pytest.mark.parametrize("score", ["bm25", "tfidf"])
def test_they_are_the_neighbours_with_the_label_on_the_card(news, score):
    plain = neighbour.mine(news, seed=3, label="story", score=score)
    found = lexical_neighbours.mine(news, seed=3, label="story", score=score)
    for column in ("anchor", "positive", "negative"):
        np.testing.assert_array_equal(getattr(found, column), getattr(plain, column))
    assert found.card == {**plain.card, "label": "story"}


def test_what_the_leaf_mines_is_not_mined_again(news, composed, tmp_path):
    strategies = composed("prepare", "data=toy_news", "mining=neighbours").mining.strategies
    random.mine(news, seed=0, label="story", per_anchor=1).save(layout.mined_file(tmp_path, "random"))
    for name in ("bm25_neighbour", "tfidf_neighbour"):
        mine = instantiate(strategies[name])
        assert isinstance(mine, partial)
        mine(news, seed=0, label="story").save(layout.mined_file(tmp_path, name))
    assert triplets_are_current(tmp_path, news, label="story")
    assert not triplets_are_current(tmp_path, news, label="category")
