"""What a model had seen goes along with all that comes of it."""

import json

import pytest

from twicetold import layout
from twicetold.provenance import pretrained_on, pretrained_on_of

PLAIN = {"features": {"min_df": 2}, "examples": {"group": "cluster"}, "joined": None}
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


def test_a_committee_has_seen_what_an_earlier_generation_had_and_says_it_once(model, mined):
    config = {"features": TOKENS, "examples": {"mined": str(mined)}, "joined": str(model)}
    assert pretrained_on(config) == ["questions", "answers"]


def test_a_model_that_was_saved_before_it_was_noted_and_had_seen_nothing_says_nothing(model):
    assert pretrained_on_of(model / layout.MODEL) == ["questions", "answers"]
    (model / layout.MODEL / layout.RECIPE).write_text('{"features": {}}')
    assert pretrained_on_of(model / layout.MODEL) == []


def test_a_model_that_was_saved_before_it_was_noted_says_what_its_features_do(model):
    (model / layout.MODEL / layout.RECIPE).write_text(json.dumps({"features": TOKENS}))
    assert pretrained_on_of(model / layout.MODEL) == ["questions"]
