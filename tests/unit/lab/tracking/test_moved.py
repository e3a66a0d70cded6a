"""A store that was moved or copied with its project: where its runs and models are afterwards, and what is said."""

import logging
import shutil
import sqlite3

import pytest

from twicetold_lab.tracking import Settings, moved, start
from twicetold_lab.tracking.store import existing, open_store

TAGS = {"data": "quora", "model": "dae", "seed": "0", "fingerprint": "f00d"}


@pytest.fixture
def project(migrated, tmp_path, monkeypatch):
    """A project whose store has a run with an artifact."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    moved._warn_once.cache_clear()
    folder = tmp_path / "a project"
    (folder / "mlruns").mkdir(parents=True)
    shutil.copy(migrated, folder / "mlruns" / "mlflow.db")
    write(folder, "roc.csv")
    return folder


def of(folder):
    return Settings(enabled=True, uri=None, root=folder, origin="run")


def write(folder, file):
    """Log a text in a run of its own; returns the run's id."""
    with start(of(folder), experiment="quora", name="dae-0", tags=TAGS, params={}) as run:
        run.log_text("a text", file)
    assert run.tracked
    return run.id


def artifacts(folder):
    """File names of the artifacts of all runs, as MLflow finds them."""
    store = open_store(of(folder), "quora")
    runs = store.client.search_runs([store.experiment_id])
    return sorted(file.path for run in runs for file in store.client.list_artifacts(run.info.run_id))


def files(folder):
    return sorted(file.name for file in (folder / "mlruns" / "artifacts").rglob("*") if file.is_file())


def test_runs_of_a_project_that_was_moved_are_read_and_written_at_the_new_place(project, tmp_path, caplog):
    there = tmp_path / "elsewhere" / "b project"
    there.parent.mkdir()
    project.rename(there)
    with caplog.at_level(logging.WARNING):
        run = write(there, "new.csv")
    assert artifacts(there) == ["new.csv", "roc.csv"]
    assert files(there) == ["new.csv", "roc.csv"]
    assert not project.exists()
    (said,) = caplog.messages
    assert f"the store was moved from {project}/mlruns to {there}/mlruns: 1 experiments, 1 runs and 0 models" in said
    found = open_store(of(there), "quora").client.get_run(run)
    assert found.info.artifact_uri.startswith((there / "mlruns").as_uri())
    assert len(caplog.messages) == 1, "it is mended once"


def test_a_store_that_was_moved_is_mended_by_whoever_reads_it_first(project, tmp_path):
    project.rename(tmp_path / "moved")
    existing(of(tmp_path / "moved"))  # as the pages and comparisons open it
    with sqlite3.connect(tmp_path / "moved" / "mlruns" / "mlflow.db") as store:
        addresses = [
            address
            for table, columns in moved.ADDRESSES.items()
            for column in columns
            for (address,) in store.execute(f"SELECT {column} FROM {table} WHERE {column} LIKE '%project%'")
        ]
    assert addresses == []


def test_a_copy_of_a_project_has_runs_of_its_own_and_leaves_the_original_alone(project, tmp_path):
    shutil.copytree(project, tmp_path / "copy")
    write(tmp_path / "copy", "new.csv")
    assert files(tmp_path / "copy") == artifacts(tmp_path / "copy") == ["new.csv", "roc.csv"]
    assert files(project) == artifacts(project) == ["roc.csv"]


def test_a_store_that_was_moved_without_its_artifacts_says_so_once_and_names_both_places(project, tmp_path, caplog):
    (tmp_path / "copy" / "mlruns").mkdir(parents=True)
    shutil.copy(project / "mlruns" / "mlflow.db", tmp_path / "copy" / "mlruns")
    for _ in range(2):
        assert artifacts(tmp_path / "copy") == ["roc.csv"]
    (said,) = caplog.messages
    assert "was moved without its artifacts: those of quora are read from and written to" in said
    assert f"move that folder to {tmp_path}/copy/mlruns/artifacts" in said
    assert f"{project}/mlruns/artifacts" in said


def test_a_project_behind_a_link_and_artifacts_of_ones_own_choice_stay_where_they_are(project, tmp_path, caplog):
    (tmp_path / "link").symlink_to(project)
    assert artifacts(tmp_path / "link") == ["roc.csv"]
    client = existing(of(project))
    client.create_experiment("own", artifact_location=(tmp_path / "large disk").as_uri())
    client.create_experiment("bucket", artifact_location="s3://bucket/artifacts/bucket")
    project.rename(tmp_path / "moved")
    found = {one.name: one.artifact_location for one in existing(of(tmp_path / "moved")).search_experiments()}
    assert found["own"] == (tmp_path / "large disk").as_uri()
    assert found["bucket"] == "s3://bucket/artifacts/bucket"
    assert found["quora"] == (tmp_path / "moved" / "mlruns" / "artifacts" / "quora").as_uri()
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_what_is_no_store_is_left_to_mlflow(content, tmp_path):
    if content is not None:
        (tmp_path / "mlflow.db").write_bytes(content)
    moved.mend(tmp_path / "mlflow.db")
    assert (tmp_path / "mlflow.db").exists() is (content is not None)
