import csv
import io
import math

import numpy as np
import pytest

from twicetold_lab.evaluation.comparisons import MARGIN
from twicetold_lab.evaluation.units import Units
from twicetold_lab.reporting.leaderboard import DECIDE, DEDUPE, SEARCH, cheapest, leaderboard_csv, rank
from twicetold_lab.runs.folder import Cell

from .conftest import made_run


def run(model, seed=0, *, val=0.5, test=0.5, parameters=10, primary="auroc", interval=None, **further):
    metrics = {"val": {"auroc": val, **further}, "test": {"auroc": test, **further}}
    summary = {"intervals": {"auroc": interval} if interval else {}, "parameters": parameters, "primary": primary}
    return made_run(Cell("d", model, seed), metrics, {**summary, "epochs": 3})


def test_the_csv_is_long_form_sorted_and_exact_to_the_last_bit():
    text = leaderboard_csv([run("b", test=1 / 3), run("a", 10, test=0.1 + 0.2), run("a", 2)])

    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["data", "model", "seed", "split", "metric", "value", "low", "high"]
    found = " ".join(f"{r['model']}{r['seed']}-{r['split']}" for r in rows)
    assert found == "a2-test a2-val a10-test a10-val b0-test b0-val"
    assert [float(r["value"]) for r in rows if r["split"] == "test"] == [0.5, 0.1 + 0.2, 1 / 3]


STORY = {"average_precision_story": 0.5, "retrieval_ndcg_at_10": 0.6}


@pytest.mark.parametrize(
    ("further", "measure"),
    [
        ({}, "average_precision_story"),
        ({"b3_average": 0.7}, "b3_average"),
        ({"b3_average": 0.7, "text_average_precision_story": 0.4}, "text_average_precision_story"),
    ],
)
def test_a_dedupe_rests_on_the_measure_that_counts_each_text_once(further, measure):
    board = rank("d", [run("a", **STORY, **further)])
    assert board.uses == {DEDUPE: measure, DECIDE: "auroc", SEARCH: "retrieval_ndcg_at_10"}
    assert rank("quora_wang", [run("a", **STORY)]).measure_of(DEDUPE) is None


def test_rows_are_ranked_by_validation_as_near_to_the_measure_as_validation_has():
    def of_groups(model, val, test):
        made = run(model, average_precision_story=val)
        return made_run(
            made.cell, {**made.metrics, "test": {"b3_average": test, "average_precision_story": test}}, made.summary
        )

    board = rank("d", [of_groups("a", 0.4, 0.9), of_groups("b", 0.6, 0.8), run("c")])
    assert [row.model for row in board.ranked("b3_average")] == ["b", "a"]


def unit_run(model, right, seed=0):
    units = Units.of_mean(right.astype(float), np.arange(len(right)))
    value = {"auroc": float(right.mean())}
    return made_run(Cell("d", model, seed), {"val": value, "test": value}, {"parameters": 1}, units={"auroc": units})


def test_a_difference_has_an_interval_where_units_were_kept_and_none_otherwise():
    right = np.random.default_rng(0).random(2_000) < 0.8
    near, far = right.copy(), right.copy()
    near[:4], far[:400] = False, False
    runs = [unit_run("best", right), unit_run("near", near), unit_run("far", far), run("alone", val=0.1)]
    best, close, behind, alone = rank("d", runs).rows
    cell = close.difference(best, "auroc")
    assert cell.interval[0] < cell.value < 0 < cell.interval[1]
    assert alone.difference(best, "auroc").interval is None
    assert best.difference(best, "auroc").text == "–"
    assert [row.is_not_worse(best, "auroc") for row in (best, close, behind, alone)] == [True, True, False, False]
    assert close.compared(best, "auroc").low >= -MARGIN


def test_models_of_other_units_are_refused_by_name():
    rows = rank("d", [unit_run("a", np.ones(9)), unit_run("b", np.ones(8))]).rows
    with pytest.raises(ValueError, match="d-b-0 and d-a-0, auroc: the models were evaluated on different units"):
        rows[1].compared(rows[0], "auroc")


def test_the_order_comes_from_validation_even_where_test_disagrees_and_undefined_comes_last():
    board = rank("d", [run("c", val=math.nan), run("a", val=0.6, test=0.9, threshold=1), run("b", val=0.7, test=0.8)])
    assert [row.model for row in board.rows] == ["b", "a", "c"]
    assert (board.top("auroc"), board.top("threshold")) == (0.9, None)
    assert cheapest(rank("d", [run("a", parameters=9), run("b", parameters=3)]).rows).model == "b"


@pytest.mark.parametrize(
    ("seeds", "mean", "deviation", "ends"),
    [
        ([(0.1 + 0.2, (0.1, 0.3))], 0.1 + 0.2, None, (0.1, 0.3)),
        ([(0.1, (0.1, 0.3)), (0.2, (0.2, 0.6)), (0.3, (0.3, 0.3))], 0.2, 0.1, (0.2, 0.4)),
        ([(0.1, (0.1, 0.3)), (0.3, None)], 0.2, math.sqrt(0.02), None),
    ],
)
def test_seeds_are_averaged_and_intervals_where_every_seed_has_one(seeds, mean, deviation, ends):
    runs = [run("a", seed, test=value, interval=interval) for seed, (value, interval) in enumerate(seeds)]
    found = rank("d", runs).rows[0].metrics["test"]["auroc"]
    assert (found.mean, found.deviation) == (pytest.approx(mean, abs=1e-15), deviation and pytest.approx(deviation))
    assert found.interval == (ends and pytest.approx(ends))


def test_the_primary_metric_is_the_one_that_training_watched():
    assert rank("d", [run("a", primary="f1", f1=0.5)]).metrics[:2] == ("f1", "auroc")
    assert rank("d", [run("a", primary="loss", f1=0.5)]).primary == "auroc"
