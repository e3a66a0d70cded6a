from functools import partial

import numpy as np
import pytest
from hydra.utils import instantiate
from sklearn.feature_extraction.text import TfidfVectorizer

from small_corpora import documents_of
from twicetold import layout
from twicetold_lab.data.freshness import triplets_are_current
from twicetold_lab.mining import bm25, neighbour, random


def test_the_tfidf_neighbour_is_the_other_text_of_the_highest_cosine(crowd):
    triplets = neighbour.mine(documents_of(crowd), seed=0, label="g", score="tfidf")
    rows = TfidfVectorizer(sublinear_tf=True).fit_transform(crowd)
    cosine = (rows @ rows.T).toarray()
    cosine[np.array(crowd)[:, None] == np.array(crowd)] = -1
    best = cosine.max(1)
    np.testing.assert_allclose(cosine[triplets.anchor, triplets.positive], best[triplets.anchor], rtol=1e-5)
    assert set(triplets.anchor.tolist()) == set(np.flatnonzero(best > 0).tolist())


def test_the_bm25_neighbour_is_the_first_of_its_list(crowd):
    triplets = neighbour.mine(documents_of(crowd), seed=0, label="g", score="bm25")
    queries, scores = bm25.bm25_weights(crowd)
    found = (queries @ scores).toarray()
    found[np.array(crowd)[:, None] == np.array(crowd)] = -1
    np.testing.assert_allclose(found[triplets.anchor, triplets.positive], found.max(1)[triplets.anchor], rtol=1e-5)


@pytest.mark.parametrize("score", ["bm25", "tfidf"])
def test_a_copy_is_no_neighbour_and_the_third_text_is_another(score):
    texts = ["blue sky", "blue sky", "blue sea", "red car", "red bus", "?!"]
    triplets = neighbour.mine(documents_of(texts), seed=0, label="g", score=score)
    for anchor, positive, negative in zip(triplets.anchor, triplets.positive, triplets.negative, strict=True):
        assert len({texts[anchor], texts[positive], texts[negative]}) == 3
        assert texts[anchor].split()[0] == texts[positive].split()[0]
    assert triplets.card["texts_without_neighbour"] == 1


@pytest.mark.parametrize("score", ["bm25", "tfidf"])
def test_the_size_of_the_batches_changes_nothing(crowd, score, monkeypatch):
    corpus = documents_of(crowd)
    whole = neighbour.mine(corpus, seed=0, label="g", score=score)
    monkeypatch.setattr(bm25, "PRODUCTS", 500)
    pieces = neighbour.mine(corpus, seed=0, label="g", score=score)
    np.testing.assert_array_equal(whole.positive, pieces.positive)
    assert whole.card == pieces.card


def test_the_card_says_how_many_guesses_the_labels_confirm(crowd):
    triplets = neighbour.mine(documents_of(crowd), seed=0, label="g", score="bm25")
    right = (triplets.anchor // 2 == triplets.positive // 2).sum()
    assert triplets.card["positives"] == {"of_known_group": len(triplets), "of_the_anchors_group": right}


@pytest.mark.parametrize("texts", [["?!", "...", "--"], ["blue sky", "red car", "old bus"], ["blue sky"] * 3])
@pytest.mark.parametrize("score", ["bm25", "tfidf"])
def test_a_corpus_without_neighbours_says_so(texts, score):
    with pytest.raises(ValueError, match="no train text of 'small' shares a word"):
        neighbour.mine(documents_of(texts), seed=0, label="g", score=score)


def test_an_unknown_score_is_refused(crowd):
    with pytest.raises(ValueError, match=r"score is one of .* got 'cosine'"):
        neighbour.mine(documents_of(crowd), seed=0, label="g", score="cosine")


def test_what_the_leaf_mines_is_current_for_a_training_by_hand(news, composed, tmp_path):
    strategies = composed("prepare", "data=toy_news", "mining=neighbours").mining.strategies
    random.mine(news, seed=0, label="story", per_anchor=1).save(layout.mined_file(tmp_path, "random"))
    for name in ("bm25_neighbour", "tfidf_neighbour"):
        mine = instantiate(strategies[name])
        assert isinstance(mine, partial)
        mine(news, seed=0, label="story").save(layout.mined_file(tmp_path, name))
    assert triplets_are_current(tmp_path, news, label="story")
    assert not triplets_are_current(tmp_path, news, label="category")
