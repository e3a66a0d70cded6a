"""Every command, with names and texts of others: no markup is read, no control character reaches the terminal."""

import json
import re
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from twicetold.commands import app

EVIL = "[bold]x[/y]\x1b]0;owned\x07\x1b[2J\x9b2J:boom:"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
ABSENT = {
    "score": [("{}", "a", "b"), ("{}", "{}", "{}", "--json")],
    "pairs": [("{}", "{}"), ("{model}", "{}"), ("{model}", "{pairs}", "--left", "{}", "--right", "{}")],
    "dedupe": [
        ("{}", "{}"),
        ("{model}", "{}"),
        ("{model}", "{texts}", "--text", "{}"),
        ("{model}", "{texts}", "--same", "{}"),
    ],
    "link": [
        ("{texts}", "{}"),
        ("{texts}", "{pairs}", "--text", "text={}"),
        ("{texts}", "{pairs}", "--text", "text=left", "--same", "{}"),
    ],
    "index": [
        ("build", "{}", "{texts}", "-o", "{}"),
        ("build", "{model}", "{texts}", "-o", "x", "--id", "{}"),
        ("add", "{}", "{texts}"),
        ("remove", "{}", "{}"),
        ("info", "{}"),
        ("{}",),
    ],
    "search": [("{}", "{}"), ("{index}", "--file", "{}"), ("{index}", "a", "--model", "{}")],
    "label": [("{}", "{texts}", "-o", "x.csv"), ("{model}", "{}", "-o", "x.csv"), ("{model}", "{texts}", "-o", "{}")],
    "ask": [("{}",), ("{texts}", "--text", "{}"), ("{texts}", "--compare", "{}")],
    "calibrate": [
        ("{}", "{pairs}", "-o", "x"),
        ("{model}", "{}", "-o", "x"),
        ("{model}", "{pairs}", "-o", "x", "--label", "{}"),
    ],
    "card": [("{}",)],
    "check": [("{}",), ("{model}",), ("{model}", "--select", "{}")],
}


@pytest.fixture
def call(run, migrated, tmp_path, monkeypatch):
    """Calls a command in a folder with a model, an index, files and a store, all with such names and texts."""
    (tmp_path / "mlruns").mkdir()
    shutil.copy(migrated, tmp_path / "mlruns" / "mlflow.db")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    place = Path(EVIL)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(run("static"), place)
    words = ("bank rate", "bank rate cut", "film star", "film star")
    texts = [f"{each} {EVIL}" for each in words]
    rows = [{"id": f"{number}{EVIL}", "text": text, EVIL: text} for number, text in enumerate(texts)]
    Path("texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    pairs = [{"left": a, "right": b, "label": str(int(a == b))} for a in texts for b in texts] * 4
    Path("pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in pairs))
    names = {"{}": EVIL + "?", "{model}": EVIL, "{texts}": "texts.jsonl", "{pairs}": "pairs.jsonl", "{index}": "index"}
    runner = CliRunner()

    def _call(*arguments, code=0, input=None):
        line = [re.sub(r"\{\w*\}", lambda found: names[found[0]], each) for each in arguments]
        done = runner.invoke(app, line, input=input)
        assert done.exception is None or isinstance(done.exception, SystemExit), (line, done.exception)
        if code is not None:
            assert done.exit_code == code, (line, done.output)
        assert "Traceback" not in done.output
        assert not CONTROL.search(done.output), (line, done.output)
        return done

    _call("index", "build", "{model}", "{texts}", "-o", "index", "--id", "id", "--threshold", "0.01")
    return _call


def test_every_command_is_tried():
    commands = typer.main.get_command(app)
    assert set(ABSENT) == set(commands.list_commands(None))


@pytest.mark.parametrize("command", ABSENT)
def test_a_name_that_is_not_there_is_one_message_without_markup(call, command):
    for arguments in ABSENT[command]:
        done = call(command, *arguments, code=None)
        assert done.exit_code in (1, 2), (command, arguments, done.output)
        assert "error" in done.output.lower(), (command, arguments, done.output)


def test_texts_and_names_of_others_are_shown_as_they_stand_but_for_controls(call):
    shown = "[bold]x[/y]"
    assert "verdict" in call("score", "{model}", "{}", "bank rate").output
    call("score", "{model}", "bank {}", "bank rate", "--json")
    assert shown in call("dedupe", "{model}", "{texts}", "-o", "out.csv", "--threshold", "0.01").output
    assert shown in call("link", "{texts}", "{pairs}", "--text", "text=left", "-o", "linked.csv").output
    assert shown in call("search", "index", "bank rate").output
    assert shown in call("search", "index", "bank rate", "film {}").output
    assert shown in call("index", "info", "index").output
    assert shown in call("index", "remove", "index", "{}", code=1).output
    assert shown in call("label", "{model}", "{texts}", "-o", "labels.csv", input="y\nn\n").output
    call("label", "{model}", "{texts}", "-o", "labels.csv", "--report", "--json")
    call("pairs", "{model}", "{pairs}", "-o", "out.jsonl", "--json")
    call("calibrate", "{model}", "{pairs}", "-o", "[/z]")
    call("card", "{model}")


def test_json_and_files_have_the_very_texts(call):
    found = [json.loads(line) for line in call("search", "index", "bank rate", "--json").output.splitlines()]
    matches = found[0]["matches"]
    assert {each["text"] for each in matches} >= {f"bank rate {EVIL}"}
    assert all(EVIL in each["id"] for each in matches)
    about = json.loads(call("index", "info", "index", "--json").stdout)
    assert f"/{EVIL}" in about["model"]
    call("pairs", "{model}", "{pairs}", "-o", "out.jsonl")
    assert json.loads(Path("out.jsonl").read_text().splitlines()[0])["left"] == f"bank rate {EVIL}"
