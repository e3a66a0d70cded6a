"""`twicetold dedupe`."""

import csv
import gzip
import io
import json
import subprocess

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold.commands import app

TEXTS = ["bank rate cut film", "drug trial phone", "Bank  rate cut FILM", "bank rate cut film star", "vote game chip"]


@pytest.fixture
def questions_file(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text("id,question\n" + "".join(f"q{n},{text}\n" for n, text in enumerate(TEXTS)))
    return path


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_it_says_what_the_library_says(family, run, twicetold, questions_file, tmp_path):
    folder = run(family)
    done = twicetold("dedupe", folder, questions_file, "-o", "out.csv", "--links", "links.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    found = library.load(folder).dedupe(TEXTS)
    written = rows((tmp_path / "out.csv").read_text())
    assert [row["id"] for row in written] == [f"q{n}" for n in range(5)]
    assert [int(row["group"]) for row in written] == found.group.tolist()
    assert [int(row["representative"]) - 1 for row in written] == found.representative.tolist()
    probability = [float(row["probability_to_representative"]) for row in written]
    assert probability == pytest.approx(found.probability.tolist())
    links = [json.loads(line) for line in (tmp_path / "links.jsonl").read_text().splitlines()]
    assert [(link["left"], link["right"]) for link in links if link["exact"]] == [(1, 3)]
    pairs = [(link["left"] - 1, link["right"] - 1) for link in links if not link["exact"]]
    assert pairs == list(zip(found.links.left.tolist(), found.links.right.tolist()))
    assert all(link["left_text"] == TEXTS[link["left"] - 1] for link in links)
    summary = json.loads(done.stdout)
    assert summary["texts"] == 5
    assert summary["distinct"] == 4
    assert [group["size"] for group in summary["each_group"]] == found.table.size.tolist()


def test_nothing_is_dropped_unless_asked(run, twicetold, questions_file):
    folder = run()
    threshold = float(library.load(folder).decision.probability([0.99])[0])  # above any but exact duplicates
    options = ("--format", "csv", "--threshold", threshold)
    kept, dropped = (twicetold("dedupe", folder, questions_file, *options, *more) for more in ((), ("--drop",)))
    assert [row["question"] for row in rows(kept.stdout)] == TEXTS
    assert [row["question"] for row in rows(dropped.stdout)] == [TEXTS[row] for row in (0, 1, 3, 4)]
    assert "5 texts, 4 of them distinct" in dropped.stderr
    assert "1 groups of 2 texts" in dropped.stderr
    assert "calibration and default threshold come from labelled pairs" in dropped.stderr


def test_rows_come_through_a_pipe_and_go_to_any_format(run, twicetold, tmp_path):
    lines = "".join(json.dumps({"title": text, "n": n}) + "\n" for n, text in enumerate(TEXTS))
    done = twicetold("dedupe", run(), "-", "--format", "jsonl", "-o", "out.parquet", input=lines)
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "out.parquet")["group"].to_pylist()[2] == 0
    again = twicetold("dedupe", run(), "-", "--format", "jsonl", "-o", "out.csv.gz", input=lines)
    assert again.returncode == 0, again.stderr
    assert len(gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).splitlines()) == 6


def test_the_longest_text_represents_its_group(run, twicetold, questions_file):
    options = ("--keep", "longest", "--rule", "components", "--threshold", "0.5", "--format", "csv")
    first = rows(twicetold("dedupe", run(), questions_file, *options).stdout)[0]
    assert first["representative"] == "4"


def test_a_row_without_text_is_named_and_may_be_left_out(run, twicetold, questions_file, tmp_path):
    questions_file.write_text(questions_file.read_text() + 'q5," "\n')
    done = twicetold("dedupe", run(), questions_file, "-o", "out.csv")
    assert done.returncode == 1
    assert "line 7, column 'question': expected a text, not an empty one" in done.stderr
    assert not (tmp_path / "out.csv").exists()
    done = twicetold("dedupe", run(), questions_file, "-o", "out.csv", "--skip-bad")
    assert done.returncode == 0
    assert "bad rows left out: 1" in done.stderr
    assert len(rows((tmp_path / "out.csv").read_text())) == 5


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--precision", "0.9"), 1, "holds no thresholds for a precision: there is no precision.json"),
        (("--precision", "0.9", "--threshold", "0.9"), 1, "give a precision or a threshold, not both"),
        (("--threshold", "1.5"), 1, "threshold is between 0 and 1, got 1.5"),
        (("--text", "qestion"), 1, "Did you mean 'question'?"),
        (("--text", "group"), 1, "there is a column 'group' already"),
        (("--rule", "ward"), 2, "ward"),
        (("--json",), 2, "--json prints to stdout"),
        (("--rerank", "nowhere"), 1, "no trained model in nowhere"),
    ],
)
def test_wrong_options_are_named(options, code, message, run, questions_file):
    """In this process: what a process makes of errors is tested with the command as a whole."""
    if "group" in options:
        questions_file.write_text(questions_file.read_text().replace("id,", "group,"))
    done = CliRunner().invoke(app, ["dedupe", str(run()), str(questions_file), "--format", "csv", *options])
    assert done.exit_code == code
    assert message in done.stderr


def test_rows_and_links_in_one_file_are_refused_before_any_work(questions_file, tmp_path, monkeypatch):
    (tmp_path / "one.csv").write_text("mine")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "one.csv")
    (tmp_path / "soft.csv").symlink_to("one.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    pairs = [
        ("-", "-"),
        ("one.csv", "one.csv"),
        ("one.csv", "./one.csv"),
        ("one.csv", tmp_path / "one.csv"),
        ("one.csv", "hard.csv"),
        ("one.csv", "soft.csv"),
        ("new.csv", "folder/new.csv"),
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    for out, links in pairs:
        line = ["dedupe", "no model", str(questions_file), "-o", str(out), "--links", str(links)]
        done = CliRunner().invoke(app, line)
        assert done.exit_code == 2, (out, links)
        assert "the rows and the links would both go to" in done.output
    assert CliRunner().invoke(app, [*line[:3], "-o", "a.csv", "--links", "-", "--json"]).exit_code == 2
    assert (tmp_path / "one.csv").read_text() == "mine"
    assert not (tmp_path / "new.csv").exists()


def test_standard_output_in_a_file_is_not_that_of_the_links(process, questions_file, tmp_path):
    with (tmp_path / "out.csv").open("w") as out:
        done = process(
            *("dedupe", "no model", questions_file, "--format", "csv", "--links", "out.csv"),
            capture_output=False,
            stdout=out,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 2
    assert "would both go to" in done.stderr


def test_a_device_takes_rows_and_links(run, twicetold, questions_file):
    done = twicetold("dedupe", run(), questions_file, "--format", "csv", "-o", "/dev/null", "--links", "/dev/null")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["dedupe", "index"])
def test_it_says_what_the_threshold_rests_on_and_that_texts_are_unlike_those_of_training(command, run, tmp_path):
    words = [f"strange{n} zebra{n} bank" if n % 2 else f"odd{n} quagga{n}" for n in range(100)]
    (tmp_path / "in.csv").write_text("text\n" + "\n".join(words) + "\n")
    arguments = ["dedupe"] if command == "dedupe" else ["index", "build"]
    out = str(tmp_path / ("out.csv" if command == "dedupe" else "out.index"))
    options = ["-o", out, "--threshold", "0.6", "--json"]
    done = CliRunner().invoke(app, [*arguments, str(run()), str(tmp_path / "in.csv"), *options])
    assert done.exit_code == 0, done.stderr
    assert "threshold and probabilities rest on labelled pairs of the validation split of 'questions'" in done.stderr
    assert "warning: the model does not know 80% of the words" in done.stderr
    assert "warning: 50 of 100 texts (50%) have no term that the model knows" in done.stderr
    if command == "dedupe":
        assert len(json.loads(done.stdout)["warnings"]) == 2


def test_a_file_alone_is_grouped_by_its_letters_and_words(twicetold, questions_file, tmp_path):
    options = ("--lexical", "--links", "links.csv", "--threshold", "0.8", "--json")
    done = twicetold("dedupe", questions_file, "-o", "out.csv", *options)
    assert done.returncode == 0, done.stderr
    written = rows((tmp_path / "out.csv").read_text())
    found = library.fit(TEXTS, lexical=True).dedupe(TEXTS, threshold=0.8)
    assert [int(row["group"]) for row in written] == found.group.tolist() == [0, 1, 0, 0, 2]
    assert float(written[3]["similarity_to_representative"]) == pytest.approx(found.probability[3])
    summary = json.loads(done.stdout)
    assert not summary["calibrated"]
    assert summary["each_group"][0]["weakest"]["similarity"] >= 0.8
    assert {link["probability"] for link in rows((tmp_path / "links.csv").read_text())} == {""}


def test_a_file_alone_gets_no_promise_and_the_way_to_one(twicetold, questions_file):
    done = twicetold("dedupe", questions_file, "--drop")
    assert "no share of right links and no probability is promised" in done.stderr
    assert "twicetold label FILE -o pairs.csv" in done.stderr
    refused = twicetold("dedupe", questions_file, "--precision", "0.9")
    assert refused.returncode == 1
    assert "no precision can be promised without labels" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["folder"], "folder is a folder, and the file is missing: twicetold dedupe folder FILE"),
        (["models:/one/1"], "the file is missing"),
        (["nothing.csv"], "there is no file"),
        (["questions.csv", "questions.csv"], "expected a model before the file, got the file questions.csv"),
        (["nothing", "questions.csv"], "no trained model in nothing"),
        (["--lexical", "nothing", "questions.csv"], "--lexical is for a file without a model"),
        (["one", "two", "three"], "expected [MODEL] FILE, got 3 arguments"),
    ],
)
def test_a_missing_model_or_file_is_named(arguments, said, twicetold, questions_file, tmp_path):
    (tmp_path / "folder").mkdir()
    done = twicetold("dedupe", *arguments)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.replace("│", " ").split())
