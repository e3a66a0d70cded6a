import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from small_corpora import corpus_of
from twicetold_lab.data.corpus import UNKNOWN, Pairs
from twicetold_lab.data.sources import audit


def pair_corpus(kind="labelled_pairs", grades=(1, 0, 1, 0)):
    texts = ["a", "b", "c", "d", "e", "a", "f", "g"]  # 5 is another text with the words of 0
    pairs = {
        "train": Pairs(np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([1, 1, 0], np.float32)),
        "val": Pairs(np.array([6, 6]), np.array([7, 7]), np.array([1, 0], np.float32)),
        "test": Pairs(np.array([0, 0, 5, 6]), np.array([2, 3, 1, 7]), np.array(grades, np.float32)),
    }
    groups = {"cluster": np.array([0, 0, 0, 1, 2, UNKNOWN, UNKNOWN, UNKNOWN])}
    return corpus_of(texts, kind=kind, groups=groups, pairs=pairs)


def test_the_pair_audit_counts_what_train_gives_away():
    found = audit(pair_corpus())["test"]
    assert found["texts_in_train"] == pytest.approx(4 / 7, abs=1e-6)
    assert found["equal_texts_in_train"] == pytest.approx(5 / 7, abs=1e-6)  # text 5 reads like text 0
    assert found["pairs_with_both_texts_in_train"] == 0.5  # (0, 2) and (0, 3)
    assert found["equal_pairs_in_train"] == 0.25  # (5, 1) reads like (0, 1)
    assert found["closure_coverage"] == 0.25  # (0, 2)
    assert found["closure_label_mean"] == 1.0
    assert found["identical_pairs"] == 0.0


def test_the_frequency_auroc_is_that_of_the_train_degrees():
    degree = np.array([1, 2, 1, 1, 1, 0, 0, 0])
    pairs = pair_corpus().pairs["test"]
    found = audit(pair_corpus())["test"]
    expected = roc_auc_score(pairs.label, degree[pairs.left] + degree[pairs.right])
    assert found["frequency_auroc_sum"] == pytest.approx(expected)
    assert found["frequency_auroc_min"] == roc_auc_score(pairs.label, [1, 1, 0, 0])


def test_a_split_of_unseen_texts_gives_nothing_away():
    found = audit(pair_corpus())["val"]
    assert found["texts_in_train"] == found["closure_coverage"] == 0.0
    assert found["closure_label_mean"] is None
    assert found["frequency_auroc_min"] == 0.5


def test_one_class_alone_has_no_auroc_and_grades_have_none_at_all():
    assert audit(pair_corpus(grades=(1, 1, 1, 1)))["test"]["frequency_auroc_min"] is None
    assert "frequency_auroc_min" not in audit(pair_corpus("graded_pairs", (5, 1, 4, 0)))["test"]


def test_the_document_audit_counts_shared_stories_texts_and_overlap_in_time():
    corpus = corpus_of(
        ["a", "b", "c", "a", "e", "f"],
        groups={"story": np.array([0, 1, 2, 0, 2, UNKNOWN])},
        members={"train": np.array([0, 1]), "val": np.array([2]), "test": np.array([3, 4, 5])},
    )
    found = audit(corpus, time=np.array([1, 5, 9, 2, 7, 4]))
    assert found["test"] == {
        "equal_texts_in_train": pytest.approx(1 / 3, abs=1e-6),
        "stories_in_train": 0.5,
        "texts_of_train_stories": 0.5,
        "texts_before_end_of_train": pytest.approx(2 / 3, abs=1e-6),
    }
    assert "texts_before_end_of_train" not in audit(corpus)["test"]
    json.dumps(found)
