"""The mistakes on the page are the models' mistakes; the exported labels in doubt are what `label` reads."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.data.corpus import Corpus, Pairs
from twicetold_lab.reporting import Cell, Grid, errors
from twicetold_lab.reporting.errors import judged
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.runs.folder import read_runs

COUNT = 60
MODELS = ("dae", "film", "static", "tfidf")
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def pairs(project):
    """A dataset of pairs of which four models say something, some of it wrong; and its cells."""
    generator = np.random.default_rng(0)
    texts = [f"text {n} of {n % 7} words {EVIL if n == 5 else ''}" for n in range(2 * COUNT + 4)]
    test = np.arange(2 * COUNT)
    label = generator.integers(0, 2, COUNT).astype(np.float32)
    others = {"train": np.arange(2 * COUNT, 2 * COUNT + 2), "val": np.arange(2 * COUNT + 2, 2 * COUNT + 4)}
    one = {name: Pairs(rows[:1], rows[1:], np.ones(1, np.float32)) for name, rows in others.items()}
    corpus = Corpus(
        name="questions",
        kind="labelled_pairs",
        ids=pa.array(map(str, range(len(texts)))),
        texts=pa.array(texts),
        groups={"cluster": np.full(len(texts), -1)},
        members={**others, "test": test},
        pairs={**one, "test": Pairs(test[:COUNT], test[COUNT:], label)},
        card={"audit": {}},
    )
    project.add_data("questions", "labelled_pairs", {"audit": {}})
    corpus.save(project.root / "processed/questions")
    cells = [Cell("questions", model, 0) for model in MODELS]
    for cell in cells:
        folder = project.add_run(cell, {"auroc": 0.8}, primary="auroc")
        score = 0.5 + 0.2 * (2 * label - 1) + generator.normal(0, 0.2, COUNT)
        score[:3] = 1.2 - label[:3] * 1.4  # all are wrong about the first three
        rows = {"split": ["test"] * COUNT, "label": label, "score": score.astype(np.float32)}
        pq.write_table(pa.table(rows), folder / layout.SCORES)
    return project, cells, corpus


def found_in(project, cells):
    board = rank("questions", read_runs(cells, project.root / "runs")["questions"])
    return judged(board, project.root / "processed/questions", kind="labelled_pairs")


@pytest.fixture
def found(pairs):
    return found_in(*pairs[:2])


def test_a_mistake_is_a_verdict_at_the_model_s_own_threshold_against_the_label(pairs, found):
    project, _, corpus = pairs
    for model, wrong in zip(found.models, found.wrong, strict=True):
        folder = project.run(Cell("questions", model, 0))
        score = pq.read_table(folder / layout.SCORES)["score"].to_numpy()
        threshold = json.loads((folder / "model" / layout.DECISION).read_text())["threshold"]
        np.testing.assert_array_equal(wrong, (score >= threshold) != (corpus.pairs["test"].label > 0.5))


def test_the_page_shows_the_mistakes_of_most_models_and_names_wrong_models_alone(found):
    assert sorted(found.mistaken) == [*np.flatnonzero(found.wrong.any(axis=0))]
    for pair, (name, (_, label, named)) in zip(found.mistaken[: errors.LISTED], found.table.rows, strict=True):
        assert name.text == found.left[pair]
        shown = [each.split() for each in named.text.split(", ")]
        assert {model for model, *_ in shown} == {
            model for model, wrong in zip(MODELS, found.wrong[:, pair], strict=True) if wrong
        }
        sure = [int(percent) if label.text == "not the same" else 100 - int(percent) for _, percent, _ in shown]
        assert sure == sorted(sure, reverse=True)


def test_labels_in_doubt_are_those_that_most_of_three_models_contradict_the_surest_first(pairs, found):
    against = found.wrong.mean(axis=0)
    assert set(found.doubtful) == set(np.flatnonzero(against >= errors.AGAINST)) >= {0, 1, 2}
    assert (np.diff(against[found.doubtful]) <= 0).all()
    project, cells, corpus = pairs
    assert not len(found_in(project, cells[:2]).doubtful)
    label = 1 - corpus.pairs["test"].label
    table = pa.table({"split": ["test"] * COUNT, "label": label, "score": label})
    pq.write_table(table, project.run(cells[0]) / layout.SCORES)
    assert found_in(project, cells).models == MODELS[1:], "scores of other pairs are left out"


def test_the_exported_labels_are_those_in_doubt_without_answers(pairs, found, tmp_path):
    project, cells, _ = pairs
    reporting.build(Grid(cells), **project.folders, target=tmp_path / "reports")
    with (tmp_path / "reports/questions-doubtful.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["left_text"] for row in rows] == [found.left[pair] for pair in found.doubtful]
    assert {row["same"] for row in rows} == {""}
    page = (tmp_path / "reports/questions.html").read_text()
    assert f"The labels of {len(rows)} are in doubt" in page
    assert EVIL not in page


def test_without_scores_or_texts_a_sentence_stands_in_place_of_mistakes(pairs):
    project, cells, _ = pairs
    texts = project.root / "processed/questions" / layout.TEXTS
    content = texts.read_bytes()
    texts.unlink()
    assert "the texts are not there. dvc repro prepare@questions brings them" in found_in(project, cells)
    assert judged(None, project.root, kind="documents") is None, "documents have no pairs"
    for cell in cells:
        (project.run(cell) / layout.SCORES).unlink()
    texts.write_bytes(content)
    assert "no model has scores of these pairs. dvc repro evaluate@questions" in found_in(project, cells)
    texts.unlink()
    assert "the texts are not there" in project.pages(cells)["questions"]
    assert not (project.root / "reports/questions-doubtful.csv").exists()
