"""The tables of families on the same terms, from made-up runs of news."""

import pytest

from twicetold import layout
from twicetold_lab.reporting import Cell, ControlledCell
from twicetold_lab.reporting.controlled import controlled_runs, controlled_sections
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.runs.folder import read_runs

AVERAGE = "average_precision_story"


@pytest.fixture
def on_terms(finished):
    """`dae` with two seeds and `tfidf` on the terms of stories, `dae` also on those of categories."""
    project, cells = finished
    controlled = []
    for family, terms, seed, quality in (
        ("dae", "fair_story", 0, 0.6),
        ("dae", "fair_story", 1, 0.64),
        ("tfidf", "fair_story", 0, 0.7),
        ("dae", "fair", 0, 0.8),
    ):
        metric = AVERAGE.replace("story", terms.removeprefix("fair_"))
        cell = Cell("news", f"{family}_{terms}", seed)
        project.add_run(cell, {metric: quality}, val={metric: quality + 0.05}, primary=metric, parameters=9)
        controlled.append(ControlledCell(cell, family, terms))
    return project, cells, controlled


def sections_of(project, cells, controlled, seconds):
    runs = project.root / "runs"
    board, on_terms = rank("news", read_runs(cells, runs)["news"]), controlled_runs(controlled, runs)["news"]
    return controlled_sections(board, controlled, on_terms, seconds)


def test_each_table_has_one_row_a_family_ordered_by_validation_with_its_own_objective_beside(on_terms):
    seconds = {"news-dae-0": 10.0, "news-dae_fair_story-0": 20.0, "news-dae_fair_story-1": 30.0}
    story, category = sections_of(*on_terms, seconds)
    assert [name.text for name, _ in story.tables[0].rows] == ["tfidf", "dae"]
    assert [name.text for name, _ in category.tables[0].rows] == ["dae"]
    own_val, own_test, val, test, own_took, took, seeds, _ = story.tables[0].rows[1][1]
    own = on_terms[0].run(Cell("news", "dae", 0)) / layout.METRICS
    assert f'"{AVERAGE}": {own_val.value}' in own.read_text()
    assert own_test.value == pytest.approx(own_val.value - 0.01)
    assert (val.text, test.text) == ("0.670 ± 0.028", "0.620 ± 0.028")
    assert test.remark == "0.600 to 0.640"  # the mean of the seeds' intervals
    assert (own_took.value, took.value) == (10.0, 25.0)
    assert seeds.text == "1, 2"
    assert "+experiment=fair_story:" in story.sentences[0]
    assert "7 epochs" in story.sentences[0]


def test_a_family_without_a_row_of_its_own_shows_its_values_on_the_same_terms_alone(on_terms):
    project, cells, controlled = on_terms
    story, _ = sections_of(project, [cell for cell in cells if cell.model != "dae"], controlled, {})
    assert [cell.text for cell in story.tables[0].rows[1][1]][:2] == ["–", "–"]
    assert story.tables[0].rows[1][1][2].text == "0.670 ± 0.028"


def test_the_leaderboard_is_of_the_families_own_rows_and_tells_what_was_tuned_how(on_terms):
    project, cells, controlled = on_terms
    text = project.markdown(cells, controlled=controlled)
    board, _, below = text.partition("### On the same terms: fair_story")
    assert "dae_fair" not in board
    assert "| Tuned |" in board
    assert "0.670 ± 0.028" in below
    html = project.page(cells, controlled=controlled)
    assert "On the same terms: fair_story" in html
    assert "<small>same terms, test</small>" in html
    csv = (project.root / "reports" / layout.LEADERBOARD).read_text(encoding="utf-8")
    assert "dae_fair_story,1,test" in csv
