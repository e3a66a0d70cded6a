"""What a model had seen goes along with all that comes of it."""

import json

import pytest

from twicetold import layout
from twicetold.trained.provenance import may_have_seen, pretrained_on, pretrained_on_of, seen, seen_of

PLAIN = {"features": {"min_df": 2}, "examples": {"group": "cluster"}}
TOKENS = {"tokens": {"pretrained_on": "questions"}}


@pytest.fixture
def model(tmp_path):
    """The run folder of a model that had seen two things."""
    (tmp_path / "run" / layout.MODEL).mkdir(parents=True)
    recipe = {"features": {}, "pretrained_on": ["questions", "answers"]}
    (tmp_path / "run" / layout.MODEL / layout.RECIPE).write_text(json.dumps(recipe))
    return tmp_path / "run"


@pytest.fixture
def mined(tmp_path):
    """A folder of what a teacher mined that was pretrained on questions."""
    (tmp_path / "mined").mkdir()
    (tmp_path / "mined" / f"pseudo_labels{layout.TRIPLETS_CARD}").write_text(
        json.dumps({"pretrained_on": ["questions"]})
    )
    return tmp_path / "mined"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, []),
        ({"examples": None, "features": {"pretrained_on": ""}}, []),
        ({"features": {"pretrained_on": "questions"}}, ["questions"]),
        ({"features": {"bag": {}, "words": TOKENS}}, ["questions"]),
    ],
)
def test_features_and_their_parts_say_what_they_were_pretrained_on(config, expected):
    assert pretrained_on(PLAIN | config) == expected


def test_a_student_has_seen_what_its_teacher_had_and_what_was_seen_in_several_ways_is_said_once(mined):
    examples = {"examples": {"mined": str(mined)}}
    assert pretrained_on(PLAIN | examples) == pretrained_on({"features": TOKENS} | examples) == ["questions"]
    (mined / f"pseudo_labels{layout.TRIPLETS_CARD}").write_text("{}")
    assert pretrained_on(PLAIN | examples) == []


def test_a_saved_model_says_what_it_had_seen(model):
    assert pretrained_on_of(model / layout.MODEL) == ["questions", "answers"]


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"min_df": 2}, []),
        ({"pretrained_on": "questions", "seen": ["quora"]}, ["quora"]),
        ({"bag": {}, "words": {"pretrained_on": "news", "seen": []}}, []),
        ({"one": {"pretrained_on": "news", "seen": ["uci_news"]}, **TOKENS}, None),
    ],
)
def test_sources_are_those_of_all_parts_and_unknown_where_a_pretrained_part_does_not_say(features, expected):
    assert seen(PLAIN | {"features": features}) == expected


def test_a_student_has_seen_the_sources_that_its_teacher_had(mined):
    config = {"features": {"pretrained_on": "news", "seen": ["uci_news"]}, "examples": {"mined": str(mined)}}
    assert seen(config) is None
    card = {"pretrained_on": ["questions"], "seen": ["quora"]}
    (mined / f"pseudo_labels{layout.TRIPLETS_CARD}").write_text(json.dumps(card))
    assert seen(config) == ["uci_news", "quora"]


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ({"pretrained_on": ["questions"], "seen": ["quora"]}, ["quora"]),
        ({"pretrained_on": ["questions"]}, None),
        ({"pretrained_on": []}, []),
    ],
)
def test_a_saved_model_says_which_sources_it_had_seen_if_it_is_known(model, recipe, expected):
    (model / layout.MODEL / layout.RECIPE).write_text(json.dumps(recipe))
    assert seen_of(model / layout.MODEL) == expected


def test_a_source_stands_for_all_data_that_are_made_of_it():
    assert may_have_seen(["quora", "nli"], "quora_disjoint")
    assert may_have_seen(["quora"], "quora")
    assert may_have_seen(None, "quora")
    assert not may_have_seen(["quora", "uci_news_time"], "uci_news")
    assert not may_have_seen([], "stsb")
