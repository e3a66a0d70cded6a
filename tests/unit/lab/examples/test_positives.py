from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features.bag_of_words import BagOfWords
from twicetold_lab.examples.batches import EpochBatches
from twicetold_lab.examples.labelled import LabelledTexts
from twicetold_lab.examples.positives import DropoutTwins, GroupPairs, InverseCloze, Neighbours, sentences_of
from twicetold_lab.mining.triplets import Triplets
from twicetold_lab.scoring.cache import with_extra_texts


def with_texts(corpus, texts):
    """The same corpus with other texts in train."""
    return replace(corpus, texts=pa.array([*texts, *corpus.texts.to_pylist()[len(texts) :]]))


@pytest.fixture
def articles(news):
    """Articles of four sentences each."""
    return with_texts(news, [" ".join(f"S{part} of {number}." for part in "abcd") for number in range(36)])


@pytest.mark.parametrize("group", ["story", "category"])
def test_group_pairs_join_each_text_with_others_of_its_group(news, tmp_path, group):
    index = GroupPairs(group, per_text=2, seed=0).index(news, tmp_path)
    codes = news.groups[group]
    assert (index.anchor != index.positive).all()
    assert (codes[index.anchor] == codes[index.positive]).all()
    assert set(index.anchor.tolist()) == set(news.members["train"].tolist())
    assert np.bincount(index.anchor)[:36].tolist() == [2] * 36
    assert len(set(zip(index.anchor.tolist(), index.positive.tolist()))) == len(index)
    assert index.group.tolist() == index.positive_group.tolist() == codes[index.anchor].tolist()


def test_stories_and_categories_come_together_in_a_batch(news, tmp_path):
    index = LabelledTexts("category", together=3, group="story").index(news, tmp_path)
    assert index.label.tolist() == news.groups["category"][index.anchor].tolist()
    assert index.group.tolist() == news.groups["story"][index.anchor].tolist()
    for batch in EpochBatches(index, batch_size=12, seed=0):
        assert np.unique(index.group[batch], return_counts=True)[1].tolist() == [3] * 4


def test_neighbours_of_neighbours_and_copies_are_of_one_group(news, tmp_path):
    corpus = with_texts(news, ["a b", "a b c", "c d", "a b", "x y", "x z"])
    found = [np.array(side) for side in ((0, 1, 2, 4), (1, 2, 1, 5), (4, 4, 4, 0))]
    Triplets(*found, card={"train": corpus.train_digest()}).save(tmp_path / "bm25_neighbour.parquet")
    index = Neighbours("bm25_neighbour").index(corpus, tmp_path)
    assert index.positive.tolist() == [1, 2, 1, 5]
    assert index.group.tolist() == index.positive_group.tolist()
    assert len(set(index.group[:3].tolist())) == 1
    assert index.group[3] != index.group[0]
    assert index.negative is None


def test_neighbours_that_were_not_mined_name_the_command(news, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mine\.py data=news mining=neighbours"):
        Neighbours("tfidf_neighbour").index(news, tmp_path)


def test_twins_are_one_text_twice_and_copies_of_it_are_no_negatives(news, tmp_path):
    corpus = with_texts(news, ["same words", "other words", "same words"])
    index = DropoutTwins().index(corpus, tmp_path)
    assert index.anchor.tolist() == index.positive.tolist() == corpus.members["train"].tolist()
    assert index.group[0] == index.group[2] != index.group[1]


@given(st.lists(st.lists(st.text("abC", min_size=1), min_size=1), min_size=1, max_size=5))
def test_sentences_put_together_again_are_the_text(parts):
    sentences = [f"A {' '.join(words)}{end}" for words, end in zip(parts, "..!?.")]
    assert sentences_of(" ".join(sentences)) == sentences


def test_sentences_end_at_marks_before_a_space_after_quotes_and_at_ends_of_lines():
    text = 'He said "go." Then 3.5 m of E. coli passed\nReally? Yes'
    assert sentences_of(text) == ['He said "go."', "Then 3.5 m of E. coli passed", "Really?", "Yes"]


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_each_sentence_is_a_query_and_its_evidence_is_the_rest_or_the_whole(articles, tmp_path, rate):
    index = InverseCloze(rate, block=10, seed=0).index(articles, tmp_path)
    texts = [*articles.texts.to_pylist(), *index.extra_texts]
    assert len(index) == 4 * 36
    for query, evidence, group in zip(index.anchor, index.positive, index.group):
        article = texts[group]
        expected = article if rate == 0 else " ".join(s for s in sentences_of(article) if s != texts[query])
        assert texts[query] in sentences_of(article)
        assert texts[evidence] == expected


def test_the_query_is_removed_at_the_masking_rate(articles, tmp_path):
    index = InverseCloze(0.9, block=10, seed=0).index(articles, tmp_path)
    texts = [*articles.texts.to_pylist(), *index.extra_texts]
    removed = [texts[query] not in texts[evidence] for query, evidence in zip(index.anchor, index.positive)]
    assert np.mean(removed) == pytest.approx(0.9, abs=0.05)
    again = InverseCloze(0.9, block=10, seed=0).index(articles, tmp_path)
    assert again.extra_texts == index.extra_texts


def test_long_texts_are_cut_into_blocks_and_a_block_of_one_sentence_is_dropped(articles, tmp_path):
    index = InverseCloze(1.0, block=3, seed=0).index(articles, tmp_path)
    assert len(index) == 3 * 36
    assert max(len(sentences_of(text)) for text in index.extra_texts) == 2


@pytest.mark.parametrize("texts", [None, ["One. Two."] * 12])
def test_a_corpus_of_single_sentences_is_refused_and_the_ways_out_are_named(news, tmp_path, texts):
    corpus = news if texts is None else with_texts(news, texts)
    with pytest.raises(ValueError, match=r"only \d+ of the 36 train texts of news have more than one: .*toy_articles"):
        InverseCloze(0.9, block=10, seed=0).index(corpus, tmp_path)


@pytest.mark.parametrize("settings", [{"masking_rate": 1.1, "block": 10}, {"masking_rate": 0.9, "block": 1}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ValueError, match="got"):
        InverseCloze(**settings, seed=0)


def test_further_texts_get_rows_after_those_of_the_corpus(articles, tmp_path):
    index = InverseCloze(0.9, block=10, seed=0).index(articles, tmp_path)
    featuriser = BagOfWords().fit(articles.texts_of("train"))
    rows = featuriser.transform(articles.texts.to_pylist())
    more = with_extra_texts(featuriser, rows, index.extra_texts)
    chosen = index.anchor[[5, 0]]
    expected = featuriser.transform([index.extra_texts[n - len(articles)] for n in chosen]).gather(np.arange(2))
    assert more.gather(chosen).indices.tolist() == expected.indices.tolist()
    assert more.gather(np.arange(60)).indices.tolist() == rows.gather(np.arange(60)).indices.tolist()
    assert with_extra_texts(featuriser, rows, None) is rows
