"""RESULTS.md is what `report.py --results` makes of the files in Git."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def report(monkeypatch):
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("report_under_test", ROOT / "pipelines" / "report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_are_a_rendering_of_metrics_summaries_and_cards(report):
    grid = report.grid_of(Path("params.yaml"))
    text = Path("RESULTS.md").read_text()
    earlier = report.EARLIER in text  # test_lock.py says when it must be there
    assert text == report.results(grid, runs=Path("runs"), cards=Path("data/cards"), earlier=earlier)


def test_each_cell_has_the_command_that_trains_it(report):
    grid = report.grid_of(ROOT / "params.yaml")
    row = grid["cells"]["quora_wang-siamese_lstm_published-0"]
    command = report.command_of("quora_wang-siamese_lstm_published-0", row, grid)
    expected = "python pipelines/train.py data=quora_wang model=siamese_lstm profile=published features=words"
    assert command == expected
    ensemble = {"data": "quora_wang", "members": ["re2", "static_mlp"], "seed": 0}
    command = report.command_of("quora_wang-re2_static_mlp-0", ensemble, grid)
    assert command == "python pipelines/ensemble.py data=quora_wang 'members=[re2,static_mlp]'"
    command = report.command_of("quora_wang-re2_static_mlp-0", {**ensemble, "stacking": "logistic"}, grid)
    assert command == "python pipelines/ensemble.py data=quora_wang 'members=[re2,static_mlp]' stacking=logistic"


def test_a_row_of_its_own_is_called_by_its_name(report):
    row = {"data": "quora_wang", "model": "siamese_lstm", "seed": 0}
    assert report.cell_of("quora_wang-siamese_lstm_published-0", row).model == "siamese_lstm_published"
