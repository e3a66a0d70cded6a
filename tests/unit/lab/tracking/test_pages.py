"""`make ui`: who serves MLflow's pages, and the port of printed addresses; MLflow itself is not started."""

import os
import shutil
import socket
import sys

import pytest

import ui
from twicetold_lab.tracking import Settings, addresses


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    return Settings(enabled=True, uri=None, root=tmp_path, origin="run")


@pytest.fixture
def store(settings, migrated):
    (settings.root / "mlruns").mkdir()
    shutil.copy(migrated, settings.root / "mlruns" / "mlflow.db")


@pytest.fixture
def asked(monkeypatch):
    """Call `make ui` with a port, which is free for now."""

    def call(port):
        monkeypatch.setattr(sys, "argv", ["ui.py", "--port", f"{port}"])
        ui.main()

    return call


@pytest.fixture
def listening():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        yield server


def test_make_ui_prints_an_address_for_each_dataset_and_becomes_the_server(
    settings, store, asked, listening, monkeypatch, capsys
):
    from twicetold_lab.tracking import start

    tags = {"data": "quora", "model": "dae", "seed": "0", "fingerprint": "f"}
    with start(settings, experiment="quora", name="dae-0", tags=tags, params={}) as run:
        run.describe_data("quora", kind="labelled_pairs", counts={}, primary="auroc")
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call))
    port = listening.getsockname()[1]
    asked(port)
    page = addresses(settings)["quora"].replace(":5000/", f":{port}/")
    assert f"  quora  {page}" in capsys.readouterr().out
    [(program, command, environment)] = calls
    assert (program, command[:4]) == (sys.executable, [sys.executable, "-m", "mlflow", "server"])
    assert {f"{port}", f"sqlite:///{settings.root}/mlruns/mlflow.db"} < {*command}
    assert environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] == "false"


def test_a_port_that_is_in_use_is_refused(store, asked, listening):
    listening.listen()
    port = listening.getsockname()[1]
    with pytest.raises(SystemExit, match=f"port {port} is in use: name another one, with PORT={port + 1} say"):
        asked(port)


def test_without_a_store_nothing_is_served_and_none_is_made(settings, asked):
    with pytest.raises(SystemExit, match="no MLflow store at"):
        asked(5050)
    assert not (settings.root / "mlruns").exists()


@pytest.mark.parametrize("port", ["0", "-1", "65536"])
def test_a_number_that_is_no_port_is_wrong_usage(port, asked, capsys):
    with pytest.raises(SystemExit, match="2"):
        asked(port)
    assert f"--port must be from 1 to 65535; got {port}" in capsys.readouterr().err


def test_the_pages_of_a_server_are_only_named(asked, monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracker.example:5000")
    monkeypatch.setattr(ui.tracking, "addresses", lambda _: {"quora": "http://tracker.example:5000/#/experiments/1"})
    asked(5050)
    assert "  quora  http://tracker.example:5000/#/experiments/1" in capsys.readouterr().out
