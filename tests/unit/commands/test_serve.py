"""`twicetold serve`: requests over HTTP, and its end."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

import twicetold as library
from twicetold.serving.request_tables import MAX_ROWS
from twicetold.serving.server import CONNECTIONS, GRACE


@pytest.fixture
def server(run, environment, tmp_path):
    """A running server: its process, its URL and its model."""
    folder = run("static")
    line = [sys.executable, "-m", "twicetold.commands", "serve", str(folder), "--port", "0"]
    (tmp_path / "tmp").mkdir()
    environment = {**environment, "TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen(line, env=environment, cwd=tmp_path, stdout=-1, stderr=-1, text=True)
    said = ""
    for said in process.stderr:
        if found := re.search(r"serving .* at (http://127\.0\.0\.1:\d+)$", said.rstrip()):
            break
    else:
        pytest.fail(f"the server ended: {said}")
    yield process, found[1], library.load(folder)
    process.kill()
    process.communicate()


def ask(url, params=None, **columns):
    table = {"columns": list(columns), "data": [*map(list, zip(*columns.values()))]}
    body = json.dumps({"dataframe_split": table, "params": params})
    request = urllib.request.Request(
        f"{url}/invocations", data=body.encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["predictions"]


@pytest.mark.slow
def test_it_answers_as_the_library_does_and_ctrl_c_ends_it_in_one_line(server):
    process, url, model = server
    pair = ["bank rate cut"], ["bank rate film"]
    found = ask(url, left=pair[0], right=pair[1])
    assert found[0]["score"] == pytest.approx(float(model.similarity(*pair)[0]))
    assert found[0]["probability"] == pytest.approx(float(model.predict_proba(*pair)[0]))
    assert found[0]["duplicate"] == bool(model.predict(*pair)[0])
    assert found[0]["about"] == model.about
    for label in model.decisions.labels:
        assert ask(url, {"about": label}, left=pair[0], right=pair[1])[0]["about"] == label
    assert ask(url, text=["bank rate"])[0]["embedding"] == pytest.approx(model.encode(["bank rate"])[0].tolist())
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (out, errors, process.returncode) == ("", "stopped\n", 130)


@pytest.mark.slow
def test_as_many_connections_as_are_promised_are_answered_and_one_more_is_not(server):
    place = ("127.0.0.1", int(server[1].rpartition(":")[2]))
    said = []
    with ExitStack() as stack:
        for _ in range(CONNECTIONS + 1):
            client = stack.enter_context(socket.create_connection(place, timeout=30))
            client.sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
            said.append(client.recv(1000).split()[1])
    assert said == [b"200"] * CONNECTIONS + [b"503"]


@pytest.mark.slow
def test_sigterm_as_of_docker_stop_ends_it_like_ctrl_c_and_leaves_no_copy_of_the_model(server, tmp_path):
    process, _, _ = server
    assert list((tmp_path / "tmp").iterdir())
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=60)
    assert (out, errors, process.returncode) == ("", "stopped\n", 130)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_taken_port_is_one_message(run, twicetold):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = twicetold("serve", run("static"), "--port", port)
    assert done.returncode == 1
    assert f"cannot listen at 127.0.0.1, port {port}" in done.stderr


def test_what_is_no_model_is_not_served(twicetold, tmp_path):
    done = twicetold("serve", tmp_path)
    assert done.returncode == 1
    assert "no trained model in" in done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_it_while_clients_keep_their_connections(server):
    process, url, _ = server
    place = ("127.0.0.1", int(url.rpartition(":")[2]))
    head = b"POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sent = [b"", head, head + b"Content-Length: 1000\r\n\r\n{", b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"]
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(place, timeout=30)) for _ in sent]
        for client, what in zip(clients, sent, strict=True):
            client.sendall(what)
        assert clients[-1].recv(1000).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=GRACE + 25)
    assert (out, errors, process.returncode) == ("", "stopped\n", 130)


@pytest.mark.slow
def test_a_large_body_gets_an_answer_and_leaves_the_server_small(server):
    process, url, _ = server
    memory = Path(f"/proc/{process.pid}/status")
    ask(url, text=["bank rate"])
    before = peak(memory)
    large = urllib.request.Request(f"{url}/invocations", b" " * 100_000_000, {"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(large, timeout=60)
    assert caught.value.code == 413
    assert "expected a body of at most" in json.load(caught.value)["message"]
    assert len(ask(url, text=["bank rate"] * MAX_ROWS)) == MAX_ROWS
    assert peak(memory) - before < 300_000  # kB


def peak(status):
    return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])
