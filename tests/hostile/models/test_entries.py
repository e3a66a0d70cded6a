"""Model folders with links, pipes, devices and large files in them, and numbers in JSON that are none."""

import json
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest

from chosen_thresholds import CHOSEN
from twicetold import layout
from twicetold.commands._progress import require_usable
from twicetold.evaluation.thresholds import TargetLinks
from twicetold.files import write_json
from twicetold.labels.calibration import Calibration, CalibrationPairs, save_calibrated
from twicetold.trained.folder_files import JSON_LIMIT, STATE_LIMIT
from twicetold.trained.model_folder import LEVELS, load_model
from twicetold.trained.threshold_record import read_thresholds
from twicetold.use.model import load
from twicetold_lab.reporting.model_card import model_card

SECRET = "correct horse battery staple"
ENTRIES = (
    layout.RECIPE,
    layout.WEIGHTS,
    layout.FEATURISER_ARRAYS,
    layout.FEATURISER_STATE,
    layout.DECISION,
    layout.PRECISION,
    layout.TRAINING,
    "notes.txt",
    "a folder within/recipe.json",
)
THRESHOLDS = replace(CHOSEN, links=(TargetLinks(0.9, 0.5, 0.9, 0.1),))


@pytest.fixture(autouse=True)
def _ends():
    """A reading that waits for ever fails."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it does not end"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def to_secret(file):
    """A link to a file of somebody's, which is JSON."""
    secret = file.parent.parent / "secret.json"
    secret.write_text(json.dumps({"threshold": SECRET, "password": SECRET}))
    file.symlink_to(secret)


def to_itself(file):
    """A link to what was there, which lies in the folder."""
    kept = file.with_name("kept")
    kept.write_bytes(b"{}")
    file.symlink_to(kept.name)


def card_of(folder):
    return model_card(folder, cards=folder)


INSTEAD = {
    "link to a secret": (to_secret, "a symbolic link"),
    "link within the folder": (to_itself, "a symbolic link"),
    "link to zeros without end": (lambda file: file.symlink_to("/dev/zero"), "a symbolic link"),
    "link to the folder itself": (lambda file: file.symlink_to(file.parent), "a symbolic link"),
    "pipe": (os.mkfifo, "a pipe"),
}


def replaced(model, entry, instead):
    (model / entry).unlink(missing_ok=True)
    (model / entry).parent.mkdir(exist_ok=True)
    INSTEAD[instead][0](model / entry)
    return INSTEAD[instead][1]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("instead", INSTEAD)
@pytest.mark.parametrize("reading", [load, load_model, card_of, require_usable])
def test_an_entry_that_is_no_regular_file_is_refused_and_nothing_of_it_is_told(model, entry, instead, reading):
    said = replaced(model, entry, instead)
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        reading(model)
    assert SECRET not in str(caught.value)
    no_recipe = entry == layout.RECIPE and isinstance(caught.value, FileNotFoundError)
    assert no_recipe or f"{entry} is {said}" in str(caught.value)


@pytest.mark.parametrize("instead", ["link to a secret", "pipe"])
def test_thresholds_are_not_read_through_links(model, instead):
    said = replaced(model, layout.PRECISION, instead)
    with pytest.raises(ValueError, match=f"precision.json is {said}"):
        read_thresholds(model)


def test_a_folder_that_is_reached_through_a_link_is_read(model, tmp_path):
    (tmp_path / "link").symlink_to(model)
    assert np.isfinite(load(tmp_path / "link").similarity(["a cat"], ["the cat"])).all()


def test_hard_links_are_regular_files(model, tmp_path):
    shutil.move(model / layout.WEIGHTS, tmp_path / "cached")
    os.link(tmp_path / "cached", model / layout.WEIGHTS)
    assert np.isfinite(load(model).similarity(["a cat"], ["the cat"])).all()


@pytest.mark.parametrize("entry", [layout.DECISION, "notes.txt"])
def test_calibrate_does_not_copy_what_a_link_leads_to(model, tmp_path, entry):
    loaded = load(model)
    replaced(model, entry, "link to a secret")
    (tmp_path / "pairs.csv").write_text("left,right,label\n")
    with pytest.raises(ValueError, match=f"{entry} is a symbolic link"):
        save_calibrated(
            loaded,
            tmp_path / "out",
            Calibration(loaded.decision, loaded.decision, {}, {}, 0.0),
            CalibrationPairs(["a"], ["b"], np.ones(1, bool), np.ones(1), np.zeros(1, np.int64)),
            file=tmp_path / "pairs.csv",
            force=False,
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("entry", [layout.METRICS, layout.SUMMARY, layout.OBSERVED])
@pytest.mark.parametrize("instead", INSTEAD)
def test_the_card_of_a_run_reads_nothing_outside_it(model, tmp_path, entry, instead):
    run = tmp_path / "run"
    run.mkdir()
    shutil.move(model, run / layout.MODEL)
    said = replaced(run, entry, instead)
    with pytest.raises(ValueError, match=f"{entry} is {said}") as caught:
        model_card(run, cards=tmp_path)
    assert SECRET not in str(caught.value)


# sizes and levels


@pytest.mark.parametrize(
    ("file", "limit"),
    [(layout.RECIPE, JSON_LIMIT), (layout.DECISION, JSON_LIMIT), (layout.FEATURISER_STATE, STATE_LIMIT)],
)
def test_a_json_file_beyond_its_size_is_not_parsed(model, file, limit):
    os.truncate(model / file, limit + 1)
    with pytest.raises(ValueError, match=f"expected at most {limit:,} bytes in {file}, got {limit + 1:,}"):
        load_model(model)


@pytest.mark.parametrize("place", [".", "members/static"])
@pytest.mark.parametrize("reading", [load, require_usable])
def test_a_recipe_at_any_depth_is_parsed_only_if_it_is_small_and_flat(model, place, reading):
    file = model / place / layout.RECIPE
    file.parent.mkdir(parents=True, exist_ok=True)
    for content, said in (("[" * 100_000, "recipe.json is not JSON"), (" " * (JSON_LIMIT + 1), "expected at most")):
        file.write_text(content)
        if place == "." or reading is require_usable:  # loading does not open what is no part of the model
            with pytest.raises(ValueError, match=f"{model}.*{said}"):
                reading(str(model))
        else:
            reading(model)
    os.truncate(file, STATE_LIMIT + 1)
    with pytest.raises(ValueError, match=f"expected at most {STATE_LIMIT:,} bytes in .*{layout.RECIPE}"):
        reading(str(model))


def test_ensembles_within_ensembles_have_few_levels(nested):
    assert np.isfinite(load_model(nested(LEVELS)).score(["the cat"], ["a dog"])).all()
    with pytest.raises(ValueError, match=f"expected at most {LEVELS} levels of ensembles"):
        load_model(nested(LEVELS + 1))


# numbers

NUMBERS = {
    "400 digits": 10**400,
    "400 digits, below 0": -(10**400),
    "4,000 digits": 10**4000,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "true": True,
    "null": None,
    "a text": SECRET,
    "a list": [0.5],
    "an object": {"a": SECRET},
}


@pytest.mark.parametrize("name", ["threshold", "slope", "intercept"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_decision_of_other_numbers_is_one_message(model, name, number):
    (model / layout.DECISION).write_text(
        json.dumps({"threshold": 0.5, "slope": 1.0, "intercept": 0.0, name: NUMBERS[number]})
    )
    for read in (load, card_of):
        with pytest.raises(ValueError, match=f"expected a finite number as '{name}' in decision.json, got") as caught:
            read(model)
        assert SECRET not in str(caught.value)
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["texts", "duplicates", "auroc", "slope", "f1_threshold", "complete", "group"])
@pytest.mark.parametrize("number", [*NUMBERS, "1 << 62", "-1"])
def test_thresholds_of_other_numbers_are_one_message(model, name, number):
    value = {**NUMBERS, "1 << 62": 1 << 62, "-1": -1}[number]
    if (name, number) in (("complete", "true"), ("group", "a text")) or (
        name in ("auroc", "slope", "f1_threshold") and number in ("1 << 62", "-1")
    ):
        pytest.skip("is what it should be")
    write_json(model / layout.PRECISION, {**THRESHOLDS.to_json(), name: value})
    with pytest.raises(ValueError, match=f"precision.json: expected .*'{name}'") as caught:
        read_thresholds(model)
    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("where", ["links", "grouping"])
@pytest.mark.parametrize("number", NUMBERS)
def test_thresholds_of_a_link_and_a_group_are_numbers(model, where, number):
    values = json.loads(json.dumps(THRESHOLDS.to_json()))
    values[where][0]["precision" if where == "links" else "ari"] = NUMBERS[number]
    write_json(model / layout.PRECISION, values)
    with pytest.raises(ValueError, match=f"expected a finite number as '(precision|ari)' in {where}"):
        read_thresholds(model)


@pytest.mark.parametrize("number", NUMBERS)
def test_weights_of_an_ensemble_are_numbers(ensemble, number):
    recipe = json.loads((ensemble / layout.RECIPE).read_text())
    recipe |= {"stacking": "logistic", "weights": [0.5, NUMBERS[number]], "intercept": 0.0}
    (ensemble / layout.RECIPE).write_text(json.dumps(recipe))
    with pytest.raises(ValueError, match="expected finite numbers as weights and intercept, got") as caught:
        load_model(ensemble)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("file", [layout.METRICS, layout.SUMMARY, layout.OBSERVED, layout.TRAINING])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_card_is_made_of_numbers_or_refused(model, tmp_path, file, number):
    run = tmp_path / "run"
    run.mkdir()
    shutil.move(model, run / layout.MODEL)
    value = NUMBERS[number]
    write_json(run / layout.METRICS, {"val": {"auroc": 0.5}, "test": {"auroc": 0.5}})
    content = {
        layout.METRICS: {"val": {"auroc": value}, "test": {"auroc": value}},
        layout.SUMMARY: {"intervals": {"auroc": [value, value]}},
        layout.OBSERVED: {"train_seconds": value, "texts_per_second": value},
        layout.TRAINING: {"epochs": value, "parameters": value, "metric": value, "best_value": value},
    }[file]
    write_json((run / layout.MODEL if file == layout.TRAINING else run) / file, content)
    if file == layout.METRICS and number not in ("NaN", "infinity", "null"):
        with pytest.raises(ValueError, match=r"expected numbers as metrics, got .* as 'auroc'") as caught:
            model_card(run, cards=tmp_path)
        assert SECRET not in str(caught.value)
    else:
        assert model_card(run, cards=tmp_path).startswith("---")
