"""`twicetold topics`."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold.commands import app

TEXTS = ["bank rate cut", "film star award", "bank rate cut film", "zzz", "star award film", "bank rate cut"]


@pytest.fixture
def news_file(tmp_path):
    path = tmp_path / "news.csv"
    path.write_text("id,title\n" + "".join(f"n{n},{text}\n" for n, text in enumerate(TEXTS)))
    return path


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_it_says_what_the_library_says_of_every_row(run, twicetold, news_file, tmp_path):
    folder = run()
    done = twicetold("topics", folder, news_file, "-o", "out.csv", "--count", "2", "--json")
    assert done.returncode == 0, done.stderr
    found = library.load(folder).topics(TEXTS, count=2)
    written = rows((tmp_path / "out.csv").read_text())
    assert [row["id"] for row in written] == [f"n{n}" for n in range(6)]
    assert [row["topic"] for row in written] == ["" if topic < 0 else str(topic) for topic in found.topic]
    assert [row["topic_terms"] for row in written] == ["" if t < 0 else found.names[t] for t in found.topic]
    closeness = [float(row["closeness"]) for row in written if row["closeness"]]
    assert closeness == pytest.approx(found.closeness[found.topic >= 0].tolist(), abs=1e-4)
    summary = json.loads(done.stdout)
    assert (summary["texts"], summary["topics"], summary["without_topic"]) == (6, len(found), 1)
    assert [each["size"] for each in summary["each_topic"]] == found.size.tolist()
    assert all(TEXTS[each["central_row"] - 1] == each["central_text"] for each in summary["each_topic"])


def test_without_a_model_the_file_itself_is_fitted_and_the_summary_names_the_topics(twicetold, news_file):
    done = twicetold("topics", news_file, "--compare", "letters", "-k", "2", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert len(rows(done.stdout)) == 6
    assert "6 texts in 2 topics" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--count", "7"), 1, "expected between 1 and 6 topics, as there are 6 texts; got 7"),
        (("--count", "0"), 2, "--count"),
        (("--method", "dbscan"), 2, "dbscan"),
        (("--text", "titel"), 1, "Did you mean 'title'?"),
        (("--text", "topic"), 1, "there is a column 'topic' already"),
        (("--json",), 2, "--json prints to stdout"),
        (("--compare", "letters"), 2, "--compare is for a file without a model"),
    ],
)
def test_wrong_options_are_named(options, code, message, run, news_file):
    if "topic" in options:
        news_file.write_text(news_file.read_text().replace("id,", "topic,"))
    done = CliRunner().invoke(app, ["topics", str(run()), str(news_file), "--format", "csv", *options])
    assert done.exit_code == code
    assert message in done.stderr


def test_too_many_rows_for_all_pairs_are_refused_before_a_model_is_loaded(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("text\n" + "bank\n" * 5001)
    done = CliRunner().invoke(app, ["topics", str(path), "--format", "csv", "--method", "agglomerative"])
    assert done.exit_code == 1
    assert "at most 5,000 of them, got 5,001" in done.stderr
