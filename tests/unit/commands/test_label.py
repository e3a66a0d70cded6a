"""`twicetold label` as a person or a script uses it: answers by lines and by keys, stops of every kind."""

import csv
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import pytest
from typer.testing import CliRunner

from twicetold.commands import app

LIMIT = 240  # seconds until a command counts as hung
LOCAL = 3  # position of the local modes in what `tcgetattr` returns


@pytest.fixture
def texts(questions, tmp_path):
    """A file of texts, and one column more."""
    rows = [f"{number},{text}" for number, text in enumerate(questions.texts.to_pylist())]
    (tmp_path / "texts.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    return "texts.csv"


@pytest.fixture
def start(environment, tmp_path):
    """Starts the command and leaves it running."""
    running = []

    def _start(*arguments, **options):
        line = [sys.executable, "-m", "twicetold", *map(str, arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running.append(subprocess.Popen(line, env=environment, cwd=tmp_path, **{**pipes, **options}))
        return running[-1]

    yield _start
    for process in running:
        process.kill()
        process.wait()


def labels(tmp_path):
    file = tmp_path / "pairs.csv"
    return [row["label"] for row in csv.DictReader(file.open())] if file.exists() else []


def wait_for_labels(tmp_path, count):
    end = time.monotonic() + LIMIT
    while len(labels(tmp_path)) < count:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_answers_by_lines_stop_at_the_end_of_the_input_and_go_on_later(twicetold, run, texts, tmp_path):
    command = ("label", run(), texts, "-o", "pairs.csv", "-n", 12)
    done = twicetold(*command, input="y\nNO\nb\ny\n?\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "1 of 12" in done.stderr
    assert "2 of 12 pairs labelled, 1 skipped: 2 duplicates. In pairs.csv" in done.stderr
    assert labels(tmp_path) == ["1", "1"]
    done = twicetold(*command, "--json", input="n\n" * 20)
    assert done.returncode == 0, done.stderr
    assert "4 of 12" in done.stderr
    assert "3 of 12" not in done.stderr
    assert "* the stored threshold" in done.stderr
    report = json.loads(done.stdout)
    counts = ("drawn", "labelled", "skipped", "labelled_duplicates")
    assert [report[name] for name in counts] == [12, 11, 1, 2]
    stored = [row for row in report["thresholds"] if row["threshold"] == report["threshold"]]
    assert len(stored) == 1
    assert 0 <= stored[0]["recall"] <= 1
    assert labels(tmp_path) == ["1", "1"] + ["0"] * 9


def test_kill_9_loses_no_answer_and_ctrl_c_ends_in_one_line(start, run, texts, tmp_path):
    command = ("label", run(), texts, "-o", "pairs.csv", "-n", 15)
    for number, stop in enumerate((signal.SIGKILL, signal.SIGINT), start=1):
        process = start(*command)
        process.stdin.write(b"y\nn\ny\n")
        process.stdin.flush()
        wait_for_labels(tmp_path, 3 * number)
        process.send_signal(stop)
        _, printed = process.communicate(timeout=LIMIT)
        assert process.returncode in (-stop, 130)
        assert b"Traceback" not in printed
        assert labels(tmp_path) == ["1", "0", "1"] * number
    assert printed.decode().endswith("stopped\n")


def test_keys_of_a_terminal_and_one_labelling_at_a_time(start, twicetold, run, texts, tmp_path):
    command = ("label", run(), texts, "-o", "pairs.csv", "-n", 5)
    screen, terminal = pty.openpty()
    process = start(*command, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown, sent = b"", 0
    keys = (b"y", b"?", b"n", b"b", b"q")
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if not select.select([screen], [], [], 0.2)[0]:
            continue
        try:
            shown += os.read(screen, 65536)
        except OSError:  # the other side is closed
            break
        if sent < len(keys) and shown.count(b"s stop") > sent:
            while termios.tcgetattr(screen)[LOCAL] & termios.ICANON:  # a key before the command reads keys is lost
                assert time.monotonic() < end
                time.sleep(0.01)
            if sent == 2:
                second = twicetold(*command, input="")
                assert second.returncode == 1
                assert "does this already: label pairs.csv" in second.stderr
            os.write(screen, keys[sent])
            sent += 1
    assert process.wait(LIMIT) == 0
    assert sent == len(keys)
    assert "1 of 5 pairs labelled" in shown.decode()
    assert labels(tmp_path) == ["1"]


class Failure:
    def __init__(self, arguments, input=None):
        done = CliRunner().invoke(app, list(map(str, arguments)), input=input)
        self.code, self.said = done.exit_code, done.stderr


def test_what_cannot_be_used_is_named_and_nothing_is_written(run, texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = run()
    (tmp_path / "faulty.csv").write_text("id,text\n1,bank rate\n2,\n3,bank cut\n")
    (tmp_path / "one.csv").write_text("text\nbank\nbank\n")
    (tmp_path / "other.csv").write_text("id,name\n1,bank\n")
    for arguments, said in (
        ((model, "nowhere.csv"), "there is no file"),
        ((model, "faulty.csv"), "line 3, column 'text': expected a text"),
        ((model, "other.csv"), "which column has the texts? Name it with --text"),
        ((model, "one.csv"), "at least two different texts"),
        ((model, "-"), "standard input is for the answers"),
        ((model, texts, "--report"), "no labelling was begun in pairs.csv"),
    ):
        failure = Failure(("label", *arguments, "-o", "pairs.csv"), input="y\n")
        assert failure.code == 1, arguments
        assert said in failure.said, arguments
        assert not list(tmp_path.glob("pairs.csv*"))
    assert Failure(("label", model, texts, "-o", "pairs.csv", "-n", 0)).code == 2
    stopped = Failure(("label", model, texts, "-o", "new.csv", "-n", 12), input="q\n")
    assert stopped.said.endswith("0 of 12 pairs labelled: 0 duplicates.\n")
    assert not (tmp_path / "new.csv").exists()
    skipping = Failure(("label", model, "faulty.csv", "-o", "pairs.csv", "--skip-bad"), input="y\n")
    assert skipping.code == 0
    assert "bad rows left out: 1" in skipping.said


def test_the_report_on_pairs_that_the_matcher_drew_has_its_probabilities(texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["label", str(texts), "--compare", "letters", "-o", "pairs.csv", "-n", "6", "--json"]
    done = CliRunner().invoke(app, arguments, input="y\n")
    assert "About 3 more labels would halve the intervals.\n" in done.stderr  # of the pairs that are drawn
    done = CliRunner().invoke(app, arguments, input="n\n")
    assert done.exit_code == 0, done.output
    assert "About 6 more labels would halve the intervals (--pairs 8).\n" in done.stderr
    assert {row["threshold"]: row["probability"] for row in json.loads(done.stdout)["thresholds"]}[0.0] == 0.5
    assert "* the matcher's threshold, about meaning" in done.stderr
    assert "threshold probability candidates" in done.stderr


def test_a_session_in_which_nothing_can_be_said_leaves_a_file_and_goes_on(twicetold, run, texts, tmp_path):
    command = ("label", run(), texts, "-o", "pairs.csv", "-n", 12)
    done = twicetold(*command, input="?\n" * 10)
    assert done.returncode == 0, done.stderr
    assert "0 of 12 pairs labelled, 10 skipped: 0 duplicates. In pairs.csv" in done.stderr
    assert (tmp_path / "pairs.csv").read_text().startswith("pair,left,right,label")
    assert labels(tmp_path) == []
    assert "10 skipped" in twicetold(*command[:1], texts, "-o", "pairs.csv", "--report").stderr
    done = twicetold(*command, input="?\nu\ny\ns\n")
    assert "1 of 12 pairs labelled, 10 skipped: 1 duplicate" in done.stderr
    assert labels(tmp_path) == ["1"]
    twicetold("label", *command[1:4], "other.csv", "-n", 12, input="?\nu\n")
    assert not (tmp_path / "other.csv").exists()
