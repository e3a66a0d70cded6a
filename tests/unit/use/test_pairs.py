"""Scores of a file of pairs, and signs that it is unlike the training texts."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import twicetold
from twicetold.files import csv_text
from twicetold.tables import reading
from twicetold.tables.files import choose_pair, open_rows, write_rows
from twicetold.trained.drift import Drift
from twicetold.use.pairs import score_file


@pytest.fixture
def file(questions, tmp_path):
    texts = questions.texts.to_pylist()
    path = tmp_path / "in.csv"
    path.write_text(csv_text(["n", "left", "right"], [(n, texts[n % 60], texts[7 * n % 60]) for n in range(500)]))
    return path


@pytest.mark.parametrize("family", ["tfidf", "static"])
@pytest.mark.parametrize("threaded", [True, False])
def test_blocks_are_scored_as_the_whole_is_and_in_order(family, threaded, file, run, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 500)
    monkeypatch.setattr("twicetold.use.pairs.PIECE", 3)
    if not threaded:
        monkeypatch.setattr("twicetold.use.pairs.ColumnEncoder", type(None))
    model, told = twicetold.load(run(family)), []
    with open_rows(file) as rows, write_rows(tmp_path / "out.parquet") as write:
        found = score_file(model, rows, write, choose_pair(rows), progress=told.append)
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["n"].to_pylist() == [str(n) for n in range(500)]
    left, right = (table[side].to_pylist() for side in ("left", "right"))
    np.testing.assert_allclose(table["score"], model.trained.score(left, right), atol=1e-6)
    np.testing.assert_allclose(table["probability"], model.predict_proba(left, right), atol=1e-6)
    np.testing.assert_array_equal(table["duplicate"], model.predict(left, right))
    assert (found.pairs, found.duplicates, found.bad_rows) == (500, sum(table["duplicate"].to_pylist()), 0)
    assert sum(told) == 500


def test_a_column_that_would_be_added_must_not_be_there(file, run, tmp_path):
    file.write_text(file.read_text().replace("n,left", "score,left", 1))
    with (
        open_rows(file) as rows,
        write_rows(tmp_path / "out.csv") as write,
        pytest.raises(ValueError, match="has a column 'score' already"),
    ):
        score_file(twicetold.load(run()), rows, write, choose_pair(rows))


def test_a_text_is_read_once_and_scores_stay_the_same(run, questions):
    texts = questions.texts.to_pylist()
    model = twicetold.load(run("static"))
    left, right = texts[:30] * 3, texts[10:40] * 3
    np.testing.assert_array_equal(model.similarity(left, right), model.trained.score(left, right))
    assert len(model.similarity([], [])) == 0
    with pytest.raises(ValueError, match="equal numbers of left and right texts, got 1 and 2"):
        model.similarity(["a"], ["b", "c"])
    with pytest.raises(TypeError, match="put it in a list"):
        model.similarity("a", "b")


def test_unknown_words_are_a_sign(run, questions):
    model = twicetold.load(run("tfidf"))
    own, other = Drift(model), Drift(model)
    own.add(questions.texts_of("train") * 10)
    other.add([f"the strange{n} bank" for n in range(200)])
    assert own.unknown_words == 0
    assert list(own.warnings()) == []
    assert other.unknown_words == 0.5  # the is a stop word
    assert "does not know 50% of the words" in next(other.warnings())
    few = Drift(model)
    few.add(["strange"])
    assert few.unknown_words is None
