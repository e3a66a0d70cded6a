"""The tables of families on the same terms, from made-up runs of news."""

import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting import Cell, FairCell
from twicetold_lab.reporting.fair import fair_runs, fair_tables
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.runs.records import read_runs

AVERAGE = "average_precision_story"


@pytest.fixture
def on_terms(finished):
    """`dae` with two seeds and `tfidf` on the terms of stories, `dae` also on those of categories."""
    project, cells = finished
    fair = []
    for family, terms, seed, quality in (
        ("dae", "fair_story", 0, 0.6),
        ("dae", "fair_story", 1, 0.64),
        ("tfidf", "fair_story", 0, 0.7),
        ("dae", "fair_category", 0, 0.8),
    ):
        metric = AVERAGE.replace("story", terms.removeprefix("fair_"))
        cell = Cell("news", f"{family}_{terms}", seed)
        project.add_run(cell, {metric: quality}, val={metric: quality + 0.05}, primary=metric, parameters=9)
        fair.append(FairCell(cell, family, terms))
    return project, cells, fair


def tables_of(project, cells, fair, seconds):
    runs = project.root / "runs"
    return fair_tables(rank("news", read_runs(cells, runs)["news"]), fair, fair_runs(fair, runs)["news"], seconds)


def test_each_table_has_one_row_a_family_ordered_by_validation_with_its_own_objective_beside(on_terms):
    seconds = {"news-dae-0": 10.0, "news-dae_fair_story-0": 20.0, "news-dae_fair_story-1": 30.0}
    story, category = tables_of(*on_terms, seconds)
    assert [name.text for name, _ in story.table.rows] == ["tfidf", "dae"]
    assert [name.text for name, _ in category.table.rows] == ["dae"]
    own_val, own_test, val, test, own_took, took, seeds, _ = story.table.rows[1][1]
    own = on_terms[0].run(Cell("news", "dae", 0)) / layout.METRICS
    assert f'"{AVERAGE}": {own_val.value}' in own.read_text()
    assert own_test.value == pytest.approx(own_val.value - 0.01)
    assert (val.text, test.text) == ("0.670 ± 0.028", "0.620 ± 0.028")
    assert test.note == "0.600 to 0.640"  # the mean of the seeds' intervals
    assert (own_took.value, took.value) == (10.0, 25.0)
    assert seeds.text == "1, 2"
    assert "+experiment=fair_story:" in story.said
    assert "7 epochs" in story.said


def test_a_family_without_a_row_of_its_own_shows_its_fair_values_alone(on_terms):
    project, cells, fair = on_terms
    story, _ = tables_of(project, [cell for cell in cells if cell.model != "dae"], fair, {})
    assert [cell.text for cell in story.table.rows[1][1]][:2] == ["–", "–"]
    assert story.table.rows[1][1][2].text == "0.670 ± 0.028"


def test_the_leaderboard_is_of_the_families_own_rows_and_tells_what_was_tuned_how(on_terms):
    project, cells, fair = on_terms
    folders = project.folders
    runs, cards = folders.pop("runs"), project.root / "cards"
    reporting.write_cards({cell.data for cell in cells}, cards=cards, **folders)
    commands = dict.fromkeys([*cells, *(each.cell for each in fair)], "train")
    text = reporting.markdown(commands, runs=runs, cards=cards, fair=fair)
    board, _, below = text.partition("### On the same terms: fair_story")
    assert "dae_fair" not in board
    assert "| tuned |" in board
    assert "0.670 ± 0.028" in below
    reporting.build(cells, runs=runs, target=project.root / "reports", fair=fair, **folders)
    html = (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")
    assert "On the same terms: fair_story" in html
    assert "<small>same terms, test</small>" in html
    csv = (project.root / "reports" / layout.LEADERBOARD).read_text(encoding="utf-8")
    assert "dae_fair_story,1,test" in csv
