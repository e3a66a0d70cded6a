"""Topics against labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, v_measure_score

from twicetold.topics.grouping import group_topics
from twicetold_lab.topics import measured
from twicetold_lab.topics.measured import MEASURES, agreement, measure_topics, without_each


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


codes = st.integers(1, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 4), min_size=n, max_size=n) for _ in range(3)])
)


def golden(predicted, label):
    return {
        "nmi": normalized_mutual_info_score(label, predicted, average_method="geometric"),
        "v_measure": v_measure_score(label, predicted),
        "ari": adjusted_rand_score(label, predicted),
    }


@given(codes)
def test_measures_are_those_of_scikit_learn_also_without_each_unit(drawn):
    predicted, label, unit = map(np.asarray, drawn)
    found = agreement(predicted, label, unit)
    assert {name: found.values[name] for name in MEASURES} == pytest.approx(golden(predicted, label), abs=1e-9)
    left = without_each(predicted, label, unit)
    for place, one in enumerate(np.unique(unit)):
        others = unit != one
        values = {name: left[name][place] for name in MEASURES}
        if others.any():
            assert values == pytest.approx(golden(predicted[others], label[others]), abs=1e-9)
        else:
            assert np.isnan([*values.values()]).all()


def drawn_topics(rng, stories, right=0.7, kinds=4):
    """Stories of one to twelve texts, each of a category; a text is in its category's topic or in any."""
    size = rng.geometric(0.3, stories).clip(max=12)
    category, story = rng.integers(0, kinds, stories), np.repeat(np.arange(stories), size)
    moved = np.where(rng.random(stories) < right, category, rng.integers(0, kinds, stories))
    topic = np.where(rng.random(len(story)) < right, moved[story], rng.integers(0, kinds, len(story)))
    return topic, category[story], story


def drawn_small_topics(rng, stories):
    """Topics that are the stories themselves, some of them joined and some of their texts alone."""
    size = rng.geometric(0.3, stories).clip(max=12)
    story = np.repeat(np.arange(stories), size)
    joined = np.where(rng.random(stories) < 0.2, rng.integers(0, stories, stories), np.arange(stories))
    alone = rng.random(len(story)) < 0.2
    return np.where(alone, stories + np.arange(len(story)), joined[story]), story, story


@pytest.mark.parametrize(("drawer", "stories"), [(drawn_topics, 150), (drawn_topics, 600), (drawn_small_topics, 300)])
def test_intervals_cover_the_agreement_of_other_stories(drawer, stories):
    rng = np.random.default_rng(3)
    others = [agreement(*drawer(rng, stories)).values for _ in range(200)]
    truth = {name: np.mean([each[name] for each in others]) for name in MEASURES}
    drawn = [agreement(*drawer(rng, stories)).intervals for _ in range(200)]
    for name in MEASURES:
        inside = np.mean([found[name][0] <= truth[name] <= found[name][1] for found in drawn])
        assert inside == pytest.approx(0.95, abs=0.05), name


def test_dealt_topics_have_no_ari_and_the_information_that_is_called_chance():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 300, 1000)
    found = agreement(rng.permutation(label), label, np.arange(1000)).values
    assert found["ari"] == pytest.approx(0, abs=0.01)
    assert found["v_measure"] == pytest.approx(found["by_chance"], abs=0.02)
    assert found["by_chance"] > 0.7


def test_names_and_order_do_not_matter_and_bad_shapes_are_refused():
    topic, label, unit = drawn_topics(np.random.default_rng(1), 30)
    order = np.random.default_rng(2).permutation(len(topic))
    one, other = agreement(topic, label, unit), agreement(topic[order] * 3 - 9, label[order], unit[order] * 2)
    for name in MEASURES:
        assert one.values[name] == pytest.approx(other.values[name])
        assert one.intervals[name] == pytest.approx(other.intervals[name])
    with pytest.raises(ValueError, match=r"got shapes \(2,\), \(2,\), \(1,\)"):
        agreement([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="expected a topic"):
        agreement([], [], [])


def test_a_single_unit_has_no_interval():
    assert agreement([0, 0, 1], [0, 1, 1], [5, 5, 5]).intervals == {}
