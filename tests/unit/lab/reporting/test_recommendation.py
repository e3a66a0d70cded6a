"""What the report says to take: the best by validation, the cheapest that is tied for first, what needs no labels."""

import numpy as np
import pytest

from twicetold_lab.evaluation.units import Units, Verdicts
from twicetold_lab.reporting import Cell, Grid
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.recommendation import HOW_TO_READ, recommend
from twicetold_lab.reporting.tiers import (
    DECIDE,
    DEDUPE,
    OVERLAP,
    SEARCH,
    TIED,
    all_tiers,
    overview,
    paired_section,
    tiers,
    uses_of,
)
from twicetold_lab.runs.folder import CrossDomain
from twicetold_lab.scoring.cost import Cost

from .conftest import made_run

MEASURE = "auroc"
TEXTS = np.arange(2000)


def run(
    model, val, test, *, parameters=10, seed=0, units=None, width=0.05, cost=None, data="mine", accuracy=None, **how
):
    """A run with one metric, whose interval has such a half width; or with two."""
    metrics = {"val": {MEASURE: val}, "test": {MEASURE: test}}
    if accuracy is not None:
        metrics = {split: {**values, "accuracy": accuracy} for split, values in metrics.items()}
    summary = {"intervals": {MEASURE: (test - width, test + width)}, "parameters": parameters, "primary": MEASURE}
    summary |= {"epochs": 3 if parameters else 0, "pretrained_on": [], **how}
    kept = units if isinstance(units, dict) else {} if units is None else {MEASURE: units}
    return made_run(Cell(data, model, seed), metrics, summary, units=kept, cost=cost)


def kept(right):
    return Units.of_mean(np.asarray(right, dtype=float), TEXTS)


def of_uses(kind, runs, **further):
    board = rank("mine", runs)
    return recommend(board, all_tiers(board, kind), **further)


def one_use(runs, **further):
    [found] = of_uses("graded_pairs", runs, **further)
    return found


def by_head(found):
    return {row.head: row for row in found.rows}


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

    def runs(units):
        return [
            run(name, right.mean(), right.mean(), parameters=sizes[name], units=units(right), width=0.2)
            for name, right in alike.items()
        ]

    found = one_use(runs(kept))
    assert {each.row.model for each in found.tiers.first} == {"big", "small"}
    assert all(each.against_first is not None for each in found.tiers.standings[1:])
    assert by_head(found)["Cheapest tied for first"].model == "small"
    without = one_use(runs(lambda _: None))
    assert {each.row.model for each in without.tiers.first} == {"big", "small", "worse"}
    cheapest = by_head(without)["Cheapest tied for first"]
    assert cheapest.model == "small"  # the worse one is tied, and too much lower
    assert "of 3 tied, 2 of them by overlapping intervals, 2 of them at most 0.05 lower" in cheapest.reason
    assert OVERLAP in cheapest.reason


def test_the_column_of_ties_is_sorted_by_its_words(alike):
    runs = [run(name, 0.8, right.mean(), units=kept(right)) for name, right in alike.items()]
    (table,) = paired_section(one_use(runs).tiers).tables
    place = [column.text for column in table.columns].index("Tied for first")
    cells = [of_model[place] for _, of_model in table.rows]
    assert {cell.text for cell in cells} == {"yes", "no"}
    assert all(cell.value is None for cell in cells)  # a value would have the page sort the column by numbers


def test_the_best_is_chosen_on_validation_and_a_higher_one_on_test_is_named(alike):
    runs = [
        run("small", 0.9, alike["worse"].mean(), units=kept(alike["worse"])),
        run("big", 0.8, alike["big"].mean(), units=kept(alike["big"])),
    ]
    best = by_head(one_use(runs))["Best"]
    assert best.model == "small"
    assert "but big is higher on test" in best.reason
    assert "corrected p < 0.001" in best.reason


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
        verdicts = {"accuracy": Verdicts.of(right, label)}
        runs.append(run(name, 0.9, 0.9, accuracy=right.mean(), units=verdicts))
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
    seen = run("seen", 0.9, 0.9, pretrained_on=["the web"])
    found = by_head(one_use([seen, run("own", 0.8, 0.85)]))
    assert found["Best"].model == "seen (p)"
    assert "clean: own, 0.850" in found["Best"].reason


def cost(speed, processor="one", pair=1.0):
    return Cost(processor, 4000, 1000, None, None, 1.0, speed, pair, 2.0)


def test_speed_decides_what_is_cheapest_where_it_was_measured_on_one_processor():
    def named(table, network):
        runs = run("table", 0.8, 0.8, parameters=1000, cost=table), run("network", 0.8, 0.8, cost=network)
        return by_head(one_use(runs))["Cheapest tied for first"]

    cheap = named(cost(5000.0), cost(20.0))
    assert cheap.model == "table"
    assert "1,000 parameters, 4 kB, 5,000 texts a second" in cheap.reason
    assert named(None, None).model == named(cost(5000.0, "another"), cost(20.0)).model == "network"


def test_of_a_model_that_scores_pairs_alone_the_time_of_a_pair_is_said():
    best = by_head(one_use([run("network", 0.8, 0.8, cost=cost(None, pair=7.253))]))["Best"]
    assert "10 parameters, 4 kB, 7.25 milliseconds a pair" in best.reason


@pytest.mark.parametrize(("processor", "cheapest"), [("one", "member"), ("another", "joined")])
def test_of_as_few_parameters_the_fastest_is_the_cheapest_though_others_were_not_measured(processor, cheapest):
    joined = run("joined", 0.9, 0.81, cost=cost(20.0))  # with lexical features, which have no parameters
    member = run("member", 0.8, 0.8, cost=cost(30.0, processor))
    found = one_use([joined, member, run("network", 0.7, 0.79, parameters=1000)])
    assert by_head(found)["Cheapest tied for first"].model == cheapest


def test_each_tie_by_overlapping_intervals_is_said():
    seen = run("seen", 0.9, 0.9, pretrained_on=["the web"], parameters=1)
    found = by_head(one_use([seen, run("own", 0.8, 0.88), run("words", 0.7, 0.86, parameters=0)]))
    assert f"clean: own, 0.880, tied for first ({OVERLAP})" in found["Best"].reason
    assert "of 3 tied, 2 of them by overlapping intervals" in found["Cheapest tied for first"].reason
    assert f"tied for first ({OVERLAP})" in found["Without labels"].reason


def test_without_labels_an_untrained_model_is_named_and_no_ensemble():
    runs = [run("trained", 0.9, 0.9), run("words", 0.6, 0.6, parameters=0), run("joined", 0.7, 0.7, parameters=0)]
    grid = Grid(commands={runs[1].cell: "train words"}, ensembles=[runs[2].cell])
    found = by_head(one_use(runs, grid=grid))["Without labels"]
    assert (found.model, found.command) == ("words", "train words")


def test_for_verdicts_without_labels_a_model_with_the_threshold_of_other_data_is_named():
    own = run("own", 0.9, 0.9, accuracy=0.8)
    other = run("words", 0.9, 0.9, parameters=0, data="news")
    vars(other)["cross_domain"] = {"mine": CrossDomain({"accuracy": 0.7}, {"accuracy": (0.6, 0.8)}, 0)}
    [found] = of_uses("labelled_pairs", [own], cross_domain=[other])
    sentence = by_head(found)["Without labels"]
    assert sentence.model == "words"
    assert "the highest on test of the models from other data" in sentence.reason
    assert "Test has a part in two choices" in HOW_TO_READ
    assert "Accuracy 0.700 (0.600 to 0.800), threshold of news" in sentence.reason
    [found] = of_uses("labelled_pairs", [own])
    assert "a threshold needs labels" in by_head(found)["Without labels"].reason


def test_the_uses_of_documents_are_decisions_dedupe_and_search(finished):
    project, cells = finished
    text = project.markdown(cells)
    part = text.split("### news: what to take")[1].split("\n## ")[0].split("\n### ")[0]
    assert [use for use in (DECIDE, DEDUPE, SEARCH) if f"#### {use}" in part] == [DECIDE, DEDUPE]
    assert "`twicetold dedupe FILE`" in part
    assert "`train news-dae-0`" in part
    assert text.startswith("## What to take")


def test_rows_of_the_overview_are_models_and_columns_are_uses(finished):
    project, cells = finished
    table = project.page(cells).split('id="overview"')[1].split("</table>")[0]
    assert sorted(row.split("<")[0] for row in table.split('<th scope="row">')[1:]) == ["dae", "tfidf"]
    assert TIED in table


def test_a_model_without_a_use_has_an_empty_cell_there():
    boards = [rank("mine", [run("a", 0.8, 0.8), run("b", 0.7, 0.5)]), rank("mine", [run("a", 0.8, 0.8)])]
    found = overview([(name, all_tiers(b, "graded_pairs")) for name, b in zip(("one", "two"), boards, strict=True)])
    assert [column.text for column in found.columns] == ["one", "two"]
    assert {model.text: [cell.text for cell in cells] for model, cells in found.rows} == {
        "a": ["0.800", "0.800"],
        "b": ["0.500", ""],
    }
    assert TIED not in [cell.note for cell in found.rows[1][1]]
