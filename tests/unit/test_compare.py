"""`pipelines/compare.py`: which runs it compares and where it finds what they learnt from."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import compare
from twicetold import layout
from twicetold.tracking import Settings, start

RECIPE = {"encoder": {"_target_": "twicetold.models.dae.DenoisingAutoencoder"}, "features": {}, "as_documents": False}
CONFIG = """
name: dae
seed: 0
objective: {alpha: 10}
evaluator: {primary: auroc, bins: 10, classes: [a]}
""" + "".join(
    f"{key}: null\n"
    for key in ("features", "encoder", "examples", "optimizer", "trainer", "augmentation", "consistency", "negatives")
)


def trained(folder, *, val=0.8):
    model = folder / layout.MODEL
    model.mkdir(parents=True)
    data = {"name": "questions", "train": "digest"}
    (model / layout.RECIPE).write_text(json.dumps({**RECIPE, "data": data}))
    (model / layout.DECISION).write_text(json.dumps({"threshold": 0.5, "slope": 4.0, "intercept": -2.0}))
    (model / layout.TRAINING).write_text(json.dumps({"metric": "auroc", "best_value": val}))
    return folder


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["compare.py", *map(str, arguments)])
    compare.main()
    return capsys.readouterr().out


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return root


def test_the_settings_of_a_grid_are_found_in_its_own_folder_such_as_the_demos(project, monkeypatch, capsys):
    demo = project / "build" / "demo"
    (demo / "build" / "conf" / "train").mkdir(parents=True)
    for name, alpha in (("questions-dae-0", 10), ("questions-other-0", 99)):
        trained(demo / "runs" / name)
        text = CONFIG.replace("alpha: 10", f"alpha: {alpha}")
        (demo / "build" / "conf" / "train" / f"{name}.yaml").write_text(text)
    told = run(monkeypatch, capsys, "build/demo/runs/questions-dae-0", "build/demo/runs/questions-other-0")
    assert "No configuration was found" not in told
    assert "objective.alpha" in told


def test_the_folder_of_a_sweep_stands_for_its_jobs_that_have_a_model(project):
    sweep = project / "multirun" / "questions-dae-1234"
    for name in ("10", "9", "2"):
        trained(sweep / name)
    (sweep / "3").mkdir()  # pruned
    trained(sweep / "kept by a person")
    assert [folder.name for folder in compare.folders_of(sweep)] == ["2", "9", "10"]


def test_a_run_folder_and_a_model_folder_stand_for_themselves_and_any_other_is_left_to_the_error(project):
    folder = trained(project / "runs" / "questions-dae-0")
    nothing = project / "nothing"
    assert [compare.folders_of(place) for place in (folder, folder / layout.MODEL, nothing)] == [
        [folder],
        [folder / layout.MODEL],
        [nothing],
    ]


def test_metrics_without_a_model_as_in_a_fresh_clone_are_refused_with_what_makes_one(tmp_path):
    (tmp_path / "stsb-dae-0").mkdir()
    (tmp_path / "stsb-dae-0" / layout.METRICS).write_text("{}")
    with pytest.raises(FileNotFoundError, match="no model and scores to compare: `dvc repro evaluate@stsb-dae-0`"):
        compare.folders_of(tmp_path / "stsb-dae-0")


def test_runs_of_one_name_are_told_apart_by_their_folders(project):
    places = [trained(project / place / "questions-dae-0") for place in ("runs", "kept")]
    assert [one.name for one in compare.entries(places)] == ["runs/dae-0", "kept/dae-0"]
    further = trained(project / "build" / "demo" / "runs" / "questions-dae-0")
    names = [one.name for one in compare.entries([places[0], further, trained(project / "runs" / "questions-film-0")])]
    assert names == ["project/runs/dae-0", "demo/runs/dae-0", "film-0"]


def test_a_folder_at_the_root_of_a_file_system_has_no_settings_and_is_no_error():
    assert compare.settings_of(Path("/no-such-run")) == {}


def test_jobs_of_sweeps_are_compared_only_if_the_query_asks_for_them(project, migrated, monkeypatch, capsys):
    (project / "mlruns").mkdir()
    shutil.copy(migrated, project / "mlruns" / "mlflow.db")
    for name, origin in (("dae-0", "dvc"), ("film-0", "run"), ("dae alpha=1", "sweep"), ("dae alpha=2", "sweep")):
        settings = Settings(enabled=True, uri=None, root=project, origin=origin)
        tags = {"data": "questions", "model": "dae", "seed": "0", "fingerprint": name}
        with start(settings, experiment="questions", name=name, tags=tags, params={}) as tracked:
            tracked.log_text(CONFIG, "config.yaml")
            tracked.log_model(trained(project / "made" / name) / layout.MODEL, input_example={"text": ["a"]})
    told = run(monkeypatch, capsys, "--data", "questions")
    assert "2 runs" in told
    assert "alpha=" not in told
    assert "No configuration was found" not in told
    told = run(monkeypatch, capsys, "--data", "questions", "--where", "tags.origin = 'sweep'")
    assert "dae alpha=1" in told
    assert "film-0" not in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name run folders, --data for runs in MLflow, or --base and --head for revisions"),
        (["--markdown"], "need --base"),
        (["--head", "HEAD"], "need --base"),
        (["--base", "HEAD", "runs/a"], "takes no runs"),
        (["runs/a", "--where", "x"], "--where needs --data"),
    ],
)
def test_arguments_that_do_not_belong_together_are_refused(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["compare.py", *arguments])
    with pytest.raises(SystemExit):
        compare.main()
    assert message in capsys.readouterr().err


def test_revisions_are_compared_in_text_or_markdown(monkeypatch, capsys):
    monkeypatch.setattr(compare, "compare_revisions", lambda base, head: (base, head))
    for name in ("as_text", "as_markdown"):
        monkeypatch.setattr(compare, f"revisions_{name}", lambda found, name=name: f"{name}: {found}")
    assert run(monkeypatch, capsys, "--base", "a") == "as_text: ('a', 'HEAD')"
    assert run(monkeypatch, capsys, "--base", "a", "--head", "b", "--markdown") == "as_markdown: ('a', 'b')"
