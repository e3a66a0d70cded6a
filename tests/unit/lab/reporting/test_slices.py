"""Slices of pairs are what their definitions say, and their accuracies are counts with Wilson's intervals."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from twicetold import layout
from twicetold.trained.model_folder import load_model
from twicetold_lab.evaluation.pair_intervals import accuracy_interval
from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.errors import judged
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.slices import LONG, MOST, SLICES, Rightness, in_slices, signs, terms_of, words
from twicetold_lab.runs.records import read_runs

from .test_errors import pairs  # noqa: F401 (a fixture)

KNOWN = frozenset(words("how do i not never buy 3 or 4 gold coins don't in 2014 the price of a is rising rise"))
PLAIN = ("the price of gold is rising", "is the price of gold rising")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (*PLAIN, set()),
        ("price " * (LONG + 1), "the price", {"long"}),
        ("price " * LONG, "price", set()),
        ("gold", "coins", {"few_shared"}),
        ("buy gold coins", "buy coins in 2014", {"digits"}),
        ("buy 3 coins or 4", "buy 4 coins or 3", set()),  # in another order
        ("do i buy gold", "do i not buy gold", {"negation"}),
        ("i don't buy gold", "never do i buy gold", set()),  # both have one
        ("Gold is rising", "gold is Xenon", {"unknown"}),
    ],
)
def test_a_pair_is_in_the_slices_of_its_signs(left, right, expected):
    found = signs([left], [right], KNOWN)
    assert set(found.names(0)) == expected
    assert set(signs([right], [left], KNOWN).names(0)) == expected


def test_a_slice_and_its_outside_hold_all_pairs_and_count_what_is_right():
    generator = np.random.default_rng(0)
    found = signs([PLAIN[0], "gold 3", "xenon"] * 20, [PLAIN[1], "gold 4", "coins"] * 20, KNOWN)
    right = generator.random(60) < 0.7
    for name, sides in in_slices(found, right, np.arange(60)).items():
        where = getattr(found, name)
        for some, side in zip((where, ~where), sides, strict=True):
            assert (side.count, side.total) == (right[some].sum(), some.sum())
            if side.total:
                assert side.interval == pytest.approx(accuracy_interval(side.count, side.total), abs=0.02)
    assert list(in_slices(found, right, np.arange(60))) == list(SLICES)


def test_pairs_that_share_texts_and_are_alike_count_as_one():
    found, units = signs(["xenon"] * 90, ["coins"] * 90, KNOWN), np.arange(90) // 3
    right = np.random.default_rng(1).random(30)[units] < 0.7
    (alone, _), (shared, _) = (in_slices(found, right, each)["few_shared"] for each in (np.arange(90), units))
    assert shared.interval[1] - shared.interval[0] > 1.5 * (alone.interval[1] - alone.interval[0])


def test_an_empty_slice_has_no_pairs():
    found = signs([PLAIN[0]], [PLAIN[1]], KNOWN)
    inside, outside = in_slices(found, np.array([True]), np.array([0]))["digits"]
    assert inside == Rightness(0, 0, None)
    assert (outside.count, outside.total) == (1, 1)


def test_terms_are_those_with_the_largest_contributions_and_a_term_with_itself_is_written_once(run):
    model = load_model(run("tfidf") / "model")
    assert set(terms_of(model, "bank rate cut", "film bank rate")) == {"bank", "rate"}
    assert len(terms_of(model, "bank rate cut film star", "bank rate cut film star")) == MOST
    assert terms_of(model, "nothing known", "bank") == ()


def test_other_terms_stand_beside_each_other_and_what_lowers_the_score_has_a_minus(run, monkeypatch):
    from twicetold_lab.reporting import slices

    class Found:
        def largest(self, count):
            return [("▁bank", "▁rate", 0.5), ("cut", "cut", -0.25), ("film", "star", -0.1)][:count]

    monkeypatch.setattr(slices, "explain", lambda model, left, right: Found())
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
