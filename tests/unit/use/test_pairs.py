"""Scores of a file of pairs, and signs that it is unlike the training texts."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twicetold
from twicetold import layout
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
@pytest.mark.parametrize("linear", [True, False])
def test_blocks_are_scored_as_the_whole_is_and_in_order(family, linear, file, run, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 500)
    monkeypatch.setattr("twicetold.use.pairs.PIECE", 3)
    if not linear:
        monkeypatch.setattr("twicetold.trained.columns.ColumnEncoder.linear", False)
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
    with pytest.raises(ValueError, match="as many left texts as right ones, got 1 and 2"):
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


def validated(folder, random):
    """Scores of validation: duplicates around 0.8, others around 0.3."""
    label = random.random(2000) < 0.4
    score = np.where(label, random.normal(0.8, 0.1, 2000), random.normal(0.3, 0.1, 2000))
    columns = {"split": ["val"] * 2000, "label": label.astype(np.float32), "score": score.astype(np.float32)}
    pq.write_table(pa.table(columns), folder / layout.SCORES)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4, 1.0])
def test_another_share_of_duplicates_is_no_sign(share, run):
    folder, random = run(), np.random.default_rng(0)
    validated(folder, random)
    likeness = Drift(twicetold.load(folder))
    label = random.random(3000) < share
    score = np.where(label, random.normal(0.8, 0.1, 3000), random.normal(0.3, 0.1, 3000))
    likeness.add([], score.astype(np.float32))
    assert likeness.distance < 0.06
    assert list(likeness.warnings()) == []


def test_scores_between_those_of_validation_are_a_sign(run):
    folder, random = run(), np.random.default_rng(0)
    validated(folder, random)
    likeness = Drift(twicetold.load(folder))
    likeness.add([], random.normal(0.55, 0.05, 3000).astype(np.float32))
    assert likeness.distance > 0.3
    assert "distributed unlike those of validation" in next(likeness.warnings())


def test_a_model_folder_alone_has_no_scores_of_validation(run):
    likeness = Drift(twicetold.load(run()))
    likeness.add([], np.zeros(1000, np.float32))
    assert likeness.distance is None
