"""Answers to the pairs of a review, in the file itself."""

import csv
import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from twicetold.commands import app
from twicetold.labels.review import Review
from twicetold.tables.blocks import Block
from twicetold.tables.files import open_rows, write_rows

PAIRS = [("a", "b", "one text", "a text"), ("c", "d", 'with, a "quote"', "two\nlines"), ("e", "f", "x", "y")]


@pytest.fixture(params=["csv", "jsonl", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"review.{request.param}"
    (tmp_path / "made.jsonl").write_text(
        "".join(
            json.dumps({"left": a, "right": b, "left_text": c, "right_text": d, "score": 0.5, "same": None}) + "\n"
            for a, b, c, d in PAIRS
        )
    )
    with open_rows(tmp_path / "made.jsonl") as rows, write_rows(path) as write:
        for block in rows.blocks([]):
            write(Block(block.table, block.lines))
    return path


def answers(file):
    if file.suffix == ".parquet":
        return pq.read_table(file)["same"].to_pylist()
    if file.suffix == ".jsonl":
        return [json.loads(line)["same"] for line in file.read_text().splitlines()]
    return [row["same"] or None for row in csv.DictReader(file.open(newline=""))]


def test_each_answer_is_written_at_once_and_the_rest_of_the_file_stays(file):
    review = Review.read(file)
    assert review.pairs == [(left, right) for *_, left, right in PAIRS]
    assert review.next == 0
    review.label(0, True)
    assert answers(file) == ["1", None, None]
    review.skip(1)
    assert review.next == 2
    review.label(2, False)
    assert answers(file) == ["1", None, "0"]
    again = Review.read(file)
    assert again.next == 1
    assert again.pairs == review.pairs
    assert again.table.drop_columns("same").equals(review.table.drop_columns("same"))


def test_an_answer_can_be_taken_back(file):
    review = Review.read(file)
    assert not review.back(0)
    review.label(0, True)
    review.skip(1)
    assert review.back(2)
    assert review.next == 1
    assert review.back(1)
    assert answers(file) == [None] * 3
    assert review.next == 0


def test_the_command_asks_for_the_pairs_and_goes_on_where_it_stopped(file):
    done = CliRunner().invoke(app, ["label", str(file)], input="y\ns\nq\n")
    assert done.exit_code == 0, done.output
    assert answers(file) == ["1", None, None]
    assert "1 of 3 pairs answered" in " ".join(done.output.split())
    done = CliRunner().invoke(app, ["label", str(file)], input="n\nb\nn\nyes\n")
    assert done.exit_code == 0, done.output
    assert answers(file) == ["1", "0", "1"]


def test_a_file_that_is_no_review_and_needless_options_are_named(tmp_path):
    (tmp_path / "texts.csv").write_text("text\none\n")
    done = CliRunner().invoke(app, ["label", str(tmp_path / "texts.csv")])
    assert done.exit_code == 1
    assert "there is no column 'left_text'" in done.output
    for options in (["model", "texts.csv"], ["texts.csv", "--report"]):
        done = CliRunner().invoke(app, ["label", *options])
        assert done.exit_code == 2
        assert "name a file for the labelled pairs with -o" in " ".join(done.output.replace("│", " ").split())


def test_rows_of_json_lines_keep_what_else_is_in_them(tmp_path):
    rows = [
        {"left": n, "right": n + 1, "left_text": "a", "right_text": "b", "score": 0.5, "same": None} for n in (1, 3)
    ]
    rows[1]["in_one_group"] = True
    file = tmp_path / "review.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    review = Review.read(file)
    review.label(1, True)
    assert [json.loads(line) for line in file.read_text().splitlines()] == [rows[0], {**rows[1], "same": "1"}]
    review.back(2)
    assert [json.loads(line) for line in file.read_text().splitlines()] == rows
