"""The primary metric of labelled pairs over all pairs of their texts."""

from itertools import combinations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from twicetold.features.bag_of_words import BagOfWords
from twicetold.models.static import Static
from twicetold.trained.reading import EncodedTexts, in_use
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.scoring.duplicates import duplicate_groups, primary_value

OF_CORPUS = {"documents": "auroc_category", "labelled_pairs": "average_precision_cluster", "graded_pairs": "pearson"}


def read_by(corpus, encoder_class=Static):
    rows = BagOfWords().fit(corpus.texts_of("train")).transform(corpus.texts.to_pylist())
    torch.manual_seed(0)
    return EncodedTexts(encoder_class(width=rows.width, embedding=6, init_std=0.5, input_dropout=0.0), rows)


def test_epochs_may_be_selected_by_average_precision_over_all_pairs_of_texts(questions):
    read, members = read_by(questions), questions.members["val"]
    name, value = primary_value(read, questions, Selection(OF_CORPUS))
    left, right = in_use(read.encoder).search_matrices(read.rows, members)
    _, group = duplicate_groups(questions, "val", classes=["category"])
    pairs = list(combinations(range(len(members)), 2))
    expected = average_precision_score([group[i] == group[j] for i, j in pairs], [left[i] @ right[j] for i, j in pairs])
    assert name == "average_precision_cluster"
    assert value == pytest.approx(expected, abs=1e-3)
    assert primary_value(read, questions, Selection())[0] == "auroc"


def test_of_more_texts_than_are_compared_each_with_each_a_sample_is(questions):
    read, most = read_by(questions), len(questions.members["val"]) - 1
    found = primary_value(read, questions, Selection(OF_CORPUS), at_most=most)
    assert found == primary_value(read, questions, Selection(OF_CORPUS), at_most=most)
    assert np.isfinite(found[1])


def test_a_family_without_vectors_cannot_be_selected_so(questions):
    class OfPairs:
        searchable = False

    with pytest.raises(
        TypeError, match=r"labelled_pairs=average_precision_cluster is over all pairs of texts, and this"
    ):
        primary_value(OfPairs(), questions, Selection(OF_CORPUS))
