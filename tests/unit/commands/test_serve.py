"""`twicetold serve`: requests over HTTP, and its end."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

import twicetold as library


@pytest.fixture
def server(run, environment, tmp_path):
    """A running server: its process, its URL and its model."""
    folder = run("static")
    line = [sys.executable, "-m", "twicetold.commands", "serve", str(folder), "--port", "0"]
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


def ask(url, **columns):
    body = json.dumps({"dataframe_split": {"columns": list(columns), "data": [*map(list, zip(*columns.values()))]}})
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
    assert ask(url, text=["bank rate"])[0]["embedding"] == pytest.approx(model.encode(["bank rate"])[0].tolist())
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (out, errors, process.returncode) == ("", "stopped\n", 130)


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
