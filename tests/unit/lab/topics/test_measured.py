"""Topics against labels."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from twicetold.topics.grouping import group_topics
from twicetold_lab.topics import measured
from twicetold_lab.topics.measured import measure_topics


def labelled(noise=0.3):
    random = np.random.default_rng(0)
    story = np.repeat(np.arange(40), 3)
    category = story % 4
    vectors = np.eye(8)[category] + noise * np.abs(random.normal(size=(120, 8)))
    return vectors.astype(np.float32), [f"word{c}" for c in category], {"category": category, "story": story}


def test_there_are_as_many_topics_as_labels_and_the_values_are_those_of_these_topics():
    vectors, texts, labels = labelled()
    found = measure_topics(vectors, texts, labels)
    assert {name: [*methods] for name, methods in found.items()} == {
        name: ["kmeans", "agglomerative"] for name in ("category", "story")
    }
    for name, count in (("category", 4), ("story", 40)):
        for method in ("kmeans", "agglomerative"):
            one = found[name][method]
            topics = group_topics(vectors, texts, count=count, method=method)
            assert one.metrics["count"] == count
            assert one.metrics["ari"] == pytest.approx(adjusted_rand_score(labels[name], topics.topic))
    assert set(found["story"]["kmeans"].deviations) == {"nmi", "v_measure", "ari"}
    assert found["story"]["agglomerative"].deviations == {}
    low, high = found["category"]["kmeans"].intervals["ari"]
    assert low <= found["category"]["kmeans"].metrics["ari"] <= high


def test_texts_without_a_label_are_left_out_and_a_label_of_all_is_none():
    vectors, texts, labels = labelled()
    category = np.where(np.arange(120) < 30, -1, labels["category"])
    found = measure_topics(vectors, texts, {"category": category, "story": labels["story"], "all": np.zeros(120, int)})
    assert set(found) == {"category", "story"}
    part = measure_topics(vectors[30:], texts[30:], {"category": category[30:], "story": labels["story"][30:]})
    assert part["category"]["kmeans"] == found["category"]["kmeans"]


def test_many_texts_are_grouped_by_kmeans_alone(monkeypatch):
    monkeypatch.setattr(measured, "MOST_AGGLOMERATED", 100)
    assert [*measure_topics(*labelled())["category"]] == ["kmeans"]
