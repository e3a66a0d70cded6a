"""Pairs of another dataset, to train on beside a corpus's own."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from twicetold.data.corpus import Corpus, Pairs
from twicetold.data.further import with_further_pairs
from twicetold.examples.batches import LabelledPairs
from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.cache import with_further

TEXTS = ["a man plays", "a man plays a guitar", "nobody plays", "it rains", "rain falls", "the sun shines"]
LEFT, RIGHT, GRADE = [0, 0, 3, 3], [1, 2, 4, 5], [5, 0, 4, 1]


@pytest.fixture
def other(questions):
    """Four graded pairs in train, of two clusters; from grade 4 on they say the same."""

    def pairs(left, right, grade):
        return Pairs(np.array(left), np.array(right), np.array(grade, np.float32))

    return Corpus(
        name="other",
        kind="graded_pairs",
        ids=pa.array([f"o{i}" for i in range(10)]),
        texts=pa.array([*TEXTS, *(f"of no train pair {i}" for i in range(4))]),
        groups={"cluster": np.array([0, 0, 1, 2, 2, 3, -1, -1, -1, -1])},
        members={"train": np.arange(6), "val": np.array([6, 7]), "test": np.array([8, 9])},
        pairs={"train": pairs(LEFT, RIGHT, GRADE), "val": pairs([6], [7], [5]), "test": pairs([8], [9], [5])},
        card={"positive_grade": 4},
    )


def said(corpus):
    """The further pairs in words."""
    texts, pairs = corpus.further.texts.to_pylist(), corpus.further.pairs
    return [(texts[left], texts[right], label) for left, right, label in zip(pairs.left, pairs.right, pairs.label)]


def test_the_train_pairs_of_the_other_come_with_labels_0_and_1(questions, other):
    corpus = with_further_pairs(questions, other)
    grades = zip(LEFT, RIGHT, GRADE)
    assert said(corpus) == [(TEXTS[left], TEXTS[right], float(grade >= 4)) for left, right, grade in grades]
    assert corpus.card["further_pairs"] == {"of": "other", "pairs": 4, "with_a_text_of_its_own": 0}
    assert corpus.texts is questions.texts
    assert corpus.train_digest() == questions.train_digest()


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_a_pair_with_a_text_of_the_corpus_is_left_out(questions, other, split):
    texts = [*TEXTS[:5], questions.texts_of(split)[3], *other.texts.to_pylist()[6:]]
    corpus = with_further_pairs(questions, replace(other, texts=pa.array(texts)))
    assert len(said(corpus)) == 3
    assert texts[5] not in corpus.further.texts.to_pylist()
    assert corpus.card["further_pairs"]["with_a_text_of_its_own"] == 1


def test_nothing_left_is_an_error_and_so_are_documents(questions, news, other):
    with pytest.raises(ValueError, match="all 35 train pairs of questions have a text that questions has as well"):
        with_further_pairs(questions, questions)
    for pair in ((questions, news), (news, other)):
        with pytest.raises(ValueError, match="further pairs are for pairs, but news is of documents"):
            with_further_pairs(*pair)


def test_they_are_saved_and_loaded_with_the_corpus_and_forgotten_without(questions, other, tmp_path):
    corpus = with_further_pairs(questions, other)
    corpus.save(tmp_path / "c")
    loaded = Corpus.load(tmp_path / "c")
    assert said(loaded) == said(corpus)
    np.testing.assert_array_equal(loaded.further.cluster, corpus.further.cluster)
    questions.save(tmp_path / "c")
    assert Corpus.load(tmp_path / "c").further is None


@pytest.mark.parametrize("duplicates_only", [False, True])
def test_they_are_examples_after_the_labelled_pairs_in_groups_of_their_own(questions, other, tmp_path, duplicates_only):
    leaf = LabelledPairs("random", "cluster", duplicates_only)
    own = leaf.index(questions, tmp_path)
    corpus = with_further_pairs(questions, other)
    index = leaf.index(corpus, tmp_path)
    for name in ("anchor", "positive", "label", "group", "positive_group"):
        np.testing.assert_array_equal(getattr(index, name)[: len(own)], getattr(own, name))
    texts = [*questions.texts.to_pylist(), *index.further]
    tail = range(len(own), len(index))
    found = [(texts[index.anchor[row]], texts[index.positive[row]], index.label[row]) for row in tail]
    assert found == [pair for pair in said(corpus) if pair[2] == 1 or not duplicates_only]
    group, positive_group = index.group[tail], index.positive_group[tail]
    assert set(group) | set(positive_group) < set(range(1 + own.group.max(), 100))
    np.testing.assert_array_equal(group == positive_group, index.label[tail] == 1)


def test_their_rows_are_those_of_their_words(questions, other, tmp_path):
    corpus = with_further_pairs(questions, other)
    index = LabelledPairs("random", "cluster").index(corpus, tmp_path)
    featuriser = BagOfWords().fit([*questions.texts_of("train"), *TEXTS])
    rows = with_further(featuriser, featuriser.transform(questions.texts.to_pylist()), index.further)
    alone = featuriser.transform([TEXTS[place] for place in RIGHT])
    assert rows.gather(index.positive[-4:]).indices.tolist() == alone.gather(np.arange(4)).indices.tolist()
