"""`twicetold dedupe`."""

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold import layout
from twicetold.commands import _dedupe_file, app
from twicetold.tables.files import open_rows

TEXTS = ["bank rate cut film", "drug trial phone", "Bank  rate cut FILM", "bank rate cut film star", "vote game chip"]


@pytest.fixture
def questions_file(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text("id,question\n" + "".join(f"q{n},{text}\n" for n, text in enumerate(TEXTS)))
    return path


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("family", ["tfidf", "static", None])
def test_it_says_what_the_library_says(family, run, twicetold, questions_file, tmp_path):
    arguments = ("--compare", "letters") if family is None else (run(family),)
    done = twicetold("dedupe", *arguments, questions_file, "-o", "out.csv", "--links", "links.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    model = library.fit(TEXTS, lexical=True) if family is None else library.load(*arguments)
    found = model.dedupe(TEXTS)
    written = rows((tmp_path / "out.csv").read_text())
    assert [row["id"] for row in written] == [f"q{n}" for n in range(5)]
    assert [int(row["group"]) for row in written] == found.group.tolist()
    assert [int(row["representative"]) - 1 for row in written] == found.representative.tolist()
    probability = [float(row["probability_to_representative"]) for row in written]
    assert probability == pytest.approx(found.probability.tolist(), abs=5e-5)
    links = [json.loads(line) for line in (tmp_path / "links.jsonl").read_text().splitlines()]
    assert [(link["left"], link["right"]) for link in links if link["exact"]] == [(1, 3)]
    pairs = [(link["left"] - 1, link["right"] - 1) for link in links if not link["exact"]]
    assert pairs == list(zip(found.links.left.tolist(), found.links.right.tolist()))
    assert all(link["left_text"] == TEXTS[link["left"] - 1] for link in links)
    summary = json.loads(done.stdout)
    assert summary["texts"] == 5
    assert summary["distinct"] == 4
    assert summary["threshold"] == pytest.approx(found.summary.threshold.probability)  # as --threshold takes it
    assert "probability" not in summary
    assert summary["calibrated"] == (family is not None)
    assert [group["size"] for group in summary["each_group"]] == found.table.size.tolist()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_files_to_read_have_probabilities_of_four_digits_and_parquet_all(suffix, questions_file, tmp_path):
    out, links = f"{tmp_path / 'out'}.{suffix}", f"{tmp_path / 'links'}.{suffix}"
    options = ("--compare", "letters", "--threshold", "0.1", "-o", out, "--links", links)
    assert CliRunner().invoke(app, ["dedupe", f"{questions_file}", *options]).exit_code == 0
    with open_rows(links) as read:
        spelt = [str(row["probability"]) for block in read.blocks([]) for row in block.table.to_pylist()]
    digits = max(len(value.partition(".")[2]) for value in spelt)
    assert digits > 8 if suffix == "parquet" else 1 < digits <= 4


def test_further_columns_are_shown_where_a_person_judges_groups(tmp_path):
    (tmp_path / "in.csv").write_text("text,brand\na red tent,Sol\na red tents,Luna\na hose,Sol\n")
    line = ["dedupe", f"{tmp_path / 'in.csv'}", "--compare", "letters", "--on", "text,brand", "--threshold", "0.01"]
    done = CliRunner().invoke(app, [*line, "-o", f"{tmp_path / 'out.csv'}", "--html", f"{tmp_path / 'out.html'}"])
    assert done.exit_code == 0, done.output
    assert "'a red tent · Sol' - 'a red tents · Luna'" in done.stderr
    page = (tmp_path / "out.html").read_text()
    assert "Luna" in page
    assert "1 of 1 column contradicting" in page


def test_a_page_names_rows_by_their_ids(questions_file, tmp_path):
    line = ("dedupe", f"{questions_file}", "--compare", "letters", "--id", "id", "-o", f"{tmp_path / 'out.csv'}")
    for page, code in ((tmp_path / "out.html", 0), (tmp_path / "out.csv", 2)):
        assert CliRunner().invoke(app, [*line, "--html", f"{page}"]).exit_code == code
    page = (tmp_path / "out.html").read_text()
    assert "<td>q0, q2<td" in page
    assert " rate cut film <mark>star</mark><td>" in page


@pytest.mark.parametrize(("out", "dropped"), [("u.csv", "u.dropped.csv"), ("u.csv.gz", "u.dropped.csv.gz")])
def test_rows_that_are_dropped_are_kept_beside_the_output(out, dropped, twicetold, questions_file, tmp_path):
    options = ("--compare", "letters")
    whole = twicetold("dedupe", questions_file, *options, "--format", "csv")
    done = twicetold("dedupe", questions_file, *options, "--drop", "-o", out, "--json")
    assert done.returncode == 0, done.stderr
    read = (lambda path: gzip.decompress(path.read_bytes()).decode()) if out.endswith("gz") else Path.read_text
    kept, gone = (rows(read(tmp_path / name)) for name in (out, dropped))
    assert sorted([*kept, *gone], key=lambda row: row["id"]) == rows(whole.stdout)
    assert [row["id"] for row in gone] == ["q2", "q3"]
    assert {row["representative"] for row in gone} == {"1"}
    assert all(0.5 <= float(row["probability_to_representative"]) <= 1 for row in gone)
    summary = json.loads(done.stdout)
    assert (summary["dropped"], summary["dropped_share"], summary["dropped_file"]) == (2, 0.4, dropped)
    assert f"dropped 2 of 5 rows (40.0%); they are in {dropped}" in done.stderr
    to_stdout = twicetold("dedupe", questions_file, *options, "--drop")
    assert "they are in no file: give -o FILE" in to_stdout.stderr
    assert "5 texts, 4 of them distinct" in to_stdout.stderr
    assert "\n1 group of 3 texts, the largest of 3; 2 rows would be dropped\n" in to_stdout.stderr


def test_where_less_is_dropped_rows_of_an_earlier_call_do_not_stay(twicetold, tmp_path):
    lines = [{"text": text} for text in ("bank rate cut", "bank rates cut", "vote game chip")]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for threshold, count in (("0.5", 1), ("0.999", 0)):
        line = ("dedupe", "in.jsonl", "--compare", "letters", "--drop", "-o", "u.parquet", "--threshold", threshold)
        assert twicetold(*line).returncode == 0
        assert pq.read_table(tmp_path / "u.dropped.parquet").num_rows == count


def test_dropped_rows_do_not_replace_the_input(questions_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "u.dropped.csv").write_text(questions_file.read_text())
    options = ["--compare", "letters", "--threshold", "0.8", "--drop"]
    done = CliRunner().invoke(app, ["dedupe", "u.dropped.csv", "-o", "u.csv", *options])
    assert done.exit_code == 2
    assert "the dropped rows would replace u.dropped.csv, from which the texts are read" in done.output
    done = CliRunner().invoke(app, ["dedupe", "questions.csv", "-o", "n.csv", "--links", "n.dropped.csv", *options])
    assert "the links and the dropped rows would both go to n.dropped.csv" in done.output


def test_the_loosest_groups_are_those_of_the_weakest_links_with_the_place_where_texts_differ(twicetold, tmp_path):
    long = "The committee met on Monday in the large hall to talk about the new bridge over the river, which costs"
    texts = ["swim swim", "swim swims", f"{long} 4711 euros", f"{long} 4712 euros", "red boat", "boat", "tents", "tent"]
    (tmp_path / "texts.csv").write_text("text\n" + "".join(f'"{text}"\n' for text in texts))
    done = twicetold("dedupe", "texts.csv", "--compare", "letters", "--threshold", "0.05", "-o", "out.csv")
    head, *groups = done.stderr[done.stderr.index("loosest groups") :].splitlines()[:-1]
    assert head.endswith("probability of the weakest link):")
    scores = [float(line.split(", ")[2].split()[0]) for line in groups]
    assert len(scores) > 2
    assert scores == sorted(scores)
    assert "4711 euros' - " in done.stderr
    assert "4712 euros'" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--precision", "0.9", "--threshold", "0.9"), 1, "give a precision or a threshold, not both"),
        (("--text", "qestion"), 1, "Did you mean 'question'?"),
        (("--text", "group"), 1, "there is a column 'group' already"),
        (("--rule", "ward"), 2, "ward"),
        (("--json",), 2, "the rows and the summary of --json would both go to standard output"),
        (("--format", "csv::"), 1, "expected one of comma, semicolon, tab, pipe, or the character, as delimiter"),
        (("--format", "jsonl:tab"), 2, "expected a delimiter of csv alone"),
    ],
)
def test_wrong_options_are_named(options, code, message, run, questions_file):
    """In this process: what a process makes of errors is tested with the command as a whole."""
    if "group" in options:
        questions_file.write_text(questions_file.read_text().replace("id,", "group,"))
    options = options if "--format" in options else ("--format", "csv", *options)
    done = CliRunner().invoke(app, ["dedupe", str(run()), str(questions_file), *options])
    assert done.exit_code == code
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_rows_and_links_in_one_file_are_refused_before_any_work(questions_file, tmp_path, monkeypatch):
    (tmp_path / "one.csv").write_text("mine")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "one.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    pairs = [
        ("-", "-"),
        ("one.csv", "hard.csv"),
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
        warnings = json.loads(done.stdout)["warnings"]
        assert [each for each in warnings if "the model" in each] == warnings[:2]


def test_a_file_alone_gets_no_promise_and_the_way_to_one(twicetold, questions_file):
    done = twicetold("dedupe", questions_file, "--drop")
    assert "Precision unknown: no pair of this file is labelled" in done.stderr
    assert "twicetold label FILE -o pairs.csv" in done.stderr
    refused = twicetold("dedupe", questions_file, "--precision", "0.9")
    assert refused.returncode == 1
    assert "no target precision without labels" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "run is a folder, and the file is missing: twicetold dedupe run FILE"),
        (["folder"], "a folder needs a folder to write to: -o OUT_FOLDER"),
        (["folder", "-o", "out"], "folder: expected parts that end in"),
        (["nothing.csv"], "there is no file"),
        (["nothing"], "there is no file"),
        (["questions.csv", "questions.csv"], "expected a model before the file, got the file questions.csv"),
        (["nothing", "questions.csv"], "no trained model in nothing"),
        (["--compare", "letters", "nothing", "questions.csv"], "--compare is for a file without a model"),
        (["one", "two", "three"], "expected [MODEL] FILE, got 3 arguments"),
    ],
)
def test_a_missing_model_or_file_is_named(arguments, said, questions_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "run" / layout.MODEL).mkdir(parents=True)
    done = CliRunner().invoke(app, ["dedupe", *arguments])
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_ids_take_the_place_of_row_numbers(run, twicetold, questions_file, tmp_path):
    arguments = ("dedupe", run(), questions_file, "--threshold", "0.3", "--json", "-o")
    assert twicetold(*arguments, "plain.csv", "--links", "plain_links.csv").returncode == 0
    done = twicetold(*arguments, "out.csv", "--id", "id", "--links", "links.csv")
    assert done.returncode == 0, done.stderr
    plain, named = (rows((tmp_path / name).read_text()) for name in ("plain.csv", "out.csv"))
    assert [f"q{int(row['representative']) - 1}" for row in plain] == [row["representative"] for row in named]
    plain, named = (rows((tmp_path / name).read_text()) for name in ("plain_links.csv", "links.csv"))
    for side in ("left", "right"):
        assert [f"q{int(row[side]) - 1}" for row in plain] == [row[side] for row in named]
    assert [row["left_text"] for row in plain] == [row["left_text"] for row in named]
    weakest = [group["weakest"] for group in json.loads(done.stdout)["each_group"]]
    assert all(link is None or {link["left"], link["right"]} <= {f"q{n}" for n in range(5)} for link in weakest)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "", "c", " ", "e"], "column 'id': expected an id in each row, got none in lines 3, 5"),
        (["a", "b", "a", "d", "e"], "column 'id': expected ids that differ, got 'a' in lines 2, 4. Name a column"),
        (["a", "a", "b", "b", "e"], "got 'a' in lines 2, 3. 1 more ids are there several times."),
    ],
)
def test_ids_that_are_missing_or_there_twice_are_named(ids, message, tmp_path):
    lines = [f"{name},{text}" for name, text in zip(ids, TEXTS, strict=True)]
    (tmp_path / "in.csv").write_text("\n".join(["id,text", *lines]) + "\n")
    done = CliRunner().invoke(app, ["dedupe", str(tmp_path / "in.csv"), "--id", "id", "-o", str(tmp_path / "out.csv")])
    assert done.exit_code == 1
    assert message in done.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def dated(tmp_path):
    """A file with columns beside the texts."""
    languages, days = ["en", "en", "en", "de", ""], ["2026-01-01", "2026-01-02T08:00Z", "2026-01-03", "2026-02-01", ""]
    lines = [f"{text},{language},{day},{n}" for n, (text, language, day) in enumerate(zip(TEXTS, languages, days))]
    (tmp_path / "dated.csv").write_text("\n".join(["text,language,day,price", *lines]) + "\n")
    return tmp_path / "dated.csv"


@pytest.mark.parametrize(
    ("options", "library_options"),
    [
        (["--within", "day:1d", "--within", "price:1"], {"within": [([0, 1 + 8 / 24, 2, 31, None], 1), (range(5), 1)]}),
        (["--same", "language", "--same", "price"], {"same": [["en", "en", "en", "de", None], list(range(5))]}),
    ],
)
def test_columns_limit_what_is_linked(options, library_options, run, dated, tmp_path):
    line = ["dedupe", str(run()), str(dated), "--threshold", "0.3", *options, "-o", str(tmp_path / "out.csv"), "--json"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.stderr
    found = library.load(run()).dedupe(TEXTS, threshold=0.3, **library_options)
    assert [int(row["group"]) for row in rows((tmp_path / "out.csv").read_text())] == found.group.tolist()
    assert json.loads(done.stdout)["alone"] == found.summary.counts.alone
    alone = found.summary.counts.alone
    assert f"{alone} of 5 texts {'is' if alone == 1 else 'are'} linked with none" in done.stderr or not alone


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--same", "lang"], 1, "there is no column 'lang'. Did you mean 'language'?"),
        (["--within", "day"], 2, "expected COLUMN:SIZE, such as date:3d or price:5; got 'day'"),
        (["--within", "day:3y"], 2, "expected a size such as 5"),
        (["--within", "day:3"], 1, "column 'day': expected numbers; for dates, give the size with a unit, such as 3d"),
        (["--within", "language:3d"], 1, "got 'en' in lines 2, 3, 4, 5"),
    ],
)
def test_columns_that_cannot_limit_are_named(options, code, message, dated, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    done = CliRunner().invoke(app, ["dedupe", str(dated), "--format", "csv", *options])
    assert done.exit_code == code
    assert message in done.stderr


def test_a_column_says_which_row_is_kept(run, dated, tmp_path):
    line = ["dedupe", str(run()), str(dated), "--threshold", "0.3", "--drop", "-o", str(tmp_path / "out.csv")]
    for keep, kept in (("newest:day", "3"), ("oldest:day", "0"), ("highest:price", "3")):
        assert CliRunner().invoke(app, [*line, "--keep", keep, "--rule", "components"]).exit_code == 0
        assert {row["price"] for row in rows((tmp_path / "out.csv").read_text())} == {"1", "4", kept}
    for keep, code, message in (
        ("newest", 2, "--keep: expected newest:COLUMN, got 'newest'"),
        ("newest:date", 1, "there is no column 'date'"),
        ("newest:price", 1, "or Unix times; years alone are numbers (highest, lowest); got '0' in lines"),
        ("highest:language", 1, "column 'language': expected numbers; got 'en' in lines 2, 3, 4, 5"),
        ("best", 1, "to keep, got 'best'; newest and the like need a column"),
    ):
        done = CliRunner().invoke(app, [*line, "--keep", keep])
        assert done.exit_code == code
        assert message in " ".join(done.stderr.replace("│", " ").split())


def test_pairs_of_a_file_hold_by_numbers_and_by_ids(run, questions_file, tmp_path):
    line = ["dedupe", str(run()), str(questions_file), "--threshold", "0.3", "-o", str(tmp_path / "out.csv")]
    (tmp_path / "pairs.csv").write_text("left,right,same,note\n1,4,no,x\n2,5,1,\n3,5,,later\n")
    (tmp_path / "ids.jsonl").write_text(
        '{"left": "q0", "right": "q3", "same": false}\n{"left": "q1", "right": "q4", "same": true}\n'
    )
    expected = library.load(run()).dedupe(TEXTS, threshold=0.3, pairs=([0, 1], [3, 4], [False, True]))
    assert expected.group[0] != expected.group[3]
    for options in (["--pairs", str(tmp_path / "pairs.csv")], ["--id", "id", "--pairs", str(tmp_path / "ids.jsonl")]):
        done = CliRunner().invoke(app, [*line, *options])
        assert done.exit_code == 0, done.stderr
        written = rows((tmp_path / "out.csv").read_text())
        assert [int(row["group"]) for row in written] == expected.group.tolist()
        assert "threshold and probabilities come from labelled pairs" in done.stderr


def test_the_file_of_links_with_answers_is_a_file_of_pairs(run, questions_file, tmp_path):
    line = ["dedupe", str(run()), str(questions_file), "--threshold", "0.3", "-o", str(tmp_path / "out.csv")]
    assert CliRunner().invoke(app, [*line, "--links", str(tmp_path / "links.csv")]).exit_code == 0
    links = rows((tmp_path / "links.csv").read_text())
    assert links
    with (tmp_path / "pairs.csv").open("w", newline="") as file:
        written = csv.DictWriter(file, [*links[0], "same"])
        written.writeheader()
        written.writerows({**link, "same": "0" if link["exact"] == "false" else ""} for link in links)
    done = CliRunner().invoke(app, [*line, "--pairs", str(tmp_path / "pairs.csv")])
    assert done.exit_code == 0, done.stderr
    assert [int(row["group"]) for row in rows((tmp_path / "out.csv").read_text())] == [0, 1, 0, 2, 3]


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ("left,right\n1,2\n", [], "there is no column 'same'"),
        ("left,right,same\n1,2,1\n1,9,1\n", [], "line 3, column 'right': expected the number of a row, 1 to 5 in"),
        ("left,right,same\nq1,q9,1\n", ["--id", "id"], "1 of 1 answer about ids that are no longer in"),
        ("left,right,same\n1,2,perhaps\n", [], "line 2, column 'same': expected 1 or 0, true or false, yes or no"),
        (
            "left,right,same\n1,2,1\n4,5,\n2,3,1\n3,1,0\n",
            [],
            "line 5 keeps its rows apart, but lines 4, 2 join its rows",
        ),
        ("left,right,same\n4,4,0\n", [], "line 2 keeps its rows apart, but both are one row"),
        (
            "left,right,same\n1,2,1\n",
            ["--same", "id"],
            "line 2 is to join its rows, but same or within keeps them apart",
        ),
        ("left,right,same,left_text\n1,2,1,other\n", [], "line 2: the text is not that of the row in"),
        (
            "left,right,same,left_text\nq1,q2,1,other\nq9,q1,0,\nq3,q4,1,\n",
            ["--id", "id"],
            "2 of 3 answers about ids that are no longer in",
        ),
    ],
)
def test_pairs_that_cannot_hold_are_refused_with_their_lines(pairs, options, message, questions_file, tmp_path):
    (tmp_path / "pairs.csv").write_text(pairs)
    line = ["dedupe", str(questions_file), "--pairs", str(tmp_path / "pairs.csv"), "-o", str(tmp_path / "out.csv")]
    done = CliRunner().invoke(app, [*line, *options])
    assert done.exit_code == 1
    assert message in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_a_stale_answer_is_left_out_and_counted_and_one_in_other_letters_holds(questions_file, tmp_path):
    given = f"left,right,left_text,right_text,same\nq1,q4,{TEXTS[1].upper()},  {TEXTS[4]} ,yes\n"
    stale = f"q0,q3,another one,,yes\nq9,q1,,{TEXTS[1]},no\n"
    more = "q0,q2,,,no\nq2,q3,,,no\n"
    line = ["dedupe", str(questions_file), "--id", "id", "-o", str(tmp_path / "out.csv")]
    found = []
    for pairs in (given + more, given + stale + more):
        (tmp_path / "pairs.csv").write_text(pairs)
        done = CliRunner().invoke(app, [*line, "--pairs", str(tmp_path / "pairs.csv")])
        assert done.exit_code == 0, done.stderr
        found.append([row["group"] for row in rows((tmp_path / "out.csv").read_text())])
        said = "left out 2 of 5 answers about ids that are no longer in" in done.stderr
        assert said == (stale in pairs)
    assert found[0] == found[1]
    assert found[0][1] == found[0][4]


def test_links_say_why(questions_file, tmp_path):
    line = ["dedupe", str(questions_file), "--compare", "letters", "--threshold", "0.5"]
    done = CliRunner().invoke(app, [*line, "-o", str(tmp_path / "out.csv"), "--links", str(tmp_path / "links.csv")])
    assert done.exit_code == 0, done.stderr
    found = rows((tmp_path / "links.csv").read_text())
    assert {row["why"] for row in found if row["exact"] == "true"} == {""}
    linked = [row for row in found if row["exact"] != "true"]
    assert linked
    assert all(re.match(r"\d+ of \d+ words in both", row["why"]) for row in linked)


def test_links_are_written_some_at_a_time_and_are_the_same(tmp_path, monkeypatch):
    rows = [f"the order was sent{number * ' !'}" for number in range(12)] + ["The order was sent !"]
    (tmp_path / "in.csv").write_text("\n".join(["text", *rows]))
    monkeypatch.chdir(tmp_path)
    sizes = []
    pairs = _dedupe_file.TextFile.pairs
    monkeypatch.setattr(_dedupe_file.TextFile, "pairs", lambda self, *a: sizes.append(len(a[0])) or pairs(self, *a))
    for name, held in (("whole.csv", 1 << 14), ("blocks.csv", 7)):
        monkeypatch.setattr(_dedupe_file, "PAIRS", held)
        line = ["dedupe", "in.csv", "--compare", "letters", "--threshold", "0.001", "-o", "out.csv", "--links", name]
        assert CliRunner().invoke(app, line).exit_code == 0
    assert (tmp_path / "blocks.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert max(sizes[1:]) == 7
    assert sum(sizes[1:]) == sizes[0] > 60


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


def test_ids_that_are_numbers_stay_numbers(run, twicetold, tmp_path):
    pq.write_table(pa.table({"key": [50, 40, 30, 20, 10], "text": TEXTS}), tmp_path / "in.parquet")
    done = twicetold("dedupe", run(), "in.parquet", "--id", "key", "-o", "out.parquet")
    assert done.returncode == 0, done.stderr
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.schema.field("representative").type == pa.int64()
    assert written["representative"].to_pylist()[2] == 50


def test_names_of_columns_with_commas_are_given_in_double_quotes(tmp_path):
    (tmp_path / "in.csv").write_text('text,"Price, USD",brand\na tent,5,x\na tent,5.0,X\na tent,6,x\n')
    line = ["dedupe", f"{tmp_path / 'in.csv'}", "--compare", "letters", "--same", 'brand,"Price, USD"']
    done = CliRunner().invoke(app, [*line, "--on", 'text,"Price, USD"'])
    assert done.exit_code == 0, done.stderr
    assert len({row["group"] for row in rows(done.stdout)}) == 2


BAD = {
    "in.csv": b'id,text\n1,a b c\n2,\xffrow\n3,"a b\nc"\n4\n5,\n6,"open\n7,x y\n',
    "in.jsonl": b'{"text": "a b c"}\n{"text": "\xff"}\n{"text": "a  b c"}\n{"text": 3}\n{"text": " "}\n{"te\n'
    b'{"text": "x y"}\n',
}


@pytest.mark.parametrize("name", BAD)
def test_each_row_is_kept_or_dropped_or_with_the_bad_ones(name, twicetold, tmp_path):
    (tmp_path / name).write_bytes(BAD[name])
    line = ("dedupe", name, "--compare", "letters", "--drop", "--skip-bad", "-o", f"u{Path(name).suffix}", "--json")
    done = twicetold(*line)
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert (about["texts"], about["dropped"], about["bad"]) == (3, 1, 4)
    assert about["bad_file"] == f"u.bad{Path(name).suffix}"
    assert f"4 bad rows in {about['bad_file']}" in done.stderr
    text = (tmp_path / about["bad_file"]).read_text()
    bad = rows(text) if name == "in.csv" else [json.loads(each) for each in text.splitlines()]
    lines = BAD[name].splitlines()
    assert [lines[int(row["line"]) - 1] for row in bad] == [
        row["content"].encode().replace(rb"\xff", b"\xff") for row in bad
    ]
    assert "expected UTF-8" in bad[0]["why"]
    (tmp_path / name).write_bytes(b"".join(each + b"\n" for each in lines if each in (b"id,text", lines[-1])))
    assert twicetold(*line).returncode == 0
    assert "expected" not in (tmp_path / about["bad_file"]).read_text()


def dropping(threshold):
    return ("dedupe", "in.csv", "--compare", "letters", "--drop", "-o", "u.csv", "--threshold", threshold)


@pytest.fixture
def former(twicetold, tmp_path):
    """Kept and dropped rows of a file by two thresholds, of which those of the first are there."""
    (tmp_path / "in.csv").write_text("text\nbank rate cut\nbank rates cut\nvote game chip\n")
    files = (tmp_path / "u.csv", tmp_path / "u.dropped.csv")
    states = []
    for threshold in ("0.999", "0.5"):
        assert twicetold(*dropping(threshold)).returncode == 0
        states.append([file.read_text() for file in files])
    assert states[0][0] != states[1][0]
    return files, states


def test_of_two_dedupes_at_once_kept_and_dropped_rows_are_of_one(former, twicetold, environment, tmp_path, monkeypatch):
    files, states = former
    others, calls = [], []
    write_rows = _dedupe_file.write_rows

    def meanwhile(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:  # between kept and dropped rows
            line = [sys.executable, "-m", "twicetold", *dropping("0.5")]
            others.append(subprocess.Popen(line, cwd=tmp_path, env=environment))
            with suppress(subprocess.TimeoutExpired):
                others[0].wait(20)
        return write_rows(*arguments, **options)

    monkeypatch.setattr(_dedupe_file, "write_rows", meanwhile)
    assert twicetold(*dropping("0.999")).returncode == 0
    assert others[0].wait(60) == 0
    assert [file.read_text() for file in files] in states


@pytest.mark.parametrize("renames", range(4))
def test_a_kill_leaves_no_kept_rows_beside_dropped_ones_of_another_run(former, twicetold, monkeypatch, renames):
    files, states = former
    done = []
    replace = Path.replace

    def killed(path, target):
        if target in files:
            if len(done) == renames:
                raise KeyboardInterrupt
            done.append(target)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    twicetold(*dropping("0.999"))
    assert not files[0].exists() or [file.read_text() for file in files] in states
