"""`twicetold link`."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold.commands import app

OLD = ["Canon EOS-70D camera, 18 MP", "a tripod of aluminium", "blue garden hose 10 m"]
NEW = ["garden hose, blue, 10 m", "", "canon EOS-70D camera 18 MP", "a tent for two"]
LETTERS = ("--compare", "letters")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """`old.csv` and `new.csv`, whose second row is bad."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    for name, text, texts in (("old.csv", "title", OLD), ("new.csv", "name", NEW)):
        with (tmp_path / name).open("w", newline="") as stream:
            csv.writer(stream).writerows(
                [["id", text, "brand"], *([f"{name[0]}{n}", each, f"b{n}"] for n, each in enumerate(texts))]
            )
    return tmp_path


def call(*arguments, input=None):
    return CliRunner().invoke(app, ["link", *arguments], input=input)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_a_pair_and_a_summary_that_accounts_for_every_row(files):
    options = (*LETTERS, "--text", "title=name", "--id", "id", "--skip-bad", "-o", "out.csv", "--json")
    done = call("old.csv", "new.csv", *options)
    assert done.exit_code == 0, done.stderr
    linked = library.link(OLD, [text for text in NEW if text], lexical=True)
    written = rows((files / "out.csv").read_text())
    assert [(row["left"], row["right"]) for row in written] == [("o0", "n2"), ("o2", "n0")]
    assert [(row["left_text"], row["right_text"]) for row in written] == [(OLD[0], NEW[2]), (OLD[2], NEW[0])]
    assert [float(row["probability"]) for row in written] == pytest.approx(linked.probability.tolist(), abs=5e-5)
    assert json.loads(done.stdout) == {
        "pairs": 2,
        "left": {"rows": 3, "linked": 2, "unlinked": 1, "bad": 0},
        "right": {"rows": 3, "linked": 2, "unlinked": 1, "bad": 1},
        "without_values": 0,
        "threshold": 0.5,
        "one_to_one": False,
    }
    assert "bad rows left out: 1" in done.stderr


def test_the_summary_in_sentences_names_the_least_probable_pairs(files):
    done = call("old.csv", "new.csv", *LETTERS, "--text", "title=name", "--skip-bad", "--one-to-one")
    assert [(row["left"], row["right"]) for row in rows(done.stdout)] == [("1", "2"), ("3", "1")]
    assert "2 pairs\nold.csv: 3 rows, 2 linked, 1 not\n" in done.stderr
    assert "new.csv: 3 rows, 2 linked, 1 not, 1 bad row left out\nleast probable pairs:\n" in done.stderr


def test_a_page_names_rows_by_their_ids(files):
    options = (*LETTERS, "--text", "title=name", "--id", "id", "--skip-bad", "-o", "out.csv", "--html", "out.html")
    assert call("old.csv", "new.csv", *options).exit_code == 0
    page = (files / "out.html").read_text()
    assert "<td>left o0<td" in page
    assert "<td>right n2<td" in page
    assert "2 pairs with 2 of 3 rows on the left and 2 of 3 rows on the right" in page


def test_columns_limit_links_and_are_compared(files):
    options = (*LETTERS, "--text", "title=name", "--skip-bad", "-o", "out.jsonl", "--json")
    done = call("old.csv", "new.csv", *options, "--same", "brand", "--threshold", "0.01")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["pairs"] == 0
    done = call("old.csv", "new.csv", *options, "--on", "brand=brand", "--threshold", "0.01")
    assert done.exit_code == 0, done.stderr
    assert len((files / "out.jsonl").read_text().splitlines()) == json.loads(done.stdout)["pairs"] >= 2


def test_a_link_that_asks_links_by_the_answers_and_goes_on_where_it_stopped(files):
    named = ("--text", "title=name", "--id", "id", "--on", "id=brand,brand")
    options = (*LETTERS, *named, "--skip-bad", "-o", "out.csv")
    answers = files / "old.csv-new.csv.answers.csv"
    done = call("old.csv", "new.csv", *options, "--ask", "2", input="y\ns\n")
    assert done.exit_code == 0, done.stderr
    assert "brand: [b" in done.stderr
    assert "1 of 1 pair answered. In old.csv-new.csv.answers.csv, for link --pairs old.csv-new.csv" in done.stderr
    (first,) = rows(answers.read_text())
    assert (first["left"][0], first["right"][0], first["same"]) == ("o", "n", "1")
    linked = [(row["left"], row["right"]) for row in rows((files / "out.csv").read_text())]
    assert (first["left"], first["right"]) in linked
    done = call("old.csv", "new.csv", *options, "--ask", "2", input="n\n")
    asked = rows(answers.read_text())
    assert [row["same"] for row in asked] == ["1", "0"]
    after = (files / "out.csv").read_text()
    assert (asked[1]["left"], asked[1]["right"]) not in [(row["left"], row["right"]) for row in rows(after)]
    done = call("old.csv", "new.csv", *options, "--pairs", answers.name)
    assert (files / "out.csv").read_text() == after
    answers.write_text(answers.read_text().replace(",n", ",o"))
    done = call("old.csv", "new.csv", *options, "--pairs", answers.name)
    assert "2 of 2 answers about ids that are no longer in" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((), 1, "new.csv: which column has the texts? Name it with --text"),
        (("--text", "title"), 1, "new.csv: there is no column 'title'"),
        (("--text", "title=name"), 1, "new.csv: 1 row cannot be used"),
        (("--text", "a=b=c"), 2, "expected a column of both files, or LEFT=RIGHT, got 'a=b=c'"),
        (("--text", "title=name", "--skip-bad", "--within", "brand"), 2, "--within: expected COLUMN:SIZE"),
        (("--text", "title=name", "--skip-bad", "--within", "brand:5"), 1, "old.csv: column 'brand': expected numbers"),
        (("--text", "title=name", "--same", "bran"), 1, "Did you mean 'brand'?"),
        (("--text", "title=name", "--skip-bad", "--threshold", "1.5"), 1, "threshold: expected a probability"),
        (("--text", "title=name", "--skip-bad", "--compare", "words"), 1, "or a column of old.csv, which has 'id'"),
        (("--json",), 2, "the pairs and the summary of --json would both go to"),
        (("-o", "old.csv"), 2, "from which the left texts are read: name another file"),
        (("--html", "./old.csv"), 2, "the page would replace ./old.csv, from which the left texts are read"),
        (("--html", "a.csv", "-o", "./a.csv"), 2, "the pairs and the page would both go to"),
        (("--html", "-", "--json", "-o", "a.csv"), 2, "the page and the summary of --json would both go to"),
        (("-o", "./new.csv"), 2, "from which the right texts are read: name another file"),
    ],
)
def test_what_cannot_be_done_is_named_and_no_file_is_written(options, code, message, files):
    before = {path.name: path.read_text() for path in files.iterdir()}
    done = call("old.csv", "new.csv", *options)
    assert done.exit_code == code, done.output
    assert message in done.stderr
    assert {path.name: path.read_text() for path in files.iterdir()} == before


def test_folders_of_parts_are_linked_as_files(files):
    options = (*LETTERS, "--text", "title=name", "--on", "brand", "--skip-bad", "--ask", "1")
    (files / "new").mkdir()
    for name, some in (("a", [0, 1]), ("b", [2, 3])):
        part = pa.table({"brand": pa.array(some, pa.int64() if name == "a" else pa.float64())})
        part = part.append_column("name", pa.array([NEW[n] for n in some]))
        pq.write_table(part, files / "new" / f"{name}.parquet")
    pq.write_table(pa.table({"name": NEW, "brand": ["0", "1", "2", "3"]}), files / "new.parquet")
    alone, done = (call("old.csv", new, *options, input="y\n") for new in ("new.parquet", "new/"))
    assert (alone.exit_code, done.exit_code) == (0, 0), done.stderr
    assert done.stdout == alone.stdout
    assert (files / "old.csv-new.answers.csv").exists()


def test_answers_about_texts_of_standard_input_are_refused(files):
    done = call("-", "new.csv", "--ask", "2", "-o", "out.csv")
    assert (done.exit_code, "standard input is for the answers" in done.stderr) == (1, True)


def test_one_file_on_both_sides_is_refused(files):
    done = call("old.csv", "./old.csv")
    assert done.exit_code == 2
    assert "twicetold dedupe FILE finds pairs within one file" in done.stderr


def test_vectors_of_ones_own_are_files_columns_or_a_function(files):
    texts = [OLD, [text for text in NEW if text]]
    vectors = [np.random.default_rng(n).normal(size=(3, 4)) for n in range(2)]
    for side, mine, name in zip(texts, vectors, ("old", "new"), strict=True):
        np.save(f"{name}.npy", mine)
        pq.write_table(pa.table({"text": side, name: mine.tolist()}), f"{name}.parquet")
    expected = library.link(*texts, vectors=vectors, threshold=0.0)
    known = dict(zip([*OLD, *texts[1]], np.concatenate(vectors), strict=True))
    found = library.link(*texts, vectors=lambda some: np.array([known[text] for text in some]), threshold=0.0)
    assert found.probability.tolist() == expected.probability.tolist()
    for compared in ("old.npy=new.npy", "old=new"):
        done = call("old.parquet", "new.parquet", "--compare", compared, "--threshold", "0", "-o", "out.csv")
        assert done.exit_code == 0, done.stderr
        written = [float(row["probability"]) for row in rows((files / "out.csv").read_text())]
        assert written == pytest.approx(expected.probability.tolist(), abs=5e-5)
    with pytest.raises(ValueError, match="one length on both sides"):
        library.link(*texts, vectors=(vectors[0], vectors[1][:, :2]))
    with pytest.raises(TypeError, match="those of the left table and of the right one"):
        library.link(*texts, vectors=np.concatenate(vectors))


def test_rows_without_a_partner_are_written_if_asked_for(files):
    options = (*LETTERS, "--text", "title=name", "--id", "id", "--skip-bad")
    found = rows(call("old.csv", "new.csv", *options).stdout)
    done = call("old.csv", "new.csv", *options, "--left-join", "-o", "all.csv")
    written = rows((files / "all.csv").read_text())
    assert [row for row in written if row["right"]] == found
    assert [row["left"] for row in written] == ["o0", "o1", "o2"]
    assert [row for row in written if not row["right"]] == [
        {"left": "o1", "right": "", "left_text": OLD[1], "right_text": "", "probability": ""}
    ]
    assert "all.csv: 3 rows" in done.stderr


def test_columns_are_shown_under_the_names_of_their_own_files(files):
    named = ("--text", "title=name", "--on", "id=brand,brand", "--skip-bad", "-o", "out.csv", "--ask", "1")
    done = call("old.csv", "new.csv", *LETTERS, *named, input="y\n")
    assert done.exit_code == 0, done.stderr
    assert "id=brand" not in done.stderr
    assert ("id: " in done.stderr, "brand: " in done.stderr) == (True, True)


def test_names_with_commas_and_equals_signs_are_given_in_double_quotes(files):
    for name, header in (("old.csv", ["id", "title", "a=b", "c,d"]), ("new.csv", ["id", "name", 'size, 5"', "c,d"])):
        lines = (files / name).read_text().splitlines()[1:2]
        with (files / name).open("w", newline="") as stream:
            csv.writer(stream).writerows([header, *([*line.split(",")[:1], "a tent", "x", "y"] for line in lines)])
    named = ("--text", "title=name", "--same", '"a=b"="size, 5""","c,d"', "--on", '"c,d"')
    done = call("old.csv", "new.csv", *LETTERS, *named)
    assert done.exit_code == 0, done.stderr
    assert len(rows(done.stdout)) == 1
