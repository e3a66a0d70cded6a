"""Every way of tools/choosing_pairs.toml is made of choices that there are, for every dataset and encoder."""

import sys
from pathlib import Path

import pytest

from twicetold.runs.identity import LEARNING_KEYS
from twicetold_grid.settings import check_settings

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from pair_ways import Training, Ways  # noqa: E402

FILE = Ways.read(TOOLS / "choosing_pairs.toml")
TRAININGS = [
    Training(FILE, data, encoder, way, 0)
    for data in FILE.data.values()
    for encoder in FILE.encoders
    for way in FILE.ways.values()
    if not way.data or data.name in way.data
]


@pytest.mark.parametrize("training", TRAININGS, ids=lambda training: training.out.name)
def test_a_way_composes_and_every_part_has_the_settings_that_it_is_given(training, composed):
    cfg = composed("train", *training.settings)
    check_settings(cfg)
    assert cfg.evaluator.primary[kind_of(cfg)] == training.data.metric
    if training.way.mining:
        assert cfg.examples.mined == str(training.mined)


def test_ways_differ_in_the_choice_of_pairs_alone(composed):
    may_differ = {"examples", "negatives", "augmentation", "consistency"}
    for data in FILE.data.values():
        of_data = [training for training in TRAININGS if training.data is data and training.encoder == "static"]
        base = composed("train", *next(t for t in of_data if t.way.name == FILE.base).settings)
        for training in of_data:
            cfg = composed("train", *training.settings)
            differ = {key for key in LEARNING_KEYS if key in cfg and cfg[key] != base[key]}
            allowed = may_differ | {"random": {"objective"}, "random_4": {"objective"}, "bm25": {"objective"}}.get(
                training.way.name, {"encoder"} if training.way.name == "twins" else set()
            )
            assert differ <= allowed, training.out.name


def test_mining_that_comes_first_composes(composed):
    for training in TRAININGS:
        if training.way.mining:
            *_, mine = planned(training)
            assert composed("mine_with_model", *mine.arguments).mining.name == training.way.mining


def planned(training):
    """The calls before a training, without data to count examples of."""
    training = Training(training.file, training.data, training.encoder, training.way, training.seed, "smoke")
    return list(training.before())


def kind_of(cfg):
    return "documents" if cfg.data.label == "story" else "labelled_pairs"
