import csv
import json
import math
import re
import shutil
from html.parser import HTMLParser

import pytest
from markupsafe import escape

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting import Cell, Grid
from twicetold_lab.reporting.markdown import escaped
from twicetold_lab.reporting.markdown import table as markdown_table

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Balance(HTMLParser):
    """Fails on a tag that is closed in the wrong order or never."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.widths = [], 0, []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.widths.append(set())
        if tag == "tr":
            self.cells = 0
        if tag in ("td", "th"):
            self.cells += int(dict(attrs).get("colspan", 1))

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "tr":
            self.widths[-1].add(self.cells)


def test_the_csv_holds_every_metric_of_every_run_and_nothing_observed(finished):
    project, cells = finished
    project.pages(cells)

    with (project.root / "reports" / layout.LEADERBOARD).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(r["data"], r["model"], int(r["seed"]), r["split"], r["metric"]): float(r["value"]) for r in rows}
    expected = {
        (cell.data, cell.model, cell.seed, split, metric): value
        for cell in cells
        for split, metrics in json.loads((project.run(cell) / layout.METRICS).read_text()).items()
        for metric, value in metrics.items()
    }
    assert found == expected


def test_the_pages_need_nothing_but_each_other(make_pages):
    pages = make_pages()
    for html in pages.values():
        assert {target.removesuffix(".html") for target in re.findall(r"(?:src|href)=\"([^\"]*)", html)} <= {*pages}
        assert "@import" not in html
        assert "url(" not in html


def test_every_tag_is_closed_and_the_rows_of_a_table_are_equally_wide(make_pages):
    for html in make_pages().values():
        checked = Balance()
        checked.feed(html)
        assert checked.open == []
        assert all(len(widths) == 1 for widths in checked.widths), checked.widths


def test_the_command_of_each_model_is_on_the_page(finished):
    project, cells = finished
    commands = {cell: f"python train.py data={cell.data} model='{cell.model}' seed={cell.seed}" for cell in cells}
    pages = project.pages(cells, commands=commands)
    for cell in (cell for cell in cells if cell.seed == 0):
        assert f"<code>{escape(commands[cell])}</code>" in pages[cell.data]


def test_the_same_files_give_the_same_bytes_in_whatever_order_runs_are_named(finished):
    project, cells = finished
    first = project.pages(cells)
    backwards = [cell for data in ("questions", "news", "graded") for cell in reversed(cells) if cell.data == data]

    assert project.pages(backwards) == first


def test_no_path_of_this_machine_is_on_the_page(finished):
    project, cells = finished

    assert str(project.root) not in "".join(project.pages(cells).values())


def test_names_and_notes_from_outside_are_escaped(project):
    evil = "<img src=x onerror=alert(1)>&\"'"
    cell = Cell("data", "m<script>", 0)
    card = {evil: evil, "splits": {s: {evil: 1} for s in ("train", "val", "test")}, "audit": {"test": {evil: 0.5}}}
    project.add_data("data", "labelled_pairs", card)
    project.add_run(cell, {"auroc": 0.7, evil: 0.1}, primary="auroc")

    html = "".join(project.pages([cell]).values())

    assert "<img" not in html
    assert "m<script>" not in html
    assert "&lt;img" in html


def test_a_check_is_said_once_with_the_models_that_it_is_said_of(finished, make_pages):
    project, _ = finished
    about = project.root / "processed/questions" / layout.CARD
    card = json.loads(about.read_text())
    card["card"]["audit"]["test"]["equal_texts_in_train"] = 0.5
    about.write_text(json.dumps(card))
    html = make_pages()["questions"]
    found = {line[:5]: line.rpartition("(")[2] for line in re.findall("<li>(TW[^<]*)</li>", html)}
    assert found == {"TW004": "dae)", "TW006": "dae)"}  # nothing was trained of tfidf
    assert "TW006 note, fewer than three seeds" in html


def test_without_a_finding_of_a_check_the_page_says_so(project):
    project.add_data("data", "labelled_pairs", {"audit": {}})
    project.add_run(Cell("data", "tfidf", 0), {"auroc": 0.7}, primary="auroc")
    assert "No check found anything." in project.pages([Cell("data", "tfidf", 0)])["data"]


def test_audit_and_malformed_rows_are_told_in_words_and_undefined_findings_are_left_out(make_pages):
    html = make_pages()["questions"]

    assert '<th scope="row">Texts that occur in training pairs</th>' in html
    assert "Mean label of those pairs" not in html
    assert "3 (bad label 3)" in html
    assert "<li>Malformed rows left out: none</li>" in make_pages()["news"]


def test_an_undefined_metric_is_a_dash_on_the_page_and_nan_in_the_csv(project):
    cell = Cell("data", "dae", 0)
    project.add_data("data", "graded_pairs", {})
    project.add_run(cell, {"pearson": 0.5, "spearman": math.nan}, primary="pearson")

    html = "".join(project.pages([cell]).values())

    assert "nan<" not in html
    assert f"{'data,dae,0,test,spearman'},nan" in (project.root / "reports" / layout.LEADERBOARD).read_text()


@pytest.mark.parametrize(
    ("missing", "stage"),
    [
        (layout.METRICS, "evaluate@questions-tfidf-0"),
        (layout.SUMMARY, "evaluate@questions-tfidf-0"),
    ],
)
def test_a_missing_run_file_names_the_stage_to_run_and_nothing_is_written(finished, missing, stage):
    project, cells = finished
    (project.run(Cell("questions", "tfidf", 0)) / missing).unlink()

    with pytest.raises(FileNotFoundError, match=f"dvc repro {stage}"):
        project.pages(cells)
    assert not (project.root / "reports").exists()


def test_a_missing_data_file_names_the_stage_to_run(finished):
    project, cells = finished
    (project.root / "processed/news" / layout.CARD).unlink()

    with pytest.raises(FileNotFoundError, match="dvc repro prepare@news"):
        project.pages(cells)


def test_metrics_without_a_split_say_what_was_expected(finished):
    project, cells = finished
    (project.run(cells[0]) / layout.METRICS).write_text('{"test": {"auroc": 0.5}}')

    with pytest.raises(ValueError, match=r"has no 'val', only \['test'\].*evaluate@questions-dae-0"):
        project.pages(cells)


def test_no_cells_are_an_error_and_not_an_empty_report(project):
    with pytest.raises(ValueError, match="no cells to report on"):
        project.pages([])


def test_other_files_in_the_target_folder_stay(finished):
    project, cells = finished
    (project.root / "reports").mkdir()
    (project.root / "reports" / "mine.txt").write_text("mine")
    project.pages(cells)

    written = ["graded.html", "index.html", "leaderboard.csv", "mine.txt", "news.html", "numbers.csv", "questions.html"]
    assert sorted(p.name for p in (project.root / "reports").iterdir()) == written


def test_the_markdown_tables_hold_intervals_and_counts_but_nothing_observed(finished):
    project, cells = finished
    text = project.markdown(cells)["questions"]

    assert "| dae (2 seeds) | **0.710 ± 0.014** | – |" in text
    assert "| train | 400 | 50.0 % |" in text
    assert "12.5" not in text


def test_the_terminal_has_all_models_of_each_dataset_without_codes(finished):
    project, cells = finished
    text = reporting.leaderboard_text(Grid(cells), project.root / "runs")
    assert "\033" not in text
    lines = text.splitlines()
    assert [line for line in lines if line in ("questions", "news", "graded")] == ["questions", "news", "graded"]
    assert re.search(r"^dae \(2 seeds\) +0\.710 \+-?|± 0\.014", text, re.MULTILINE)


def test_markdown_from_outside_stays_text():
    made = markdown_table(["m", "n"], [[escaped("*a* [x](http://e) `c` <b> C:\\|d"), "1 | 2"]]).splitlines()[-1]
    assert made == "| \\*a\\* \\[x\\](http\\://e) \\`c\\` &lt;b> C:\\\\\\|d | 1 \\| 2 |"


def test_the_rows_of_a_markdown_table_are_equally_wide(finished):
    project, cells = finished
    text = "\n".join(project.markdown(cells).values())

    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_markdown_is_made_from_metrics_summaries_and_cards_alone(finished):
    project, cells = finished
    text = project.markdown(cells)
    for folder in ("processed", "reports"):
        shutil.rmtree(project.root / folder, ignore_errors=True)
    for file in (project.root / "runs").rglob("*"):
        if file.is_file() and file.name not in (layout.METRICS, layout.SUMMARY):
            file.unlink()
    commands = {cell: f"train {cell.name}" for cell in cells}
    again = reporting.markdown(Grid(cells, commands), runs=project.root / "runs", cards=project.root / "cards")

    assert again == text
    assert "| `train questions-dae-0` |" in text["questions"]


def test_the_page_is_made_from_files_in_git_where_the_data_are_not_there(finished):
    project, cells = finished
    project.markdown(cells)  # writes the cards
    shutil.rmtree(project.root / "processed")
    for file in (project.root / "runs").rglob("*"):
        if file.is_file() and file.name not in (layout.METRICS, layout.SUMMARY):
            file.unlink()
    reporting.build(Grid(cells), **project.folders, target=project.root / "reports", cards=project.root / "cards")
    assert "0.710" in (project.root / "reports/questions.html").read_text(encoding="utf-8"), "an accuracy"
    shutil.rmtree(project.root / "cards")
    with pytest.raises(FileNotFoundError, match="prepare@"):
        reporting.build(Grid(cells), **project.folders, target=project.root / "reports", cards=project.root / "cards")


def test_a_dataset_that_is_not_there_keeps_its_card(finished):
    project, cells = finished
    text = project.markdown(cells)
    before = {card: card.read_bytes() for card in (project.root / "cards").iterdir()}
    shutil.rmtree(project.root / "processed")
    assert project.markdown(cells) == text
    assert before == {card: card.read_bytes() for card in (project.root / "cards").iterdir()}
    next(iter(before)).unlink()
    with pytest.raises(FileNotFoundError, match="prepare@"):
        project.markdown(cells)
