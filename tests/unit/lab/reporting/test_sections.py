"""The sections of a dataset's page, from made-up runs."""

import json

import pytest

from twicetold import layout
from twicetold_lab.reporting import Cell, uses
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.sections import cross_domain_sections
from twicetold_lab.reporting.uses import use_sections
from twicetold_lab.runs.folder import read_cross_domain, read_runs

from .conftest import write


def board_of(project, cells, data="news"):
    return rank(data, read_runs([cell for cell in cells if cell.data == data], project.root / "runs")[data])


def rows_of(table):
    heads = [", ".join(filter(None, (head.text, head.note))) for head in table.columns]
    return {
        name.text: dict(zip(heads, (cell.text + (f" ({cell.remark})" if cell.remark else "") for cell in cells)))
        for name, cells in table.rows
    }


def test_each_use_has_all_models_that_have_its_measure_and_the_first_one_is_open(finished):
    project, cells = finished
    board = board_of(project, cells)
    dedupe, decide, links = use_sections(board, "documents", {})
    assert [part.is_folded for part in (dedupe, decide, links)] == [False, True, True]
    assert [name.text for name, _ in dedupe.tables[0].rows] == ["tfidf", "dae"], "by validation"
    row = rows_of(dedupe.tables[0])["tfidf"]
    known = [row[name] for name in ("B-cubed, average, test", "Average precision story", "ARI, average")]
    assert known == ["0.860", "0.870", "0.680"]
    assert rows_of(dedupe.tables[0])["dae"]["Difference, to tfidf"].startswith("-0.23")
    assert [name.text for name, _ in decide.tables[0].rows] == ["dae", "tfidf"]


def test_labelled_pairs_come_with_the_note_on_lower_bounds(finished):
    project, cells = finished
    for kind in ("labelled_pairs", "documents"):
        section = next(use_sections(board_of(project, cells), kind, {}))
        assert (uses.LOWER_BOUND in section.sentences) == (kind == "labelled_pairs")


def test_links_have_the_precision_of_test_and_a_model_that_reached_no_aim_is_left_out(finished):
    project, cells = finished
    board = board_of(project, cells)
    links = rows_of([*use_sections(board, "documents", {})][-1].tables[0])
    row = {"Precision, test": "0.850 (0.800 to 0.920)", "Precision by text": "0.750", "Recall": "0.350"}
    assert links == {"tfidf": row}


def test_a_model_of_other_data_stands_on_the_page_of_the_data_it_was_tested_on(finished):
    project, _ = finished
    metrics = {"average_precision_cluster": 0.5, "f1": 0.4, "same_share": 0.6}
    content = {"questions": {"metrics": metrics, "intervals": {"f1": (0.3, 0.5)}}, "news": {"metrics": {"f1": 1.0}}}
    write(project.run(Cell("news", "dae", 0)) / layout.ELSEWHERE, content)
    runs = read_cross_domain([Cell("news", "dae", 0)], project.root / "runs")
    assert cross_domain_sections("news", runs) == []
    (row,) = rows_of(cross_domain_sections("questions", runs)[0].tables[0]).values()
    assert [*row] == ["Learnt on", "Average precision cluster", "F1"]
    assert [*row.values()] == ["news (threshold alone)", "0.500", "0.400 (0.300 to 0.500)"]
    with pytest.raises(FileNotFoundError, match="evaluate_elsewhere@news-tfidf-0"):
        read_cross_domain([Cell("news", "tfidf", 0)], project.root / "runs")


def test_families_on_the_same_terms_stand_in_a_table_of_their_own_and_not_in_the_first_one(finished):
    project, cells = finished
    fair = Cell("news", "dae_fair", 0)
    metrics = json.loads((project.run(Cell("news", "dae", 0)) / layout.METRICS).read_text())
    project.add_run(fair, metrics["test"], val=metrics["val"], primary="auroc_category")
    page = project.markdown([*cells, fair], terms={fair: "fair_story"})["news"]
    first, rest = page.split("<summary>On the same terms: fair_story</summary>")
    assert "dae_fair" not in first
    assert "| dae_fair |" in rest
