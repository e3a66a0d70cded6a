import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
import yaml

from twicetold_lab.tracking import (
    Settings,
    address_of_sweep,
    addresses,
    describe_sweep,
    end_sweep,
    reopen,
    repository,
    start,
    sweep_parent,
)
from twicetold_lab.tracking.notes import parameters_to_show
from twicetold_lab.tracking.pages import FIXED, FURTHER
from twicetold_lab.tracking.run import TrackedRun
from twicetold_lab.tracking.store import ATTEMPTS, OVERTAKEN, address, insist, open_store

TAGS = {"data": "quora", "model": "dae", "seed": "0", "fingerprint": "f00d"}


@pytest.fixture
def settings(migrated, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    root = tmp_path / "a project"
    (root / "mlruns").mkdir(parents=True)
    shutil.copy(migrated, root / "mlruns" / "mlflow.db")
    working = tmp_path / "working"
    working.mkdir()
    monkeypatch.chdir(working)
    return Settings(enabled=True, uri=None, root=root, origin="run")


def begin(settings, name="dae-0", tags=TAGS, params=None, **further):
    return start(settings, experiment="quora", name=name, tags=tags, params=params or {}, **further)


def find(settings, tags=TAGS, params=None):
    return reopen(settings, experiment="quora", name="dae-0", tags=tags, params=params or {})


def stored(settings, run_id):
    return open_store(settings, "quora").client.get_run(run_id)


def runs(settings):
    store = open_store(settings, "quora")
    return list(store.client.search_runs([store.experiment_id]))


def as_origin(settings, origin):
    return Settings(settings.enabled, settings.uri, settings.root, origin)


# new runs


def test_what_another_process_was_in_the_way_of_is_written_again_and_any_other_error_is_passed_on():
    class Refused(Exception):
        def __init__(self, code, message=""):
            super().__init__(message)
            self.error_code = code

    answers = [Refused(OVERTAKEN), Refused("TEMPORARILY_UNAVAILABLE", "(sqlite3) database is locked"), "written"]

    def write():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert insist(write) == "written"
    answers[:] = [Refused("INVALID_PARAMETER_VALUE"), "not asked for"]
    with pytest.raises(Refused):
        insist(write)
    assert answers == ["not asked for"]
    answers[:] = [Refused(OVERTAKEN)] * 100
    with pytest.raises(Refused):
        insist(write)
    assert len(answers) == 100 - ATTEMPTS


def test_a_run_shows_its_name_tags_and_flattened_parameters(settings):
    params = {"objective": {"alpha": 10, "mining": {"hard": True}}, "sizes": [1, 2], "clip": None, "text": "1"}
    with begin(settings, params=params) as run:
        pass
    seen = stored(settings, run.id)
    assert seen.info.run_name == "dae-0"
    assert seen.data.params == {
        "model": "dae",
        "objective.alpha": "10",
        "objective.mining.hard": "true",
        "sizes": "[1, 2]",
        "clip": "null",
        "text": "1",
    }
    assert {**TAGS, "origin": "run"}.items() <= seen.data.tags.items()


def test_the_command_of_a_run_is_a_tag_that_an_evaluation_does_not_change(settings, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "data=quora", "objective.alpha=[1, 2]"])
    with begin(settings) as run:
        pass
    monkeypatch.setattr(sys, "argv", ["evaluate.py"])
    with find(settings):
        pass
    assert stored(settings, run.id).data.tags["command"] == "python train.py data=quora 'objective.alpha=[1, 2]'"


def test_hundreds_of_parameters_and_very_long_values_are_logged(settings):
    params = {f"p{i}": i for i in range(250)} | {"long": "x" * 9000, "empty": "", "nothing": {}}
    with begin(settings, params=params) as run:
        pass
    seen = stored(settings, run.id).data.params
    assert len(seen) == 254  # the family as well
    assert (seen["long"], seen["empty"], seen["nothing"]) == ("x" * 5999 + "…", "", "{}")


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError, "FAILED"), (SystemExit, "FAILED"), (KeyboardInterrupt, "KILLED"), (None, "FINISHED")],
)
def test_a_run_that_ends_in_an_error_says_so_and_passes_it_on(settings, error, status):
    with pytest.raises(error) if error else nullcontext(), begin(settings) as run:
        assert stored(settings, run.id).info.status == "RUNNING"
        if error:
            raise error
    assert stored(settings, run.id).info.status == status


def test_a_run_that_is_stopped_while_it_is_closed_ends_as_killed(settings, monkeypatch):
    close, stops = TrackedRun._close, [KeyboardInterrupt]

    def stopped(run, status):
        if stops:
            raise stops.pop()
        close(run, status)

    monkeypatch.setattr(TrackedRun, "_close", stopped)
    with pytest.raises(KeyboardInterrupt), begin(settings) as run:
        pass
    assert stored(settings, run.id).info.status == "KILLED"


def test_a_run_that_failed_says_why_in_a_tag_until_it_is_resumed(settings):
    with pytest.raises(ValueError, match="no such thing"), begin(settings) as cut:
        raise ValueError("no such thing")
    assert stored(settings, cut.id).data.tags["error"] == "ValueError: no such thing"
    with begin(settings, resumed=True) as resumed:
        pass
    assert resumed.id == cut.id
    assert "error" not in stored(settings, cut.id).data.tags


def test_everything_lies_under_the_root_and_nothing_in_the_working_directory(settings, tmp_path):
    picture = tmp_path / "roc.svg"
    picture.write_text("<svg/>")
    with begin(settings) as run:
        run.log_text("a: 1", "recipe.yaml")
        run.log_file(picture, "figures")
    artifacts = settings.root / "mlruns" / "artifacts" / "quora" / run.id / "artifacts"
    assert (artifacts / "recipe.yaml").read_text() == "a: 1"
    assert (artifacts / "figures" / "roc.svg").read_text() == "<svg/>"
    assert list(Path.cwd().iterdir()) == []


def test_a_file_that_is_not_there_is_an_error_of_the_caller(settings, tmp_path):
    with begin(settings) as run:
        with pytest.raises(FileNotFoundError, match="expected a file to log at"):
            run.log_file(tmp_path / "roc.svg")
        with pytest.raises(FileNotFoundError, match="expected a model folder at"):
            run.log_model(tmp_path / "model")
        assert run.tracked


# metrics and datasets


def test_a_metric_without_a_step_is_the_last_word_after_a_curve_and_in_a_reopened_run(settings):
    with begin(settings) as run:
        for epoch, value in enumerate([0.5, 0.9, 0.7]):
            run.log_metrics({"val/auroc": value}, epoch)
        run.log_metrics({"val/auroc": 0.6, "val/f1": 0.5})
    assert stored(settings, run.id).data.metrics == {"val/auroc": 0.6, "val/f1": 0.5}
    for value in (0.8, 0.75):
        with find(settings) as again:
            again.log_metrics({"val/auroc": value, "test/auroc": value})
        assert stored(settings, run.id).data.metrics == {"val/auroc": value, "test/auroc": value, "val/f1": 0.5}


def test_numbers_that_are_not_finite_are_no_metrics_but_named_in_a_tag(settings):
    with begin(settings) as run:
        run.log_metrics({"train/loss": float("nan"), "val/auroc": 0.5}, step=0)
        run.log_metrics({"train/loss": float("inf"), "val/f1": float("-inf")}, step=1)
        assert run.tracked
    seen = stored(settings, run.id).data
    assert seen.metrics == {"val/auroc": 0.5}
    assert seen.tags["not_finite"] == "train/loss, val/f1"


def test_datasets_are_inputs_of_the_run_once_each(settings):
    digest = "0123456789abcdef" * 4
    with begin(settings) as run:
        for _ in range(2):
            run.log_dataset(
                "quora",
                split="train",
                digest=digest,
                source="http://example.org/questions.tsv",
                counts={"num_rows": 7},
            )
        run.log_dataset("mine", split="test", digest="ab", source="/home/me/mine.csv", counts={})
    inputs = {entry.dataset.name: entry for entry in stored(settings, run.id).inputs.dataset_inputs}
    quora = inputs["quora train"].dataset
    assert len(inputs) == 2
    assert [(tag.key, tag.value) for tag in inputs["quora train"].tags] == [("mlflow.data.context", "training")]
    assert (quora.digest, quora.source_type) == (digest[:36], "http")
    assert json.loads(quora.profile) == {"num_rows": 7, "sha256": digest}
    assert json.loads(quora.source) == {"url": "http://example.org/questions.tsv"}
    assert json.loads(inputs["mine test"].dataset.source) == {"uri": "/home/me/mine.csv"}


# models


def test_a_logged_model_is_ready_under_its_run_with_metrics_of_the_splits_they_were_measured_on(settings, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "recipe.json").write_text("{}")
    with begin(settings, params={"alpha": 3}) as run:
        run.log_dataset("quora", split="val", digest="ab", source="here", counts={})
        for epoch, value in enumerate([0.5, 0.7]):
            run.log_metrics({"train/loss": 2.0, "val/auroc": value}, step=epoch)
        uri = run.log_model(folder)
        run.log_metrics({"best/auroc": 0.7})
    with find(settings) as again:
        again.log_dataset("quora", split="test", digest="ab", source="here", counts={})
        again.log_metrics({"test/auroc": 0.6, "parameters": 5.0})
    store = open_store(settings, "quora")
    (output,) = stored(settings, run.id).outputs.model_outputs
    model = store.client.get_logged_model(output.model_id)
    assert uri == model.model_uri
    assert (model.name, str(model.status), model.source_run_id) == ("dae-0", "READY", run.id)
    assert model.params == {"model": "dae", "alpha": "3"}
    assert {metric.key: (metric.value, metric.dataset_name) for metric in model.metrics} == {
        "train/loss": (2.0, None),
        "val/auroc": (0.7, "quora val"),
        "best/auroc": (0.7, "quora val"),
        "test/auroc": (0.6, "quora test"),
        "parameters": (5.0, None),
    }
    ranked = store.client.search_logged_models(
        [store.experiment_id], order_by=[{"field_name": "metrics.test/auroc", "dataset_name": "quora test"}]
    )
    assert [one.model_id for one in ranked] == [model.model_id]
    logged = settings.root / "mlruns" / "artifacts" / "quora" / "models" / model.model_id / "artifacts"
    assert [(file.name, file.read_text()) for file in logged.iterdir()] == [("recipe.json", "{}")]


# what the pages show

CARD = {"splits": {"train": {"pairs": 1997, "share": 0.4}, "val": {"pairs": 610}}}


def describe(settings):
    with begin(settings) as run:
        run.describe_data("quora", kind="labelled_pairs", counts=CARD, primary="auroc")
        assert run.tracked
    store = open_store(settings, "quora")
    return store.client.get_experiment(store.experiment_id)


def test_an_experiment_has_a_description_tags_and_views_with_columns(settings):
    found = describe(settings)
    assert "pairs of texts" in found.tags["mlflow.note.content"]
    assert "train: 1,997 pairs; val: 610 pairs" in found.tags["mlflow.note.content"]
    assert (found.tags["kind"], found.tags["primary"]) == ("labelled_pairs", "auroc")
    board = json.loads(found.tags["mlflow.sharedViewState.leaderboard"])
    state = json.loads(board["state"])
    assert board["name"] == "Leaderboard"
    assert state["columnOrder"] == [*FIXED, *state["selectedColumns"]]
    assert state["columnWidths"]["metrics.`test/average_precision`"] > 150  # MLflow's own 100 cut the name
    assert state["orderByKey"] == "metrics.`best/auroc`"
    assert {"metrics.`best/auroc`", "metrics.`test/auroc`", "tags.`origin`"} <= set(state["selectedColumns"])
    assert json.loads(found.tags["mlflow.sharedViewState.sweeps"])["createdAt"] < board["createdAt"]


def test_a_description_that_is_there_is_not_written_again(settings, monkeypatch):
    from mlflow import MlflowClient

    before = describe(settings).tags
    monkeypatch.setattr(MlflowClient, "set_experiment_tag", lambda *_: pytest.fail("written again"))
    assert describe(settings).tags == before


def test_addresses_open_a_view_of_the_experiments_that_there_are(settings, monkeypatch):
    found = describe(as_origin(settings, "sweep"))
    page = f"http://127.0.0.1:5000/#/experiments/{found.experiment_id}/runs"
    query = "workflowType=machine_learning&viewStateShareKey"
    assert addresses(settings, ["quora"]) == {"quora": f"{page}?{query}=sweeps"}, "there is nothing else to see"
    with begin(settings):
        pass
    there = addresses(settings, ["quora", "nothing"])
    assert there == {"quora": f"{page}?{query}=leaderboard"}
    assert addresses(settings) == there  # all that are described; "Default" is not
    assert addresses(Settings(True, "sqlite:///none.db", settings.root, "run"), ["quora"]) == {}
    assert addresses(Settings(False, None, settings.root, "run"), ["quora"]) == {}


def test_the_address_of_a_sweep_opens_its_jobs_with_what_was_swept(settings):
    sweep = as_origin(settings, "sweep")
    parent, _ = job(sweep, 0.6)
    address = address_of_sweep(sweep, parent, experiment="quora", primary="auroc", params=["objective.alpha"])
    key = address.rpartition("=")[2]
    store = open_store(sweep, "quora")
    state = json.loads(store.client.get_experiment(store.experiment_id).tags[f"mlflow.sharedViewState.{key}"])
    assert "params.`objective.alpha`" in state["selectedColumns"]
    found = store.client.search_runs([store.experiment_id], state["searchFilter"])
    assert [run.data.tags["mlflow.parentRunId"] for run in found] == [parent]


@pytest.mark.parametrize("kind", FURTHER)
def test_the_leaderboard_fits_beside_mlflows_menu_in_a_window_of_1400_pixels(settings, kind):
    longest = {"documents": "auroc_category", "labelled_pairs": "auroc", "graded_pairs": "spearman"}[kind]
    with begin(settings) as run:
        run.describe_data("quora", kind=kind, counts=CARD, primary=longest)
    store = open_store(settings, "quora")
    tags = store.client.get_experiment(store.experiment_id).tags
    widths = json.loads(json.loads(tags["mlflow.sharedViewState.leaderboard"])["state"])["columnWidths"]
    assert sum(widths.values()) <= 1146 - 73 - 80  # the table as seen; less the boxes to tick and the duration


# parameters

DEFAULTS = {
    "name": "dae",
    "seed": 0,
    "objective": {"_target_": "a.b.Denoising", "alpha": 10, "joined": None},
    "optimizer": {"_target_": "torch.optim.Adam", "_partial_": True, "lr": 0.001, "fused": True},
    "trainer": {"epochs": 200, "batch_size": 100, "patience": None},
}
USUAL = {"seed": 0, "optimizer.lr": 0.001, "trainer.epochs": 200, "trainer.batch_size": 100}


OTHER = {"_target_": "a.b.Triplet", "_partial_": False, "margin": 0.2, "alpha": None}


@pytest.mark.parametrize(
    ("learning", "defaults", "named", "shown"),
    [
        ({}, DEFAULTS, [], USUAL),
        (
            {"trainer": {"epochs": 30, "batch_size": 100, "patience": 5}},
            DEFAULTS,
            [],
            USUAL | {"trainer.epochs": 30, "trainer.patience": 5},
        ),
        ({}, DEFAULTS, ["objective.alpha"], USUAL | {"objective.alpha": 10}),
        ({}, DEFAULTS, ["objective"], USUAL | {"objective": "Denoising"}),
        ({"objective": OTHER}, DEFAULTS, [], USUAL | {"objective": "Triplet", "objective.margin": 0.2}),
        ({"objective": {"_target_": None}}, {}, [], {"seed": 0}),  # a family that learns nothing
    ],
)
def test_parameters_are_what_differs_what_is_named_and_the_few_that_always_matter(learning, defaults, named, shown):
    assert parameters_to_show({**DEFAULTS, **learning}, defaults, named) == shown


# finding a run again


def test_a_run_is_found_again_by_its_fingerprint(settings):
    with begin(settings, params={"alpha": 1}) as run:
        pass
    with begin(settings, tags={**TAGS, "fingerprint": "beef"}):
        pass
    with find(settings, params={"alpha": 2}) as again:
        assert again.id == run.id
    assert stored(settings, run.id).data.params == {"model": "dae", "alpha": "1"}


@pytest.mark.parametrize(
    ("runs_of", "reopened"),
    [
        (["run", "run", "run"], 2),  # the newest
        (["dvc", "sweep"], 0),  # that of the pipeline
        (["run", "killed"], 0),  # the finished one
    ],
)
def test_of_several_runs_the_one_of_the_pipeline_then_a_finished_one_then_the_newest_is_reopened(
    settings, runs_of, reopened
):
    made = []
    for origin in runs_of:
        of = as_origin(settings, "run" if origin == "killed" else origin)
        with suppress(KeyboardInterrupt), begin(of) as run:
            made.append(run.id)
            time.sleep(0.002)  # start times have whole milliseconds
            if origin == "killed":
                raise KeyboardInterrupt
    with find(settings) as again:
        assert again.id == made[reopened]


def test_a_run_is_made_anew_where_the_store_was_wiped(settings):
    with begin(settings):
        pass
    shutil.rmtree(settings.root / "mlruns")
    other = Settings(True, "sqlite:///mlruns/other.db", settings.root, "dvc")  # MLflow keeps the removed file open
    with find(other, params={"alpha": 1}) as again:
        again.log_metrics({"test/auroc": 0.5})
    seen = stored(other, again.id)
    assert (seen.info.status, seen.info.run_name, seen.data.params) == (
        "FINISHED",
        "dae-0",
        {"model": "dae", "alpha": "1"},
    )
    assert {**TAGS, "origin": "dvc"}.items() <= seen.data.tags.items()


def test_a_resumed_training_goes_on_with_the_run_that_was_cut_off(settings):
    with pytest.raises(KeyboardInterrupt), begin(settings) as cut:
        cut.log_metrics({"val/auroc": 0.5}, step=0)
        raise KeyboardInterrupt
    with begin(settings, resumed=True) as resumed:
        resumed.log_metrics({"val/auroc": 0.6}, step=1)
    assert resumed.id == cut.id
    assert stored(settings, cut.id).info.status == "FINISHED"
    assert stored(settings, cut.id).data.metrics["val/auroc"] == 0.6


def test_a_training_that_another_sweep_resumes_is_a_job_of_that_one(settings):
    parents = [sweep_parent(settings, experiment="quora", sweep_id=name, name=name) for name in ("one", "two")]
    with pytest.raises(KeyboardInterrupt), begin(settings, parent=parents[0]) as cut:
        raise KeyboardInterrupt
    with begin(settings, parent=parents[1], resumed=True) as resumed:
        pass
    assert resumed.id == cut.id
    assert stored(settings, cut.id).data.tags["mlflow.parentRunId"] == parents[1]


def test_a_resumed_training_leaves_a_finished_run_alone(settings):
    with begin(settings) as finished:
        pass
    with begin(settings, resumed=True) as other:
        pass
    assert other.id != finished.id


def test_an_evaluation_that_fails_leaves_the_training_finished(settings):
    with begin(settings) as run:
        pass
    with pytest.raises(ValueError, match="bad"), find(settings):
        raise ValueError("bad")
    assert stored(settings, run.id).info.status == "FINISHED"


def test_finding_a_run_without_a_fingerprint_is_refused(settings):
    with pytest.raises(ValueError, match="only \\['data'\\] are given"), find(settings, tags={"data": "quora"}):
        pass


# sweeps


def job(settings, value, sweep_id="2026-01-01_10-00-00"):
    parent = sweep_parent(settings, experiment="quora", sweep_id=sweep_id, name="sweep dae")
    with begin(settings, parent=parent) as run:
        run.log_metrics({"best/auroc": value})
    return parent, run.id


def test_the_parent_of_a_sweep_runs_while_its_jobs_do(settings):
    parent, _ = job(settings, 0.5)
    assert stored(settings, parent).info.status == "RUNNING"
    for status, expected in (("FAILED", "FAILED"), ("KILLED", "FAILED")):  # the second when the process ends
        end_sweep(settings, parent, experiment="quora", status=status)
        assert stored(settings, parent).info.status == expected
    assert job(settings, 0.5)[0] == parent
    assert stored(settings, parent).info.status == "RUNNING"


def test_the_jobs_of_a_sweep_share_one_parent_that_shows_the_best(settings):
    sweep = as_origin(settings, "sweep")
    jobs = [job(sweep, value) for value in (0.6, 0.8, float("nan"), 0.7)]
    parent, best = jobs[1]
    assert {parent for parent, _ in jobs} == {parent}
    assert all(stored(sweep, child).data.tags["mlflow.parentRunId"] == parent for _, child in jobs)
    about = {"experiment": "quora", "primary": "auroc", "best": "lr=1", "texts": {}}
    describe_sweep(sweep, parent, **about)
    seen = stored(sweep, parent)
    assert (seen.info.run_name, seen.data.tags["origin"]) == ("sweep dae", "sweep")
    assert (seen.data.metrics["best/auroc"], seen.data.tags["best_run"]) == (0.8, best)
    assert seen.data.tags["best"] == "lr=1"
    none, _ = job(sweep, float("nan"), sweep_id="all diverge")
    describe_sweep(sweep, none, **about)
    assert stored(sweep, none).data.metrics == {}


def test_another_sweep_has_another_parent(settings):
    assert job(settings, 0.5)[0] != job(settings, 0.5, sweep_id="it's another")[0]
    assert job(settings, 0.5, sweep_id="it's another")[0] == job(settings, 0.5, sweep_id="it's another")[0]


# stores that fail


def test_an_experiment_that_was_deleted_is_named_with_the_command_that_restores_it(settings, caplog):
    store = open_store(settings, "quora")
    store.client.delete_experiment(store.experiment_id)
    with begin(settings) as run:
        assert run.id is None
    (warning,) = caplog.messages
    command = f"mlflow experiments restore --experiment-id {store.experiment_id}"
    assert f"quora was deleted in MLflow; restore it with MLFLOW_TRACKING_URI={address(settings)} {command}" in warning
    store.client.restore_experiment(store.experiment_id)
    with begin(settings) as run:
        assert run.id is not None


def test_a_store_that_cannot_be_opened_costs_one_warning_and_no_training(settings, caplog, tmp_path):
    broken = Settings(True, "sqlite:///broken.db", settings.root, "run")
    (settings.root / "broken.db").write_bytes(b"this is no database" * 100)
    folder = tmp_path / "model"
    folder.mkdir()
    with caplog.at_level(logging.WARNING, "twicetold"), begin(broken, params={"a": 1}) as run:
        run.log_metrics({"loss": 1.0})
        run.log_text("a", "a.txt")
        assert run.log_model(folder) is None
        assert (run.id, run.tracked) == (None, False)
    (record,) = caplog.records
    assert "could not start the run dae-0: " in record.message
    assert "the work goes on" in record.message
    assert "tracking.enabled=false" in record.message


def test_a_store_that_cannot_be_opened_does_not_stop_an_evaluation_or_a_sweep(settings, caplog):
    broken = Settings(True, "file:./mlruns", settings.root, "run")
    with find(broken) as run:
        run.log_metrics({"test/auroc": 1.0})
    assert job(broken, 0.5) == (None, None)
    assert [record.message.split(":")[0] for record in caplog.records if record.name.startswith("twicetold")] == [
        "MLflow could not find the run with fingerprint f00d",
        "MLflow could not make the parent run of sweep 2026-01-01_10-00-00",
        "MLflow could not start the run dae-0",
    ]


def test_a_server_that_is_down_is_given_up_soon(settings, caplog, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{closed.getsockname()[1]}")
        began = time.monotonic()
        with begin(settings) as run:
            run.log_metrics({"loss": 1.0})
    assert time.monotonic() - began < 10
    assert not run.tracked
    assert sum(record.name.startswith("twicetold") for record in caplog.records) == 1


def test_a_store_that_fails_on_the_way_is_warned_about_once_and_the_run_is_still_closed(settings, caplog, monkeypatch):
    from mlflow import MlflowClient

    def fail(*_, **__):
        raise OSError("disk full\nmore about it")

    with caplog.at_level(logging.WARNING, "twicetold"), begin(settings) as run:
        run.log_metrics({"loss": 1.0})
        with monkeypatch.context() as patch:
            patch.setattr(MlflowClient, "log_batch", fail)
            run.log_metrics({"loss": 0.5})
        run.log_metrics({"loss": 0.25})
        assert not run.tracked
    assert [record.message.split(" -- ")[0] for record in caplog.records] == ["MLflow could not log metrics: disk full"]
    seen = stored(settings, run.id)
    assert (seen.info.status, seen.data.metrics) == ("FINISHED", {"loss": 1.0})


def test_a_failing_store_does_not_hide_the_error_of_the_training(settings, monkeypatch):
    from mlflow import MlflowClient

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(MlflowClient, "set_terminated", fail)
    with pytest.raises(ValueError, match="the real trouble"), begin(settings):
        raise ValueError("the real trouble")


# where the store is


def test_the_environment_wins_over_the_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking.example")
    assert address(Settings(True, "sqlite:///x.db", tmp_path, "run")) == "http://tracking.example"


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (None, "sqlite:///{root}/mlruns/mlflow.db"),
        ("sqlite:///elsewhere/x.db", "sqlite:///{root}/elsewhere/x.db"),
        ("sqlite:////tmp/x.db", "sqlite:////tmp/x.db"),
        ("http://tracking.example", "http://tracking.example"),
    ],
)
def test_relative_stores_start_at_the_root_wherever_the_process_stands(tmp_path, monkeypatch, uri, expected):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert address(Settings(True, uri, tmp_path, "run")) == expected.format(root=tmp_path)


def test_a_store_named_in_the_environment_keeps_its_artifacts_beside_the_database(settings, tmp_path, monkeypatch):
    shutil.copy(settings.root / "mlruns" / "mlflow.db", tmp_path / "shared.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/shared.db")
    with begin(settings) as run:
        run.log_text("a", "a.txt")
    assert (tmp_path / "artifacts" / "quora" / run.id / "artifacts" / "a.txt").exists()
    assert list(Path.cwd().iterdir()) == []


def test_a_store_that_was_moved_with_its_project_is_warned_about_once(settings, tmp_path, caplog):
    with begin(settings):
        pass
    there = settings.root.rename(tmp_path / "there")
    for _ in range(2):
        open_store(Settings(True, None, there, "run"), "quora")
    (said,) = [message for message in caplog.messages if "was moved" in message]
    assert f"are still in {(settings.root / 'mlruns' / 'artifacts' / 'quora').as_uri()}" in said


def test_several_processes_that_open_a_store_that_is_not_there_yet_are_all_tracked(tmp_path):
    program = f"""
import sys
from pathlib import Path
from twicetold_lab.tracking import Settings, start
import twicetold_lab.tracking.store, mlflow.store.tracking.sqlalchemy_store  # imported now, so that all open it at once
print("ready", flush=True)
sys.stdin.read(1)
settings = Settings(True, None, Path({str(tmp_path)!r}), "run")
with start(settings, experiment="quora", name=sys.argv[1], tags={{"fingerprint": sys.argv[1]}}, params={{}}) as run:
    assert run.tracked
"""
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    command = [sys.executable, "-c", program]
    processes = [
        subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for n in range(4)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("x")
        process.stdin.flush()
    assert [process.wait(timeout=120) for process in processes] == [0] * 4
    found = runs(Settings(True, None, tmp_path, "run"))
    assert sorted(run.info.run_name for run in found) == ["0", "1", "2", "3"]
    assert {run.info.status for run in found} == {"FINISHED"}


def test_an_unknown_origin_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"origin must be one of .*, got 'cron'"):
        Settings(True, None, tmp_path, "cron")


# provenance


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.check_output(["git", *identity, *arguments], cwd=folder, text=True).strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one commit, which stands for the one that this code is in."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "src").mkdir()
    (folder / "src" / "code.py").write_text("1")
    (folder / "dvc.lock").write_text("1")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    monkeypatch.setattr(repository, "REPOSITORY", folder)
    repository._warn_once.cache_clear()
    return folder


def test_the_commit_is_a_tag_and_uncommitted_changes_are_marked(settings, checkout):
    commit = git(checkout, "rev-parse", "HEAD")
    (checkout / "dvc.lock").write_text("2")  # which runs write themselves
    with begin(settings) as clean:
        pass
    (checkout / "src" / "code.py").write_text("2")
    with begin(settings) as dirty:
        pass
    assert stored(settings, clean.id).data.tags["git"] == commit
    assert stored(settings, dirty.id).data.tags["git"] == f"{commit}+dirty"


def test_without_git_there_is_no_commit_and_one_warning(settings, checkout, monkeypatch, caplog):
    monkeypatch.setenv("PATH", "")
    for _ in range(2):
        with begin(settings) as run:
            pass
        assert "git" not in stored(settings, run.id).data.tags
    (said,) = caplog.messages
    assert said.startswith("runs have no commit: git cannot be asked: ")


def test_in_a_checkout_of_another_user_git_is_quoted_once_and_the_run_goes_on(settings, checkout, monkeypatch, caplog):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own switch for its own tests
    for _ in range(2):
        with begin(settings) as run:
            pass
        assert "git" not in stored(settings, run.id).data.tags
    (said,) = caplog.messages
    assert said.startswith(f"runs have no commit: git rev-parse in {checkout} says: fatal: detected dubious ownership")
    assert "git config --global --add safe.directory" in said


def test_without_a_repository_git_is_not_asked_about_the_folders_above(settings, checkout, monkeypatch):
    (checkout / "installed").mkdir()
    monkeypatch.setattr(repository, "REPOSITORY", checkout / "installed")
    with begin(settings) as run:
        pass
    assert "git" not in stored(settings, run.id).data.tags


# tracking switched off


def test_with_tracking_off_everything_works_and_mlflow_is_never_imported(tmp_path):
    program = f"""
import sys
from pathlib import Path
from twicetold_lab.tracking import Settings, describe_sweep, reopen, start, sweep_parent
root = Path({str(tmp_path)!r})
off = Settings(enabled=False, uri=None, root=root, origin="sweep")
parent = sweep_parent(off, experiment="quora", sweep_id="s", name="sweep")
(root / "file").write_text("x")
for make in (start, reopen):
    with make(off, experiment="quora", name="dae-0", tags={{"fingerprint": "f"}}, params={{"a": 1}}) as run:
        run.log_params({{"a": 1}})
        run.log_metrics({{"a": 1.0}}, 1)
        run.log_dataset("d", split="train", digest="x", source="y", counts={{}})
        run.log_file(root / "file"); run.log_text("x", "x.txt")
        assert run.log_model(root) is None
        assert (run.id, run.tracked, parent) == (None, False, None)
        describe_sweep(off, parent, experiment="quora", primary="auroc", best="a", texts={{}})
assert not any(name.split(".")[0] in ("mlflow", "torch", "pandas") for name in sys.modules)
assert [path.name for path in root.iterdir()] == ["file"]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_conf_gives_what_the_settings_need(tmp_path):
    values = yaml.safe_load((Path(__file__).parents[2] / "conf" / "evaluation.yaml").read_text())["tracking"]
    assert Settings(**values, root=tmp_path, origin="run") == Settings(True, None, tmp_path, "run")
