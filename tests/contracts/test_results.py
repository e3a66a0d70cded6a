"""RESULTS.md is what `report.py --results` makes of the files in Git."""

import re
from pathlib import Path

import pytest

import report
from twicetold_lab.grid.lock import is_stale, locked_stages
from twicetold_lab.grid.rows import read_grid

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_results_are_a_rendering_of_metrics_summaries_and_cards():
    grid, missing = report.without_missing(read_grid(ROOT), Path("runs"), ran=locked_stages(ROOT))
    earlier = is_stale(ROOT)
    pages = report.results(grid, runs=Path("runs"), cards=Path("data/cards"), earlier=earlier, missing=missing)
    assert [file for file, text in pages.items() if not file.is_file() or file.read_text() != text] == []
    assert {*Path("docs/results").glob("*.md")} == {*pages} - {Path("RESULTS.md")}
    assert len(Path("RESULTS.md").read_text().splitlines()) <= 300
    assert not re.search(r"\b(inf|nan)\b", "".join(pages.values()))


def test_each_cell_has_the_command_that_trains_it():
    grid = read_grid(ROOT)
    row = grid["cells"]["uci_news_time-dae_published-0"]
    command = report.command_of("uci_news_time-dae_published-0", row, grid)
    expected = "python pipelines/train.py data=uci_news_time model=dae profile=published +experiment=with_train"
    assert command == expected
    ensemble = {"data": "quora_wang", "members": ["re2", "static_mlp"], "seed": 0}
    command = report.command_of("quora_wang-re2_static_mlp-0", ensemble, grid)
    assert command == "python pipelines/ensemble.py data=quora_wang 'members=[re2,static_mlp]'"
    command = report.command_of("quora_wang-re2_static_mlp-0", {**ensemble, "stacking": "logistic"}, grid)
    assert command == "python pipelines/ensemble.py data=quora_wang 'members=[re2,static_mlp]' stacking=logistic"


def test_a_row_of_its_own_is_called_by_its_name():
    row = {"data": "uci_news_time", "model": "dae", "seed": 0}
    assert report.cell_of("uci_news_time-dae_published-0", row).model == "dae_published"


def test_cells_that_have_not_run_are_left_out_and_those_that_ran_are_not(tmp_path):
    row = {"data": "stsb", "model": "tfidf", "seed": 0}
    grid = {"cells": {f"stsb-tfidf-{seed}": row for seed in (0, 1, 2)}, "ensembles": {}, "elsewhere": {}}
    (tmp_path / "stsb-tfidf-0").mkdir()
    (tmp_path / "stsb-tfidf-0" / "metrics.json").write_text("{}")
    made, missing = report.without_missing(grid, tmp_path, ran={"evaluate@stsb-tfidf-1"})
    assert list(made["cells"]) == ["stsb-tfidf-0", "stsb-tfidf-1"]
    assert missing == ["stsb-tfidf-2"]
    assert report.not_run(missing) == "Not run yet: 1 cells (stsb-tfidf-2)."
