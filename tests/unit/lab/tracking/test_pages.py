"""Who serves MLflow's pages of a local store, and the port that printed addresses have; MLflow itself is replaced."""

import shutil
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

import ui
from twicetold_lab.tracking import Settings, addresses, pages
from twicetold_lab.tracking.pages import runs_page

SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Healthy).serve_forever()
"""


@pytest.fixture
def settings(migrated, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(pages, "_command", lambda uri, port: [sys.executable, "-c", SERVER, f"{port}"])
    monkeypatch.setattr(pages, "FIRST", free_port())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlruns").mkdir()
    shutil.copy(migrated, tmp_path / "mlruns" / "mlflow.db")
    return Settings(enabled=True, uri=None, root=tmp_path, origin="run")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def port(settings):
    return int(runs_page(settings, "1").partition("127.0.0.1:")[2].partition("/")[0])


def test_printed_addresses_have_the_port_that_is_served_and_afterwards_the_first_one_again(settings):
    other = free_port()
    assert port(settings) == pages.FIRST
    with pages.served(settings, other):
        assert port(settings) == other
        with urllib.request.urlopen(f"http://127.0.0.1:{other}/health") as answer:
            assert answer.status == 200
    assert port(settings) == pages.FIRST
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{other}/health")


def test_pages_are_waited_for_without_a_proxy(settings, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")  # nobody answers there
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    port = free_port()
    server = subprocess.Popen(pages._command("", port))
    late = threading.Timer(20, server.kill)
    late.start()
    try:
        pages._wait_for(server, port)
    finally:
        late.cancel()
        server.kill()
        server.wait()


def test_a_port_that_a_killed_server_left_behind_is_not_believed(settings):
    (settings.root / "mlruns" / pages.NOTE).write_text(f"{free_port()}")
    assert port(settings) == pages.FIRST
    (settings.root / "mlruns" / pages.NOTE).write_text("no port")
    assert port(settings) == pages.FIRST


def test_without_a_named_port_the_first_free_one_is_taken_and_a_named_one_that_is_in_use_is_refused(settings):
    with socket.socket() as other:
        other.bind(("127.0.0.1", pages.FIRST))
        other.listen()
        with (
            pytest.raises(ValueError, match=f"port {pages.FIRST} is in use: name another one, with PORT="),
            pages.served(settings, pages.FIRST),
        ):
            pass
        with pages.served(settings):
            assert port(settings) > pages.FIRST


def test_a_store_is_served_once(settings):
    with (
        pages.served(settings) as _,
        pytest.raises(ValueError, match=f"served already, at http://127.0.0.1:{port(settings)}"),
        pages.served(settings, free_port()),
    ):
        pass


def test_a_server_that_ends_at_once_is_an_error(settings, monkeypatch):
    monkeypatch.setattr(pages, "_command", lambda *_: [sys.executable, "-c", "raise SystemExit(1)"])
    with pytest.raises(ValueError, match="MLflow ended before it answered"), pages.served(settings):
        pass
    assert not (settings.root / "mlruns" / pages.NOTE).exists()


def test_without_a_store_nothing_is_served_and_none_is_made(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with (
        pytest.raises(FileNotFoundError, match="no MLflow store at"),
        pages.served(Settings(enabled=True, uri=None, root=tmp_path, origin="run")),
    ):
        pass
    assert not (tmp_path / "mlruns").exists()


def test_make_ui_prints_an_address_for_each_dataset(settings, monkeypatch, capsys):
    from twicetold_lab.tracking import start

    tags = {"data": "quora", "model": "dae", "seed": "0", "fingerprint": "f"}
    with start(settings, experiment="quora", name="dae-0", tags=tags, params={}) as run:
        run.describe_data("quora", kind="labelled_pairs", counts={}, primary="auroc")
    other = free_port()
    monkeypatch.setattr(sys, "argv", ["ui.py", "--port", f"{other}"])
    monkeypatch.setattr(pages.subprocess.Popen, "wait", lambda server, timeout=None: server.poll())
    ui.main()
    told = capsys.readouterr().out
    page = addresses(settings)["quora"].replace(f":{pages.FIRST}/", f":{other}/")
    assert f"  quora  {page}" in told


@pytest.mark.parametrize("port", ["0", "-1", "65536"])
def test_a_number_that_is_no_port_is_wrong_usage(settings, port, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ui.py", "--port", port])
    with pytest.raises(SystemExit, match="2"):
        ui.main()
    assert f"--port must be from 1 to 65535; got {port}" in capsys.readouterr().err


def test_the_pages_of_a_server_are_only_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracker.example:5000")
    monkeypatch.setattr(sys, "argv", ["ui.py"])
    monkeypatch.setattr(ui.tracking, "addresses", lambda _: {"quora": "http://tracker.example:5000/#/experiments/1"})
    ui.main()
    assert "  quora  http://tracker.example:5000/#/experiments/1" in capsys.readouterr().out
