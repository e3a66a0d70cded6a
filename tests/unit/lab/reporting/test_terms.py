"""Terms behind the mistakes of models whose score is a sum over terms."""

import json
import shutil
from dataclasses import replace

from twicetold import layout
from twicetold.trained.model_folder import load_model
from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.errors import judged
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.terms import MOST, terms_of
from twicetold_lab.runs.records import read_runs

from .test_errors import pairs  # noqa: F401 (a fixture)


def test_terms_are_those_with_the_largest_contributions_and_a_term_with_itself_is_written_once(run):
    model = load_model(run("tfidf") / "model")
    assert set(terms_of(model, "bank rate cut", "film bank rate")) == {"bank", "rate"}
    assert len(terms_of(model, "bank rate cut film star", "bank rate cut film star")) == MOST
    assert terms_of(model, "nothing known", "bank") == ()


def test_other_terms_stand_beside_each_other_and_what_lowers_the_score_has_a_minus(run, monkeypatch):
    from twicetold_lab.reporting import terms

    class Found:
        def largest(self, count):
            return [("▁bank", "▁rate", 0.5), ("cut", "cut", -0.25), ("film", "star", -0.1)][:count]

    monkeypatch.setattr(terms, "explain", lambda model, left, right: Found())
    assert terms_of(None, "a", "b") == ("bank · rate", "−cut", "−film · star")


def test_a_mistake_names_the_terms_of_the_surest_wrong_model_that_has_terms(pairs, run):  # noqa: F811
    project, cells, _ = pairs
    for cell, family in ((cells[2], "static"), (cells[3], "tfidf"), (cells[0], "tfidf")):
        for file in (run(family) / "model").iterdir():
            if file.name != "decision.json":
                shutil.copy2(file, project.run(cell) / "model" / file.name)
    recipe = project.run(cells[0]) / "model" / layout.RECIPE
    about = json.loads(recipe.read_text())
    recipe.write_text(json.dumps({**about, "encoder": {"_target_": "twicetold.models.re2.Re2"}}))
    board = rank("questions", read_runs(cells, project.root / "runs")["questions"])
    found = judged(board, project.root / "processed/questions", kind="labelled_pairs")
    assert set(found.explainers) == {"static", "tfidf"}  # RE2 is not linear, and the folder of film has no model
    told = replace(found, left=["bank rate"] * len(found.left), right=["rate cut"] * len(found.right))
    for each in told.shown:
        wrong = [model for model, said in zip(told.models, each.wrongs, strict=True) if said == "1"]
        if each.explained:
            assert each.explained in wrong
            assert {"tfidf": "rate", "static": "rat"}[each.explained] in each.terms
        else:
            assert not {"static", "tfidf"} & {*wrong}
    assert any(each.explained for each in told.shown)


def test_the_page_has_a_column_of_terms_where_a_model_has_some(pairs, run):  # noqa: F811
    from twicetold_lab import reporting

    project, cells, _ = pairs
    target = project.root / "reports"
    reporting.build(cells, **project.folders, target=target)
    assert "that count most for one of them" not in (target / "index.html").read_text()
    for file in (run("tfidf") / "model").iterdir():
        if file.name != "decision.json":
            shutil.copy2(file, project.run(Cell("questions", "tfidf", 0)) / "model" / file.name)
    reporting.build(cells, **project.folders, target=target)
    assert "that count most for one of them" in (target / "index.html").read_text()
