"""What a model had seen goes along with all that comes of it."""

import json

import pytest

from twicetold import layout
from twicetold.trained.provenance import pretrained_on, pretrained_on_of

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


def test_what_begins_with_nothing_has_seen_nothing():
    assert pretrained_on(PLAIN) == []
    assert pretrained_on(PLAIN | {"examples": None, "features": {"pretrained_on": ""}}) == []


@pytest.mark.parametrize("features", [{"pretrained_on": "questions"}, {"bag": {}, "words": TOKENS}])
def test_features_and_their_parts_say_it(features):
    assert pretrained_on(PLAIN | {"features": features}) == ["questions"]


def test_a_student_has_seen_what_its_teacher_had(mined):
    assert pretrained_on(PLAIN | {"examples": {"mined": str(mined)}}) == ["questions"]
    (mined / f"pseudo_labels{layout.TRIPLETS_CARD}").write_text("{}")
    assert pretrained_on(PLAIN | {"examples": {"mined": str(mined)}}) == []


def test_what_was_seen_in_several_ways_is_said_once(mined):
    config = {"features": TOKENS, "examples": {"mined": str(mined)}}
    assert pretrained_on(config) == ["questions"]


def test_a_saved_model_says_what_it_had_seen(model):
    assert pretrained_on_of(model / layout.MODEL) == ["questions", "answers"]
