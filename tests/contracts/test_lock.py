"""dvc.lock is of what the checkout would run, or RESULTS.md says that it is not."""

import hashlib
import json
import warnings
from collections import Counter
from pathlib import Path

import pytest
import yaml

from report import EARLIER
from twicetold_lab.grid.lock import changes, locked_stages, settings_of, stale_stages
from twicetold_lab.grid.lock import rendered as rendered_now

ROOT = Path(__file__).parents[2]
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
CELL = {
    **dict.fromkeys(("name", "features", "encoder", "examples", "objective", "optimizer"), "a"),
    "trainer": {"lr": 1e-5},
    "negatives": {"_target_": None},
    "seed": 0,
    "tuned_how": "by hand",
    "evaluator": {"primary": "auroc", "bins": 8, "classes": ["x"], "resamples": 9},
    "code": {"train": "c0de", "evaluate": "c0ded", "measure": "c0dec"},
}


@pytest.fixture(scope="module")
def composed_now():
    with rendered_now(ROOT) as folder:
        yield folder


@pytest.fixture(scope="module")
def stale(composed_now):
    return stale_stages(STAGES, locked_stages(ROOT), composed_now)


def test_results_say_exactly_while_the_lock_is_of_other_code_or_settings_than_the_commit(stale):
    """The one switch is a line of RESULTS.md: with it a stale lock is a warning, without it an error."""
    kinds = Counter(stage.partition("@")[0] for stage in stale)
    told = f"dvc.lock is stale in {len(stale)} stages ({', '.join(f'{kinds[kind]} {kind}' for kind in sorted(kinds))})"
    said = EARLIER in (ROOT / "RESULTS.md").read_text()
    if stale and said:
        warnings.warn(told, stacklevel=1)
    assert said or not stale, (
        f"{told}: train the grid again with `make results`, or have `python pipelines/report.py --results` say in "
        f"RESULTS.md, after its title, that its numbers are of earlier code:\n{EARLIER}"
    )
    assert stale or not said, "dvc.lock is current: `python pipelines/report.py --results` takes the line out again"


def digest_in_dvc(folder):
    """The digest that DVC records of a folder, made of the digests and the names of its files."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    entries = [
        {"md5": hashlib.md5(file.read_bytes()).hexdigest(), "relpath": name}
        for name, file in sorted(files.items(), key=lambda entry: tuple(entry[0].split("/")))
    ]
    return f"{hashlib.md5(json.dumps(entries, sort_keys=True).encode()).hexdigest()}.dir"


def test_the_lock_of_a_grid_that_is_current_has_the_settings_that_are_composed_now(stale, composed_now):
    """Else the first `dvc repro` of a fresh clone would change it without running anything."""
    (out,) = locked_stages(ROOT)["compose"]["outs"]
    assert stale or out["md5"] == digest_in_dvc(composed_now), "run `dvc repro compose` and commit dvc.lock"


def test_the_lock_records_nothing_that_changes_with_every_commit_or_on_every_machine():
    """A stage's own settings, the hash of its own code and its own files; no folder of code or of what others write."""
    for name, about in STAGES.items():
        about = about.get("do", about)
        shared = [dep for dep in about.get("deps", ()) if "key" not in dep and "item" not in dep]
        assert shared == [], f"{name} depends on whole folders: {shared}"
    assert {name.partition("@")[0] for name in locked_stages(ROOT)} <= {*STAGES}


def cell(**changed):
    """The rendered config of a cell with other values."""
    config = {**CELL, **changed}
    return config | {"settings": {stage: settings_of(stage, config) for stage in ("train", "evaluate")}}


@pytest.fixture
def rendered(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a-b-0.json").write_text(json.dumps({key: cell()[key] for key in ("code", "settings")}))
    return tmp_path


def locked(**changed):
    config = cell(**changed)
    keys = {"train": ["settings", "code"], "evaluate": ["settings", "code"], "measure": ["code"]}
    tracked = {stage: {f"{part}.{stage}": config[part][stage] for part in parts} for stage, parts in keys.items()}
    return {f"{stage}@a-b-0": {"params": {"build/conf/train/a-b-0.json": values}} for stage, values in tracked.items()}


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ({}, set()),
        ({"code": CELL["code"] | {"train": "beef"}}, {"train@a-b-0"}),
        ({"code": CELL["code"] | {"measure": "beef"}}, {"measure@a-b-0"}),
        ({"seed": 1, "trainer": {"lr": 1e-4}}, {"train@a-b-0"}),
        ({"evaluator": {**CELL["evaluator"], "bins": 9}}, {"train@a-b-0", "evaluate@a-b-0"}),
        ({"evaluator": {**CELL["evaluator"], "resamples": 8}}, {"evaluate@a-b-0"}),
        ({"runtime": {"workers": 8}}, set()),
    ],
)
def test_a_stage_is_stale_by_the_keys_that_it_tracks(rendered, changed, stale):
    assert stale_stages(STAGES, locked(**changed), rendered) == stale


def test_a_stage_that_never_ran_and_a_key_that_was_not_tracked_are_stale(rendered):
    known = locked()
    del known["evaluate@a-b-0"]["params"]["build/conf/train/a-b-0.json"]["settings.evaluate"]
    del known["train@a-b-0"]
    assert stale_stages(STAGES, known, rendered) == {"train@a-b-0", "evaluate@a-b-0"}


def test_settings_that_differ_from_the_last_run_are_named_with_both_values(tmp_path):
    for folder, lr in (("now/train", 0.2), ("then", 0.1)):
        (tmp_path / folder).mkdir(parents=True)
        name = "a-b-0.yaml" if lr == 0.2 else "train@a-b-0.yaml"
        settings = CELL | {"optimizer": {"lr": lr}, "runtime": {"workers": lr}}
        (tmp_path / folder / name).write_text(yaml.safe_dump(settings))
    lines = changes(["train@a-b-0", "train@a-b-1"], tmp_path / "now", tmp_path / "then")
    assert lines == ["train@a-b-0: optimizer.lr 0.1 -> 0.2"]
