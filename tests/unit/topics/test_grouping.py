"""Topics of texts, on vectors that say which belong together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import twicetold
from twicetold.topics.grouping import METHODS, NO_TOPIC, group_topics, usual_count

TEXTS = ["bank rate", "bank cut", "bank rate cut", "film star", "film award", "???"]
VECTORS = np.array([[3, 0.2], [1, 0], [2, 0.1], [0, 1], [0.1, 4], [0, 0]], np.float32)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_every_text_has_a_topic_but_one_that_the_model_knows_nothing_of(method, form):
    found = group_topics(form(VECTORS), TEXTS, count=2, method=method)
    assert found.topic.tolist() == [0, 0, 0, 1, 1, NO_TOPIC]
    assert np.isnan(found.closeness).tolist() == [False] * 5 + [True]
    assert found.size.tolist() == [3, 2]
    assert found.terms[0][0] == "bank"
    assert found.terms[1][0] == "film"
    assert found.names[1].startswith("film, ")
    for topic, row in enumerate(found.central):
        assert found.topic[row] == topic
        assert found.closeness[row] == np.nanmax(found.closeness[found.topic == topic])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 5), st.sampled_from(METHODS))
def test_rows_are_accounted_for_and_equal_ones_are_together(which, count, method):
    vectors = np.array([[1, 0], [1, 1], [0, 2], [0, 0]], np.float32)[which]
    found = group_topics(vectors, [f"text{w}" for w in which], count=min(count, len(which)), method=method)
    known = np.array(which) != 3
    assert ((found.topic >= 0) == known).all()
    assert found.size.tolist() == np.bincount(found.topic[known], minlength=len(found)).tolist()
    assert len(found) <= min(count, len({*which} - {3}) or 1)
    for kind in {*which}:
        assert len({*found.topic[np.array(which) == kind]}) == 1


def test_texts_of_which_nothing_is_known_have_no_topics():
    found = group_topics(np.zeros((3, 2), np.float32), ["a", "b", "c"])
    assert (len(found), found.names, found.topic.tolist()) == (0, [], [NO_TOPIC] * 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "expected between 1 and 6 topics, as there are 6 texts; got 0"),
        ({"count": 7}, "expected between 1 and 6 topics, as there are 6 texts; got 7"),
        ({"method": "dbscan"}, "expected one of kmeans, agglomerative as method, got 'dbscan'"),
        ({"terms": 0}, "expected at least one term for the name of a topic, got 0"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        group_topics(VECTORS, TEXTS, **options)
    with pytest.raises(ValueError, match="there are no texts"):
        group_topics(VECTORS[:0], [])


def test_the_usual_number_of_topics_grows_with_the_root_and_ends_at_fifty():
    assert [usual_count(n) for n in (1, 2, 8, 200, 5000, 10**6)] == [1, 1, 2, 10, 50, 50]


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_a_loaded_model_groups_and_refuses_what_is_no_text(family, run):
    model, steps = twicetold.load(run(family)), []
    texts = ["bank rate cut", "film star award", "bank rate cut film", "star award film", "bank rate cut"]
    found = model.topics(texts, count=2, seed=1, progress=steps.append)
    assert found.topic[0] == found.topic[4]
    assert steps == ["encoding 5 texts", "grouping"]
    assert found.topic.tolist() == model.topics(texts, count=2, seed=1).topic.tolist()
    with pytest.raises(ValueError, match=r"1 of 2 texts are empty, the first is texts\[1\]: leave them out"):
        model.topics(["bank", " "])
    with pytest.raises(ValueError, match="there are no texts to group"):
        model.topics([])
    with pytest.raises(TypeError, match="expected a list of texts, got one text"):
        model.topics("bank")
    with pytest.raises(ValueError, match="at most 5,000 of them, got 5,001"):
        model.topics(["bank"] * 5001, method="agglomerative")
