import csv
import io
import math

import pytest

from twicetold_lab.reporting.leaderboard import leaderboard_csv, rank
from twicetold_lab.runs.folder import Cell

from .conftest import made_run


def run(model, seed=0, *, val=0.5, test=0.5, parameters=10, primary="auroc", interval=None, **further):
    metrics = {"val": {"auroc": val, **further}, "test": {"auroc": test, **further}}
    summary = {"intervals": {"auroc": interval} if interval else {}, "parameters": parameters, "primary": primary}
    return made_run(Cell("d", model, seed), metrics, {**summary, "epochs": 3})


def test_the_order_comes_from_validation_even_where_test_disagrees():
    board = rank("d", [run("a", val=0.6, test=0.9), run("b", val=0.7, test=0.8)])

    assert [row.model for row in board.rows] == ["b", "a"]
    assert board.best.model == "b"
    assert board.top("auroc") == 0.9


def test_a_model_whose_validation_is_undefined_comes_last():
    board = rank("d", [run("a", val=math.nan), run("b", val=0.1)])

    assert [row.model for row in board.rows] == ["b", "a"]


def test_seeds_are_averaged_with_their_standard_deviation():
    board = rank("d", [run("a", seed, test=value) for seed, value in enumerate((0.1, 0.2, 0.3))])

    estimate = board.best.metrics["test"]["auroc"]
    assert estimate.mean == pytest.approx(0.2)
    assert estimate.deviation == pytest.approx(0.1)


def test_a_single_seed_has_no_deviation_and_keeps_its_value_exactly():
    estimate = rank("d", [run("a", test=0.1 + 0.2)]).best.metrics["test"]["auroc"]

    assert (estimate.mean, estimate.deviation) == (0.1 + 0.2, None)


def test_intervals_are_averaged_only_when_every_seed_has_one():
    both = rank("d", [run("a", 0, interval=(0.1, 0.3)), run("a", 1, interval=(0.2, 0.6))])
    one = rank("d", [run("a", 0, interval=(0.1, 0.3)), run("a", 1)])

    assert both.best.metrics["test"]["auroc"].interval == pytest.approx((0.15, 0.45))
    assert one.best.metrics["test"]["auroc"].interval is None


def test_the_primary_metric_is_the_one_that_training_watched():
    watched = rank("d", [run("a", primary="f1", f1=0.5)])
    unknown = rank("d", [run("a", primary="loss", f1=0.5)])

    assert watched.metrics[:2] == ("f1", "auroc")
    assert unknown.primary == "auroc"


def test_the_baseline_is_the_best_model_without_parameters():
    board = rank("d", [run("a", val=0.9), run("b", val=0.4, parameters=0), run("c", val=0.5, parameters=0)])

    assert board.baseline is not None
    assert board.baseline.model == "c"
    assert rank("d", [run("a")]).baseline is None


def test_a_threshold_has_no_top_value():
    board = rank("d", [run("a", threshold=0.3), run("b", threshold=0.4)])

    assert board.top("threshold") is None


def test_the_csv_is_long_form_sorted_and_exact_to_the_last_bit():
    text = leaderboard_csv([run("b", test=1 / 3), run("a", 10, test=0.1 + 0.2), run("a", 2)])

    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["data", "model", "seed", "split", "metric", "value", "low", "high"]
    assert [(r["model"], r["seed"], r["split"]) for r in rows] == [
        ("a", "2", "test"),
        ("a", "2", "val"),
        ("a", "10", "test"),
        ("a", "10", "val"),
        ("b", "0", "test"),
        ("b", "0", "val"),
    ]
    assert [float(r["value"]) for r in rows if r["split"] == "test"] == [0.5, 0.1 + 0.2, 1 / 3]
