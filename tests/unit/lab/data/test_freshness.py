"""Prepared data are those of a configuration if their cards say so, whatever the times of files."""

import json
import os
from dataclasses import replace

import pytest

from twicetold import layout
from twicetold_lab.data.corpus import Pairs
from twicetold_lab.data.freshness import corpus_is_current, own_file_digest, triplets_are_current
from twicetold_lab.mining import random


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n")
    return {"source": {"path": str(tmp_path / "mine.csv"), "seed": 0}}


@pytest.fixture
def processed(questions, settings, tmp_path):
    """Folder of a corpus, with the card that `prepare` writes."""
    card = {"source": settings["source"], "own_file": own_file_digest(settings["source"])}
    replace(questions, card=card).save(tmp_path / "processed")
    return tmp_path / "processed"


def test_a_corpus_of_the_same_settings_and_file_is_current_however_old(processed, settings):
    os.utime(processed / layout.CARD, (0, 0))
    assert corpus_is_current(processed, settings)


def test_no_corpus_other_settings_another_file_or_none_are_not_current(processed, settings, tmp_path):
    assert not corpus_is_current(tmp_path / "elsewhere", settings)
    assert not corpus_is_current(processed, {"source": {**settings["source"], "seed": 1}})
    file = tmp_path / "mine.csv"
    times = file.stat()
    file.write_text("a,c\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # of the same size and time
    assert not corpus_is_current(processed, settings)
    file.unlink()
    assert not corpus_is_current(processed, settings)


def test_a_source_without_a_file_of_ones_own_has_no_digest():
    assert own_file_digest({"seed": 0}) is None
    assert own_file_digest({"path": None}) is None


def test_triplets_of_the_same_train_texts_and_label_are_current(questions, tmp_path):
    folder = tmp_path / "triplets"
    assert not triplets_are_current(folder, questions, label="cluster")
    triplets = random.mine(questions, seed=0, label="cluster", per_anchor=1)
    triplets = replace(triplets, card={**triplets.card, "train": questions.train_digest()})
    triplets.save(layout.mined_file(folder, "random"))
    assert json.loads((folder / f"random{layout.TRIPLETS_CARD}").read_text())["label"] == "cluster"
    assert triplets_are_current(folder, questions, label="cluster")
    assert not triplets_are_current(folder, questions, label="story")
    train = questions.members["train"][1:]
    labels = questions.pairs["train"].label[1:]
    pairs = {**questions.pairs, "train": Pairs(train[:-1], train[1:], labels)}
    other = replace(questions, members={**questions.members, "train": train}, pairs=pairs)
    assert not triplets_are_current(folder, other, label="cluster")
