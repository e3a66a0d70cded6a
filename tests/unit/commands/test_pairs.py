"""`twicetold pairs`, as a user runs it."""

import csv
import gzip
import io
import json
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold.commands import app

HEADER = "id,question1,question2\n"
PAIRS = [("bank rate cut", "rate cut"), ("film star", "drug trial"), ("game, vote", 'the "bank"')]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([HEADER.strip().split(","), *((n, *pair) for n, pair in enumerate(PAIRS))])
    return path


def call(*arguments, stdin=None):
    """In this process, which has imported PyTorch already."""
    done = CliRunner().invoke(app, ["pairs", *map(str, arguments)], input=stdin, env={"COLUMNS": "200"})
    return done


def test_from_a_file_to_a_file(file, run, twicetold, tmp_path):
    folder, out = run("static"), tmp_path / "out.jsonl"
    done = twicetold("pairs", folder, file, "-o", out, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    model = library.load(folder)
    expected = model.similarity(*map(list, zip(*PAIRS, strict=True)))
    assert [row["score"] for row in rows] == pytest.approx(expected.tolist(), abs=1e-6)
    assert [(row["id"], row["question1"], row["question2"]) for row in rows] == [
        (str(n), *pair) for n, pair in enumerate(PAIRS)
    ]
    assert summary["pairs"] == 3
    assert summary["duplicates"] == sum(row["duplicate"] for row in rows)
    assert summary["columns"] == ["question1", "question2"]
    assert done.stderr.startswith("3 pairs of question1 and question2, ")


def test_through_pipes(file, run, environment, tmp_path):
    """Rows alone go to stdout, and a reader that has enough ends the command quietly."""
    line = f"gunzip -c many.csv.gz | '{sys.executable}' -m twicetold pairs '{run()}' - --format csv"
    with gzip.open(tmp_path / "many.csv.gz", "wt") as out:
        out.write(HEADER + "1,bank rate,rate cut\n" * 20_000)
    options = {"shell": True, "env": environment, "cwd": tmp_path, "capture_output": True, "text": True}
    done = subprocess.run(f"{line} | tail -n 1", check=True, **options)
    assert done.stdout.startswith("1,bank rate,rate cut,0.")
    assert done.stderr.startswith("20,000 pairs of")
    done = subprocess.run(f"{line} --skip-bad | head -n 2", check=True, **options)
    assert done.stdout.startswith(HEADER.strip() + ",score,probability,duplicate\n1,bank rate,rate cut,0.")
    assert done.stderr == ""


def test_ctrl_c_leaves_the_former_file_and_nothing_else(run, environment, tmp_path):
    folder, out = run(), tmp_path / "out" / "out.csv"
    out.parent.mkdir()
    out.write_text("former")
    line = [sys.executable, "-m", "twicetold", "pairs", str(folder), "-", "-o", str(out), "--format", "csv"]
    process = subprocess.Popen(
        line, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write(HEADER + "1,bank rate,rate cut\n" * 60_000)  # it waits for more
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    printed = process.stderr.read()
    process.stdin.close()
    assert printed == "stopped\n"
    assert process.returncode in (130, -signal.SIGINT)
    assert [path.name for path in out.parent.iterdir()] == ["out.csv"]
    assert out.read_text() == "former"


def test_bad_rows_end_it_before_anything_is_written(file, run, tmp_path):
    file.write_text(file.read_text() + "3,,bank\n4,too,many,fields\n")
    for out in (tmp_path / "out.csv", "-"):
        done = call(run(), file, "-o", out)
        assert done.exit_code == 1
        assert done.stdout == ""
        assert "2 rows cannot be used" in done.stderr
        assert "line 5, column 'question1': expected a text, not an empty one" in done.stderr
        assert "line 6: expected 3 fields" in done.stderr
    assert not (tmp_path / "out.csv").exists()
    done = call(run(), file, "-o", "-", "--skip-bad")
    assert done.exit_code == 0
    assert [row["id"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["0", "1", "2"]
    assert "bad rows left out: 2\n  line 5, " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{model}", "none.csv"], 1, "there is no file"),
        (["{model}", "{file}", "--left", "question"], 1, "name both columns of a pair"),
        (["{model}", "{file}", "--left", "id", "--right", "quest"], 1, "no column 'quest'. Did you mean 'question"),
        (["{model}", "{file}", "-o", "out.data", "--format", "excel"], 1, "expected one of csv, tsv, jsonl, parquet"),
        (["{model}", "-"], 1, "standard input: cannot tell the format from the name; say --format csv"),
        (["{model}", "{file}", "--json"], 2, "name another file"),
    ],
)
def test_what_cannot_be_done_is_one_message(arguments, code, message, file, run):
    places = {"model": run(), "file": file}
    done = call(*(argument.format(**places) for argument in arguments))
    assert done.exit_code == code
    assert message in done.stderr
    assert done.stdout == ""


def test_a_fitted_model_answers_by_the_matcher_and_says_so(file, tmp_path):
    model = tmp_path / "model"
    fitted = library.fit([text for pair in PAIRS for text in pair], lexical=True, folder=model)
    done = call(model, file, "-o", tmp_path / "out.csv", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["evidence"] == "the generic matcher (not calibrated on this file)"
    assert "probabilities rest on the generic matcher" in done.stderr
    with (tmp_path / "out.csv").open() as out:
        probability = [float(row["probability"]) for row in csv.DictReader(out)]
    assert probability == fitted.predict_proba(*map(list, zip(*PAIRS, strict=True))).tolist()
