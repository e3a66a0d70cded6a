"""`ask --by`: answers of a command, the example of the guide with a stand-in for a chat server, and what goes wrong."""

import csv
import json
import re
import shlex
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from twicetold.commands import _by

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs/guides/dedupe.md"
ASK = ("ask", "products.csv", "--compare", "letters", "-n", 3)
ANSWERS = """
import json, sys
for number, line in enumerate(sys.stdin):
    question = json.loads(line)
    print(line, file=open("questions.txt", "a"))
    print(json.dumps({"same": [True, None, False][number]}), flush=True)
"""


@pytest.fixture(autouse=True)
def file(tmp_path):
    (tmp_path / "products.csv").write_bytes((ROOT / "examples/products.csv").read_bytes())
    return tmp_path / "products.csv.answers.csv"


def rows(file):
    return list(csv.DictReader(file.read_text().splitlines()))


def python(code):
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def test_answers_of_a_command_go_to_the_same_file_with_its_name_and_measure_nothing(twicetold, file, tmp_path):
    twicetold("ask", "products.csv", "--compare", "letters", "--on", "title,model", "-n", 1, input="n\n")
    done = twicetold(*ASK, "--on", "title,model", "--by", python(ANSWERS), input="y\n")
    assert done.returncode == 0, done.stderr
    assert f"up to 2 questions, each with both texts and the columns model, go to the command {sys.executable}" in (
        done.stderr
    )
    assert [(row["same"], row["by"]) for row in rows(file)] == [("0", ""), ("1", sys.executable), ("", sys.executable)]
    asked = [json.loads(line) for line in (tmp_path / "questions.txt").read_text().split("\n") if line]
    assert [each["left"]["text"] for each in asked] == [row["left_text"] for row in rows(file)[1:]]
    assert [list(each["right"]) for each in asked] == [["text", "model"]] * 2
    twicetold("label", "products.csv", "--compare", "letters", "-o", "pairs.csv", "-n", 2)
    assert "got 1, of which 0 are" in twicetold("calibrate", "pairs.csv.model", file.name, "-o", "model").stderr
    done = twicetold("dedupe", "products.csv", "--compare", "letters", "--pairs", file.name, "-o", "out.csv")
    group = [row["group"] for row in rows(tmp_path / "out.csv")]
    assert [group[int(row["left"]) - 1] == group[int(row["right"]) - 1] for row in rows(file)[:2]] == [False, True]


def test_fifty_are_asked_and_none_before_a_person_agrees(twicetold, file, tmp_path):
    done = twicetold("ask", "products.csv", "--compare", "letters", "--by", python(ANSWERS), input="n\n")
    assert done.returncode == 1
    assert "up to 50 questions, each with both texts, go" in done.stderr
    assert not (tmp_path / "questions.txt").exists()
    assert not file.exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(3)", "ended early, with exit code 3"),
        ("input(); print('yes')", """expected a line such as {"same": true}, with true, false or null; """),
        ("""input(); print('{"same": "yes"}')""", "expected a line such as"),
        ("""input(); print('{"same": false}')""", "ended early, with exit code 0"),
        ("import time; time.sleep(60)", "within 1 s: earlier ones are kept"),
    ],
)
def test_a_command_that_does_not_answer_is_named_and_earlier_answers_are_kept(
    twicetold, file, monkeypatch, code, message
):
    monkeypatch.setattr(_by, "PATIENCE", 5.0 if "time" not in code else 1.0)
    done = twicetold(*ASK, "--yes", "--by", python(code))
    assert done.returncode == 1
    assert message in done.stderr
    assert len(rows(file) if file.exists() else []) == ("false" in code)


def test_a_program_that_is_missing_is_named_before_texts_are_read(twicetold, file):
    for by, message in (
        ("no-such-program x", "no program 'no-such-program'"),
        ("'open", "No closing"),
        ("", "no program"),
    ):
        done = twicetold("ask", "no-such-file.csv", "--by", by)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.replace("│", " ").split())
    done = twicetold(*ASK, "--by", python(""), "--browser")
    assert "leave one of them out" in " ".join(done.stderr.replace("│", " ").split())


class Chat(BaseHTTPRequestHandler):
    """A stand-in for a server of the usual chat interface."""

    asked: ClassVar = []

    def do_POST(self):
        assert self.path == "/v1/chat/completions"
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        same = len(self.asked) != 2
        said = {"choices": [{"message": {"content": f"{'Yes' if same else 'no'}."}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *arguments):
        pass


def test_the_command_of_the_guide_asks_a_chat_server(twicetold, file, tmp_path, monkeypatch):
    code = re.search(r"```python\n(# chat.py\n.*?)```", GUIDE.read_text(), re.DOTALL)[1]
    assert len(code.splitlines()) <= 11
    (tmp_path / "chat.py").write_text(code)
    with HTTPServer(("127.0.0.1", 0), Chat) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("CHAT_URL", f"http://127.0.0.1:{server.server_port}/v1/chat/completions")
        done = twicetold(*ASK, "--yes", "--by", f"{shlex.quote(sys.executable)} chat.py")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert [row["same"] for row in rows(file)] == ["1", "0", "1"]
    content = Chat.asked[0]["messages"][-1]["content"]
    assert all(rows(file)[0][side] in content for side in ("left_text", "right_text"))
