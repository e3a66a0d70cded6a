"""Maps of topics."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from twicetold.topics.grouping import group_topics
from twicetold_lab.topics.plane import plane, topic_map


def test_coordinates_are_those_of_scikit_learn_where_each_topic_counts_as_often_as_it_has_texts():
    random = np.random.default_rng(0)
    centres, size = random.normal(size=(7, 5)), random.integers(1, 9, 7)
    golden = PCA(2).fit(np.repeat(centres, size, axis=0))
    found, kept = plane(centres, size.astype(float))
    assert np.abs(found) == pytest.approx(np.abs(golden.transform(centres)), abs=1e-8)
    assert kept == pytest.approx(golden.explained_variance_ratio_.sum())
    of_sparse, _ = plane(sparse.csr_matrix(centres), size.astype(float))
    assert of_sparse == pytest.approx(found)
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all(), "the longest end of each axis is up"


def test_few_topics_and_equal_ones_have_a_place():
    assert plane(np.empty((0, 3)), np.empty(0))[0].shape == (0, 2)
    assert plane(np.eye(1), np.ones(1))[0].tolist() == [[0, 0]]
    two, kept = plane(np.eye(2), np.ones(2))
    assert np.abs(two) == pytest.approx(np.array([[0.5**0.5, 0], [0.5**0.5, 0]]), abs=1e-6)
    assert kept == pytest.approx(1)
    equal, kept = plane(np.ones((3, 2)), np.ones(3))
    assert equal == pytest.approx(np.zeros((3, 2)), abs=1e-6)
    assert kept == 1


def test_a_topic_has_the_label_that_most_of_its_texts_have():
    vectors = np.repeat(np.eye(3, dtype=np.float32), [4, 3, 2], axis=0)
    texts = ["bank"] * 4 + ["film"] * 3 + ["drug"] * 2
    label = np.array([0, 0, 1, -1, 1, 1, 1, -1, -1])
    found = topic_map(group_topics(vectors, texts, count=3), label, ["business", "film"])
    assert [(t.name, t.size, t.label, t.share) for t in found.topics] == [
        ("bank", 4, "business", pytest.approx(2 / 3, abs=1e-4)),
        ("film", 3, "film", 1.0),
        ("drug", 2, None, 0.0),
    ]
