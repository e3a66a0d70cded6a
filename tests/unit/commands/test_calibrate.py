"""`twicetold calibrate` as a person uses it."""

import json

import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold import layout
from twicetold.commands import app
from twicetold_lab.reporting.model_card import model_card


@pytest.fixture
def pairs(questions, tmp_path):
    """A file of labelled pairs of the tiny questions, in columns of the usual names."""
    texts = questions.texts.to_pylist()
    rows = [f"{texts[n]},{texts[n + 1]},{int(n % 3 != 2)}" for n in range(59)]  # three texts are a story
    (tmp_path / "pairs.csv").write_text("\n".join(["question1,question2,label", *rows]) + "\n")
    return tmp_path / "pairs.csv"


def test_the_new_folder_decides_by_the_new_threshold(twicetold, run, pairs, tmp_path):
    model = run()
    done = twicetold("calibrate", model, pairs, "-o", "new", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["pairs"], found["out"]) == (59, "new")
    assert set(found["fitted"]) == set(found["stored"]) == {"accuracy", "precision", "recall", "log_loss"}
    assert "59 pairs, 40 duplicates" in done.stderr
    assert "after: on labels that a decision was not fitted to. The model is in new" in done.stderr
    assert "dedupe and index have no threshold for a precision: only pairs that label drew from" in done.stderr
    new, old = library.load(tmp_path / "new"), library.load(model)
    after, before = (model_card(each.folder) for each in (new, old))
    assert "the threshold was chosen on 59 labelled pairs of `pairs.csv`" in after
    assert "the threshold was chosen on validation" in before
    assert new.threshold == found["after"]["threshold"]
    assert old.threshold == found["before"]["threshold"] != new.threshold
    assert new.similarity(["bank rate"], ["rate cut"]) == old.similarity(["bank rate"], ["rate cut"])


def test_what_cannot_be_used_is_named_and_no_folder_is_left(run, pairs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = run()
    (tmp_path / "few.csv").write_text("left,right,label\na,b,1\nc,d,0\n")
    for arguments, said in (
        ((model, "few.csv", "-o", "new"), "expected at least 20 labelled pairs"),
        ((model, "nowhere.csv", "-o", "new"), "there is no file"),
        ((model, pairs, "-o", "new", "--label", "same"), "there is no column 'same'"),
    ):
        done = CliRunner().invoke(app, ["calibrate", *map(str, arguments)])
        assert done.exit_code == 1, arguments
        assert said in done.stderr, arguments
        assert not (tmp_path / "new").exists()
        assert not list(tmp_path.glob(".tmp-*"))


def test_a_model_folder_is_replaced_only_if_asked(run, pairs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, runner = run(), CliRunner()
    command = ["calibrate", str(model), str(pairs), "-o", "new"]
    assert runner.invoke(app, command).exit_code == 0
    again = runner.invoke(app, command)
    assert again.exit_code == 1
    assert "or replace it with --force" in again.stderr
    assert runner.invoke(app, [*command, "--force"]).exit_code == 0
    assert (tmp_path / "new" / layout.WEIGHTS).is_file()


def test_what_is_no_better_is_not_written(run, pairs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    assert runner.invoke(app, ["calibrate", str(run()), str(pairs), "-o", "good"]).exit_code == 0
    again = ["calibrate", "good", str(pairs), "-o", "new"]  # the stored decision was fitted to these very pairs
    done = runner.invoke(app, [*again, "--json"])
    assert done.exit_code == 3
    assert not (tmp_path / "new").exists()
    assert not json.loads(done.stdout)["written"]
    assert "was not fitted to. Nothing was written" in done.stderr
    assert "do not show that the new probabilities are better than the stored ones" in done.stderr


def test_labels_by_which_a_higher_score_is_less_alike_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    same = [("bank rate cut", "a bank rate cut"), ("film star award", "the film star award")] * 15
    other = [("bank rate cut", "film star award"), ("drug trial", "the bank rate")] * 15
    library.fit([text for pair in same + other for text in pair], lexical=True, folder=tmp_path / "model")
    for swapped in (True, False):
        rows = [f"{a},{b},{int(not swapped)}" for a, b in same] + [f"{a},{b},{int(swapped)}" for a, b in other]
        (tmp_path / "pairs.csv").write_text("\n".join(["left,right,label", *rows]) + "\n")
        done = CliRunner().invoke(app, ["calibrate", "model", "pairs.csv", "-o", "new"])
        assert done.exit_code == (3 if swapped else 0), done.output
        assert ("is 1 the label of duplicates?" in done.stderr) == swapped
        assert (tmp_path / "new").exists() == (not swapped)
