from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.data.sources import toy_questions

NOWHERE = Path("not-used")


@pytest.fixture(scope="module")
def corpus():
    return toy_questions.read(NOWHERE, name="toy_questions")


def test_each_question_stands_in_one_split_and_no_pair_occurs_twice_or_is_one_question(corpus):
    assert sorted(np.concatenate([corpus.members[split] for split in SPLITS]).tolist()) == list(range(len(corpus)))
    for pairs in corpus.pairs.values():
        ends = np.sort(np.stack([pairs.left, pairs.right]), axis=0)
        assert len(np.unique(ends, axis=1).T) == len(pairs)
        assert (ends[0] != ends[1]).all()


def test_train_has_no_different_pair_within_a_cluster(corpus):
    cluster, train = corpus.groups["cluster"], corpus.pairs["train"]
    np.testing.assert_array_equal(cluster[train.left] == cluster[train.right], train.label == 1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_words_alone_tell_some_duplicates_from_non_duplicates(seed):
    corpus = toy_questions.read(NOWHERE, name="toy_questions", seed=seed)
    assert 3_000 <= sum(map(len, corpus.pairs.values())) <= 4_000
    rows = TfidfVectorizer().fit(corpus.texts_of("train")).transform(corpus.texts.to_pylist())
    pairs = corpus.pairs["test"]
    score = rows[pairs.left].multiply(rows[pairs.right]).sum(axis=1).A1
    order = np.argsort(-score)
    hits = np.concatenate([[0], np.cumsum(2 * pairs.label[order] - 1)])  # right answers gained by one more "duplicate"
    accuracy = (hits.max() + np.count_nonzero(pairs.label == 0)) / len(pairs)
    assert 0.37 <= pairs.label.mean() <= 0.45
    assert 0.65 <= roc_auc_score(pairs.label, score) <= 0.80
    assert 0.60 <= accuracy <= 0.75


def test_twins_share_nearly_all_words_and_paraphrases_few(corpus):
    texts = [set(text.casefold().strip("?").split()) for text in corpus.texts.to_pylist()]
    pairs = corpus.pairs["train"]
    overlap = np.array([len(texts[a] & texts[b]) / len(texts[a] | texts[b])
                        for a, b in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)])  # fmt: skip
    assert (overlap[pairs.label == 0] > 0.6).mean() > 0.15
    assert (overlap[pairs.label == 1] < 0.4).mean() > 0.6


def test_the_card_counts_every_kind_of_negative(corpus):
    kinds = corpus.card["kinds"]
    assert set(kinds) >= {"duplicate", "name", "number", "direction", "attitude", "stranger"}
    assert sum(kinds.values()) == corpus.card["rows"] == sum(map(len, corpus.pairs.values()))
    assert kinds["duplicate"] == sum(int(p.label.sum()) for p in corpus.pairs.values())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"families": 2}, "got 2"), ({"families": 0}, "got 0"), ({"limit": 0}, "got 0"), ({"families": 9_000}, "no more")],
)
def test_sizes_that_cannot_be_filled_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        toy_questions.read(NOWHERE, name="toy_questions", **wrong)
