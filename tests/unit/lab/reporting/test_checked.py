"""The checks of each model stand in the report."""

from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.checked import check_table
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.runs.records import read_runs


def test_a_line_is_said_once_with_the_models_that_it_is_said_of(finished):
    project, cells = finished
    board = rank("questions", read_runs(cells, project.root / "runs")["questions"])
    table = check_table(board, {"test": {"equal_texts_in_train": 0.5}})
    found = {line[:5]: models for line, models in table.found}
    assert found == {"TW004": ("dae",), "TW006": ("dae",)}  # nothing was trained of tfidf
    marks = {model: dict(zip([number for number, _ in table.heads], row, strict=True)) for model, row in table.rows}
    assert (marks["dae"]["TW004"], marks["dae"]["TW003"]) == ("error", "not checked")
    assert (marks["tfidf"]["TW004"], marks["tfidf"]["TW006"]) == ("–", "–")


def test_the_page_has_the_checks_of_each_dataset(make_page):
    html = make_page()
    assert html.count("<h3>Checks</h3>") == 3
    assert "TW006 note, fewer than three seeds" in html


def test_without_a_finding_the_page_says_so(project):
    from twicetold import layout
    from twicetold_lab import reporting

    project.add_data("data", "labelled_pairs", {"audit": {}})
    project.add_run(Cell("data", "tfidf", 0), {"auroc": 0.7}, primary="auroc")
    reporting.build([Cell("data", "tfidf", 0)], **project.folders, target=project.root / "reports")
    assert "No check found anything." in (project.root / "reports" / layout.REPORT).read_text()
