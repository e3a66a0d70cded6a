"""`twicetold dedupe` of a folder of parts."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TEXTS = ["bank rate cut film", "drug trial phone", "Bank  rate cut FILM", "bank rate cut film star", "vote game chip"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    for name, some in (("a", TEXTS[:2]), ("b", TEXTS[2:])):
        pq.write_table(pa.table({"text": some}), tmp_path / "parts" / f"{name}.parquet")
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "one.parquet")
    return tmp_path / "parts"


def test_a_folder_is_grouped_as_one_file(run, twicetold, folder, tmp_path):
    options = ("--threshold", "0.9", "--rule", "components")
    done = twicetold("dedupe", run("static"), folder, "-o", "out", *options)
    assert done.returncode == 0, done.stderr
    alone = twicetold("dedupe", run("static"), "one.parquet", "-o", "out.parquet", *options)
    assert alone.returncode == 0, alone.stderr
    written = pa.concat_tables(pq.read_table(tmp_path / "out" / f"{name}.parquet") for name in "ab")
    assert written.equals(pq.read_table(tmp_path / "out.parquet"))
    for line in alone.stderr.splitlines():
        if ("texts, " in line and "distinct" in line) or " groups of " in line:
            assert line in done.stderr
    assert "out: 2 parts" in done.stderr
    again = twicetold("dedupe", run("static"), folder, "-o", "out", *options, "--json")
    assert "nothing is to be done" in again.stderr
    assert json.loads(again.stdout)["summary"]["texts"] == 5


def test_a_folder_says_how_many_rows_were_dropped_and_where_they_are(run, twicetold, folder, tmp_path):
    options = ("--threshold", "0.9", "--rule", "components", "--drop")
    done = twicetold("dedupe", run("static"), folder, "-o", "out", *options, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["dropped"], found["dropped_share"], found["dropped_file"]) == (2, 0.4, "out/_dropped")
    assert "dropped 2 of 5 rows (40.0%); they are in out/_dropped" in done.stderr
    assert sum(pq.read_table(tmp_path / "out" / "_dropped" / f"{name}.parquet").num_rows for name in "ab") == 2


def test_a_folder_says_how_many_rows_are_bad_and_where_they_are(twicetold, tmp_path):
    (tmp_path / "in").mkdir()
    for name, rows in (("a", "bank rate cut,1\n,2\nBank rate cut,3\n"), ("b", "film star vote,4\n")):
        (tmp_path / "in" / f"{name}.csv").write_text(f"text,n\n{rows}")
    for _ in range(2):  # the second time, nothing is to be done
        done = twicetold("dedupe", "in", "-o", "out", "--drop", "--skip-bad", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["summary"]["texts"], found["dropped"], found["bad"]) == (3, 1, 1)
        assert found["bad_file"] == "out/_bad"
        assert "1 bad row in out/_bad" in done.stderr
    stored = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (stored["bad"], list(stored["bad_parts"])) == (1, ["a.parquet"])


@pytest.mark.parametrize(
    "options",
    [(), ("--sense", "copies"), ("--on", "n,text"), ("--keep", "highest:n", "--drop"), ("--pairs", "answers.csv")],
)
def test_without_a_model_a_folder_is_grouped_as_one_file(options, twicetold, tmp_path):
    rows = pa.table({"text": TEXTS, "n": [1, 2, 1, 3, 2]})
    (tmp_path / "answers.csv").write_text("left,right,same\n2,5,true\n1,4,false\n")
    pq.write_table(rows, tmp_path / "one.parquet")
    (tmp_path / "parts").mkdir()
    for name, part in (("a", rows[:2]), ("b", rows[2:])):
        pq.write_table(part, tmp_path / "parts" / f"{name}.parquet")
    done = twicetold("dedupe", "parts", "-o", "out", *options)
    assert done.returncode == 0, done.stderr
    alone = twicetold("dedupe", "one.parquet", "-o", "out.parquet", *options)
    assert alone.returncode == 0, alone.stderr
    written = pa.concat_tables(pq.read_table(tmp_path / "out" / f"{name}.parquet") for name in "ab")
    assert written.equals(pq.read_table(tmp_path / "out.parquet"))
    assert "no link was missed" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parts", "-o", "out", "--id", "n"), "--id: for a file alone"),
        (("parts", "-o", "out", "--truth", "n"), "--truth: for a file alone"),
        (("one.parquet", "-o", "out", "--folder", "workers=2"), "--folder: for a folder of parts alone"),
        (("parts",), "-o OUT_FOLDER"),
        (("parts", "-o", "out", "--pairs", "n.csv"), "there is no file"),
        (("parts", "-o", "out", "--keep", "newest:n"), "there is no column 'n'"),
        (("parts", "-o", "out", "--folder", "memory=much"), "expected a size such as 4GB"),
        (("parts", "-o", "out", "--folder", "memory=1GB", "--folder", "workers=4"), "for each worker"),
        (("parts", "-o", "out", "--folder", "workers"), "workers: expected a whole number"),
        (("parts", "-o", "out", "--folder", "worker=4"), "expected one of workers, memory, such as"),
        (("parts", "-o", "out", *("--folder", "workers=1") * 2), "--folder workers: expected one value, got 2"),
        (("parts", "-o", "out", "--folder", "workers=0"), "workers: expected a whole number"),
        (("parts", "-o", "parts/out"), "expected a new folder apart from"),
        (("parts", "-o", "one.parquet"), "expected a folder to write to"),
    ],
)
def test_wrong_options_are_named(arguments, message, run, twicetold, folder):
    done = twicetold("dedupe", run(), *arguments)
    assert done.returncode in (1, 2)
    assert message in " ".join(done.stderr.replace("│", " ").split())
