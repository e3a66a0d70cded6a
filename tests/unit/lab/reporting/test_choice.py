"""What the report says to take: the best by validation, the cheapest that is tied for first, what needs no labels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twicetold_lab import reporting
from twicetold_lab.evaluation.units import Units, Verdicts
from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.choice import HOW_TO_READ, Grid, answers
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.tiers import (
    DECIDE,
    DEDUPE,
    OVERLAP,
    SEARCH,
    TIED,
    all_tiers,
    glance,
    paired_table,
    tiers,
    uses_of,
)
from twicetold_lab.runs.records import Abroad, Run
from twicetold_lab.scoring.cost import Cost

MEASURE = "auroc"
TEXTS = np.arange(2000)


def run(model, val, test, *, parameters=10, seed=0, units=None, width=0.05, **further):
    """A run with one metric, whose interval has such a half width."""
    metrics = {"val": {MEASURE: val}, "test": {MEASURE: test}}
    return Run(
        cell=Cell("mine", model, seed),
        folder=Path(f"runs/mine-{model}-{seed}"),
        metrics=metrics,
        intervals={MEASURE: (test - width, test + width)},
        parameters=parameters,
        epochs=3 if parameters else 0,
        samples=(),
        primary=MEASURE,
        train_seconds=None,
        units={} if units is None else {MEASURE: units},
        **further,
    )


def kept(right):
    return Units.of_mean(np.asarray(right, dtype=float), TEXTS)


def answered(kind, runs, **further):
    board = rank("mine", runs)
    return answers(board, all_tiers(board, kind), **further)


def one_use(runs, **further):
    [found] = answered("graded_pairs", runs, **further)
    return found


def said(answer):
    return {sentence.head: sentence for sentence in answer.sentences}


@pytest.fixture
def alike():
    """Two models that are right about nearly the same texts, and a third that is right about a tenth fewer."""
    rng = np.random.default_rng(0)
    right = rng.random(len(TEXTS)) < 0.8
    other = right.copy()
    other[rng.choice(np.flatnonzero(right), 12, replace=False)] = False
    other[rng.choice(np.flatnonzero(~right), 10, replace=False)] = True
    worse = right & (rng.random(len(TEXTS)) < 0.9)
    return {"big": right, "small": other, "worse": worse}


def test_models_that_a_paired_test_tells_apart_are_not_tied_though_their_intervals_overlap(alike):
    sizes = {"big": 1000, "small": 10, "worse": 1}
    runs = [
        run(name, right.mean(), right.mean(), parameters=sizes[name], units=kept(right), width=0.2)
        for name, right in alike.items()
    ]
    found = one_use(runs)
    assert {each.row.model for each in found.tiers.first} == {"big", "small"}
    assert all(each.against_first is not None for each in found.tiers.standings[1:])
    assert said(found)["Cheapest tied for first"].model == "small"
    without = one_use([replace(each, units={}) for each in runs])
    assert {each.row.model for each in without.tiers.first} == {"big", "small", "worse"}
    cheapest = said(without)["Cheapest tied for first"]
    assert cheapest.model == "small"  # the worse one is tied, and too much lower
    assert "of 3 tied, 2 of them by overlapping intervals, 2 of them at most 0.05 lower" in cheapest.said
    assert OVERLAP in cheapest.said


def test_the_column_of_ties_is_sorted_by_its_words(alike):
    runs = [run(name, 0.8, right.mean(), units=kept(right)) for name, right in alike.items()]
    table = paired_table(one_use(runs).tiers)
    place = [column.text for column in table.columns].index("Tied for first")
    cells = [of_model[place] for _, of_model in table.rows]
    assert {cell.text for cell in cells} == {"yes", "no"}
    assert all(cell.value is None for cell in cells)  # a value would have the page sort the column by numbers


def test_the_best_is_chosen_on_validation_and_a_higher_one_on_test_is_named(alike):
    runs = [
        run("small", 0.9, alike["worse"].mean(), units=kept(alike["worse"])),
        run("big", 0.8, alike["big"].mean(), units=kept(alike["big"])),
    ]
    best = said(one_use(runs))["Best"]
    assert best.model == "small"
    assert "but big is higher on test" in best.said
    assert "corrected p < 0.001" in best.said


def test_the_truly_best_of_equal_models_is_left_out_in_at_most_a_twentieth_of_samples():
    """One of five equal models stands for the best; test chooses the one that it is compared with."""
    rng = np.random.default_rng(1)
    missed, texts = 0, np.arange(400)
    for _ in range(400):
        hard = rng.normal(size=len(texts))
        right = [(hard + rng.normal(size=len(texts)) > -0.5).astype(float) for _ in range(5)]
        runs = [run(f"m{i}", 0.5, each.mean(), units=Units.of_mean(each, texts)) for i, each in enumerate(right)]
        board = rank("mine", runs)
        missed += "m0" not in {each.row.model for each in all_tiers(board, "graded_pairs")[0].first}
    assert missed / 400 <= 0.05


def test_verdicts_of_labelled_pairs_are_compared_by_mcnemars_test_with_holms_correction(alike):
    label = np.ones(len(TEXTS))
    runs = []
    for name, right in alike.items():
        one = run(name, 0.8, 0.9)
        metrics = {split: {MEASURE: 0.9, "accuracy": right.mean()} for split in ("val", "test")}
        runs.append(replace(one, metrics=metrics, units={"accuracy": Verdicts.of(right, label)}))
    board = rank("mine", runs)
    [use] = uses_of(board, "labelled_pairs")
    assert (use.title, use.measure, use.needs_threshold) == (DECIDE, "accuracy", True)
    found = tiers(board, use)
    assert found.standings[-1].row.model == "worse"
    assert found.standings[-1].p_value < 0.001
    assert found.standings[1].p_value > 0.05


def test_models_of_other_units_are_an_error_that_names_them(alike):
    other = Units.of_mean(alike["big"].astype(float), TEXTS[::-1])
    runs = [run("a", 0.8, 0.8, units=kept(alike["big"])), run("b", 0.7, 0.7, units=other)]
    with pytest.raises(ValueError, match="mine-b-0 and mine-a-0, auroc: the models were evaluated on different units"):
        one_use(runs)


def test_the_seeds_of_a_model_are_compared_as_their_mean(alike):
    runs = [run("a", 0.8, 0.8, seed=seed, units=kept(alike["big"])) for seed in range(2)]
    runs.append(run("b", 0.7, 0.72, units=kept(alike["worse"])))
    found = one_use(runs)
    assert found.tiers.standings[1].against_first.difference == pytest.approx(-0.08)
    assert not found.tiers.standings[1].first


def test_a_model_that_is_not_clean_is_marked_and_a_clean_one_named(monkeypatch):
    seen = run("seen", 0.9, 0.9, pretrained_on="the web")
    found = said(one_use([seen, run("own", 0.8, 0.85)]))
    assert found["Best"].model == "seen (p)"
    assert "clean: own, 0.850" in found["Best"].said


def test_speed_decides_what_is_cheapest_where_it_was_measured():
    runs = [
        replace(run(name, 0.8, 0.8, parameters=size), cost=Cost("one", 4000, 1000, None, None, 1.0, speed, 1.0, 2.0))
        for name, size, speed in (("table", 1000, 5000.0), ("network", 10, 20.0))
    ]
    cheap = said(one_use(runs))["Cheapest tied for first"]
    assert cheap.model == "table"
    assert "1,000 parameters, 4 kB, 5,000 texts a second" in cheap.said
    assert said(one_use([replace(each, cost=None) for each in runs]))["Cheapest tied for first"].model == "network"
    elsewhere = replace(runs[0], cost=replace(runs[0].cost, processor="another"))
    assert said(one_use([elsewhere, runs[1]]))["Cheapest tied for first"].model == "network"


def test_of_a_model_that_scores_pairs_alone_the_time_of_a_pair_is_said():
    measured = Cost("one", 4000, 1000, None, None, None, None, 7.253, 9.0)
    best = said(one_use([replace(run("network", 0.8, 0.8), cost=measured)]))["Best"]
    assert "10 parameters, 4 kB, 7.25 milliseconds a pair" in best.said


def test_of_as_few_parameters_the_fastest_is_the_cheapest_though_others_were_not_measured():
    def cost(speed):
        return Cost("one", 4000, 1000, None, None, 1.0, speed, 1.0, 2.0)

    joined = replace(run("joined", 0.9, 0.81), cost=cost(20.0))  # with lexical features, which have no parameters
    member, network = replace(run("member", 0.8, 0.8), cost=cost(30.0)), run("network", 0.7, 0.79, parameters=1000)
    assert said(one_use([joined, member, network]))["Cheapest tied for first"].model == "member"
    other = replace(member, cost=replace(member.cost, processor="another"))
    assert said(one_use([joined, other, network]))["Cheapest tied for first"].model == "joined"


def test_each_tie_by_overlapping_intervals_is_said():
    seen = run("seen", 0.9, 0.9, pretrained_on="the web", parameters=1)
    found = said(one_use([seen, run("own", 0.8, 0.88), run("words", 0.7, 0.86, parameters=0)]))
    assert f"clean: own, 0.880, tied for first ({OVERLAP})" in found["Best"].said
    assert "of 3 tied, 2 of them by overlapping intervals" in found["Cheapest tied for first"].said
    assert f"tied for first ({OVERLAP})" in found["Without labels"].said


def test_without_labels_an_untrained_model_is_named_and_no_ensemble():
    runs = [run("trained", 0.9, 0.9), run("words", 0.6, 0.6, parameters=0), run("joined", 0.7, 0.7, parameters=0)]
    grid = Grid({runs[1].cell: "train words"}, [runs[2].cell])
    found = said(one_use(runs, grid=grid))["Without labels"]
    assert (found.model, found.command) == ("words", "train words")


def test_for_verdicts_without_labels_a_model_with_the_threshold_of_other_data_is_named():
    metrics = {split: {MEASURE: 0.9, "accuracy": 0.8} for split in ("val", "test")}
    own = replace(run("own", 0.9, 0.9), metrics=metrics)
    there = replace(run("words", 0.9, 0.9, parameters=0), cell=Cell("news", "words", 0))
    abroad = Abroad(there, {"mine": {"accuracy": 0.7}}, {"mine": {"accuracy": (0.6, 0.8)}}, {})
    [found] = answered("labelled_pairs", [own], elsewhere=[abroad])
    sentence = said(found)["Without labels"]
    assert sentence.model == "words"
    assert "the highest on test of the models from other data" in sentence.said
    assert "Test has a part in two choices" in HOW_TO_READ
    assert "Accuracy 0.700 (0.600 to 0.800), threshold of news" in sentence.said
    [found] = answered("labelled_pairs", [own])
    assert "a threshold needs labels" in said(found)["Without labels"].said


def test_the_uses_of_documents_are_decisions_dedupe_and_search(finished):
    project, cells = finished
    text = project.markdown(cells)
    part = text.split("### news: what to take")[1].split("\n## ")[0].split("\n### ")[0]
    assert [use for use in (DECIDE, DEDUPE, SEARCH) if f"#### {use}" in part] == [DECIDE, DEDUPE]
    assert "`twicetold dedupe FILE`" in part
    assert "`train news-dae-0`" in part
    assert text.startswith("## What to take")


def test_at_a_glance_rows_are_models_and_columns_are_uses(finished):
    project, cells = finished
    page = project.root / "reports" / "index.html"
    reporting.build(cells, **project.folders, target=page.parent)
    table = page.read_text().split('id="glance"')[1].split("</table>")[0]
    rows = [row.split("</th>")[0].rpartition(">")[2] for row in table.split("<tbody>")[1].split("<tr>")[1:]]
    assert sorted(rows) == ["dae", "tfidf"]
    assert TIED in table


def test_a_model_without_a_use_has_an_empty_cell_there():
    boards = [rank("mine", [run("a", 0.8, 0.8), run("b", 0.7, 0.5)]), rank("mine", [run("a", 0.8, 0.8)])]
    found = glance([(name, all_tiers(b, "graded_pairs")) for name, b in zip(("one", "two"), boards, strict=True)])
    assert found.datasets == (("one", 1), ("two", 1))
    assert {model: [cell.text for cell in cells] for model, cells in found.rows} == {
        "a": ["0.800", "0.800"],
        "b": ["0.500", ""],
    }
    assert [cell.tied for cell in found.rows[1][1]] == [False, False]
