"""`twicetold check` as a user runs it, and docs/guides/checks.md, which shows each check."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twicetold import layout
from twicetold.commands import app
from twicetold.files import write_json
from twicetold_lab.runs.checks import CHECKS

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/guides/checks.md").read_text()
SHOWN = re.findall(r"^\$ (twicetold check .*)\n((?:(?!```|\$ ).*\n)*)", PAGE, re.MULTILINE)


@pytest.fixture
def leaking(tmp_path):
    """A run on data whose test texts are in train."""
    run = tmp_path / "runs/news-static-0"
    metrics = {"auroc": 0.9}
    write_json(run / layout.METRICS, {"val": metrics, "test": metrics})
    write_json(run / layout.SUMMARY, {"epochs": 3, "tuned_how": "by hand", "pretrained_on": []})
    audit = {"test": {"equal_texts_in_train": 0.5}}
    card = {"name": "news", "kind": "labelled_pairs", "card": {}, "audit": audit, "files": [], "mined": []}
    write_json(tmp_path / "data/cards/news.json", card)
    return run


def test_findings_come_first_and_an_error_is_exit_code_3(leaking, twicetold):
    done = twicetold("check", leaking)
    assert done.returncode == 3
    place, *lines = done.stdout.splitlines()
    assert place == str(leaking)
    assert (
        lines[0] == "  TW004 error, test text seen in train: 50.0% of the test texts are also in train, word for word"
    )
    assert all(" not checked, " in line for line in lines[1:-1])
    assert lines[-1] == "  clear: TW005, TW007, TW008"


def test_warnings_notes_and_what_is_not_checked_are_exit_code_0(leaking, twicetold):
    (leaking.parents[1] / "data/cards/news.json").unlink()
    assert twicetold("check", leaking).returncode == 0
    assert twicetold("check", leaking, leaking, "--select", "TW007").returncode == 0


def test_json_has_every_outcome_by_run(leaking, twicetold):
    done = twicetold("check", leaking, "--json", "--select", "TW004", "--select", "TW001")
    (found,) = json.loads(done.stdout).values()
    assert [(each["number"], each["severity"], each["state"]) for each in found] == [
        ("TW001", "warning", "not checked"),
        ("TW004", "error", "found"),
    ]


def test_the_page_describes_every_check_with_its_severity_and_shows_it_happen():
    described = re.findall(r"^## (TW\d{3}): (.+), (error|warning|note)$", PAGE, re.MULTILINE)
    assert described == [(each.number, each.title, each.severity) for each in CHECKS]
    for each in CHECKS:
        part = PAGE.partition(f"## {each.number}: ")[2].partition("\n## ")[0]
        assert f"{each.number} {each.severity}, {each.title}: " in part


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_of_the_page_finds_what_is_shown_but_for_the_values(command, output, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == (3 if " error, " in output else 0)

    def masked(text):
        return re.sub(r"\d+\.\d+%?", "#", text)

    assert masked(done.output) == masked(output)
