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
    project.page(cells)

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


def test_the_page_needs_nothing_outside_it(make_page):
    html = make_page()

    assert not re.search(r"(?:src|href)=\"(?!#)", html)
    assert "@import" not in html
    assert "url(" not in html


def test_every_tag_is_closed_and_the_rows_of_a_table_are_equally_wide(make_page):
    checked = Balance()
    checked.feed(make_page())

    assert checked.open == []
    assert all(len(widths) == 1 for widths in checked.widths), checked.widths


def test_every_link_leads_somewhere_on_the_page(make_page):
    html = make_page()

    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(re.findall(r'id="([^"]+)"', html))


def test_the_runs_and_the_command_of_each_model_are_on_the_page(finished):
    project, cells = finished
    commands = {cell: f"python train.py data={cell.data} model='{cell.model}' seed={cell.seed}" for cell in cells}
    html = project.page(cells, commands=commands)
    for cell in (cell for cell in cells if cell.seed == 0):
        seeds = [each.name for each in cells if (each.data, each.model) == (cell.data, cell.model)]
        runs = html.split(f'<td class="text">{", ".join(seeds)}</td>')[1].split("</tr>")[0]
        assert f"<code>{escape(commands[cell])}</code>" in runs


def test_the_same_files_give_the_same_bytes_in_whatever_order_runs_are_named(finished):
    project, cells = finished
    first = project.page(cells)
    backwards = [cell for data in ("questions", "news", "graded") for cell in reversed(cells) if cell.data == data]

    assert project.page(backwards) == first


def test_no_path_of_this_machine_is_on_the_page(finished):
    project, cells = finished

    assert str(project.root) not in project.page(cells)


def test_names_and_notes_from_outside_are_escaped(project):
    evil = "<img src=x onerror=alert(1)>&\"'"
    cell = Cell("data", "m<script>", 0)
    record = {"name": evil, "source": "s", "origin": evil, "size": 1, "sha256": "00", "lines": 1}
    card = {evil: evil, "splits": {s: {evil: 1} for s in ("train", "val", "test")}, "audit": {"test": {evil: 0.5}}}
    project.add_data("data", "labelled_pairs", card, files=[record])
    project.add_run(cell, {"auroc": 0.7, evil: 0.1}, primary="auroc")

    html = project.page([cell])

    assert "<img" not in html
    assert "m<script>" not in html
    assert "&lt;img" in html


def test_a_check_is_said_once_with_the_models_that_it_is_said_of(finished, make_page):
    project, _ = finished
    about = project.root / "processed/questions" / layout.CARD
    card = json.loads(about.read_text())
    card["card"]["audit"]["test"]["equal_texts_in_train"] = 0.5
    about.write_text(json.dumps(card))
    html = make_page()
    found = {line[:5]: line.rpartition("(")[2] for line in re.findall("<li>(TW[^<]*)</li>", html.split("<h2>news")[0])}
    assert found == {"TW004": "dae)", "TW006": "dae)"}  # nothing was trained of tfidf
    assert html.count("<h3>Checks</h3>") == 3
    assert "TW006 note, fewer than three seeds" in html


def test_without_a_finding_of_a_check_the_page_says_so(project):
    project.add_data("data", "labelled_pairs", {"audit": {}})
    project.add_run(Cell("data", "tfidf", 0), {"auroc": 0.7}, primary="auroc")
    assert "No check found anything." in project.page([Cell("data", "tfidf", 0)])


def test_search_has_a_row_for_each_model_with_vectors_and_columns_in_order_of_rank(project):
    search = {f"retrieval_recall_at_{rank}": value for rank, value in ((1, 0.31), (10, 0.72), (100, 0.93))}
    search |= {"retrieval_mrr_at_10": 0.51, "retrieval_ndcg_at_10": 0.55, "index_agreement_at_10": 0.98}
    project.add_data("questions", "labelled_pairs", {})
    cells = [Cell("questions", "dae", 0), Cell("questions", "re2", 0)]
    project.add_run(cells[0], {"auroc": 0.7, **search}, primary="auroc")
    project.add_run(cells[1], {"auroc": 0.7}, primary="auroc")
    (table,) = re.findall("### Search in the whole corpus\n\n.*\n\n((?:[|].*\n)+)", project.markdown(cells))
    head, _, *rows = table.splitlines()
    assert head == "| model | R@1 | R@10 | R@100 | MRR@10 | nDCG@10 | Index agreement@10 |"
    assert rows == ["| dae | **0.310** | **0.720** | **0.930** | **0.510** | **0.550** | **0.980** |"]


def test_there_is_a_roc_figure_for_each_label_and_a_reliability_figure_of_labelled_pairs_alone(make_page):
    html = make_page()
    figures = ["ROC curves for category", "ROC curves for story", "Observed share against predicted probability"]
    assert [html.count(f'aria-label="{title}"') for title in figures] == [1, 1, 1]


def test_audit_and_malformed_rows_are_told_in_words_and_undefined_findings_are_left_out(make_page):
    html = make_page()

    assert "25.0 % of the test texts occur in training pairs, too (validation 25.0 %)." in html
    assert "AUROC of 0.580 (validation 0.580)" in html
    assert "mean label of those pairs" not in html
    assert "3 (bad label 3)" in html
    assert "<li>Malformed rows left out: none</li>" in html


def test_the_glossary_explains_each_metric_on_the_page_and_no_other(make_page):
    glossary = make_page().split('id="glossary"')[1]

    for label in ("AUROC", "AUROC category", "P@10 story", "Threshold", "Spearman"):
        assert f"<b>{label}</b>" in glossary
    assert "<b>MCC</b>" not in glossary


def test_the_page_says_of_paired_tests_that_they_compare_the_mean_over_seeds(make_page):
    (said,) = re.findall("<li><b>Several seeds:</b>(.*?)</li>", make_page())
    mean, first = said.split(";")
    assert "paired tests compare the mean" in mean
    assert "smallest seed" in first
    assert "paired" not in first


def test_seconds_are_shown_where_they_were_observed_and_nowhere_else(make_page):
    questions, news = make_page().split('<section id="data-news"')

    assert "12.5" in questions
    assert "Training<small>seconds" not in news.split('<section id="')[0]


def test_an_undefined_metric_is_a_dash_on_the_page_and_nan_in_the_csv(project):
    cell = Cell("data", "dae", 0)
    project.add_data("data", "graded_pairs", {})
    project.add_run(cell, {"pearson": 0.5, "spearman": math.nan}, primary="pearson")

    html = project.page([cell])

    assert "nan<" not in html
    assert f"{'data,dae,0,test,spearman'},nan" in (project.root / "reports" / layout.LEADERBOARD).read_text()


@pytest.mark.parametrize(
    ("missing", "stage"),
    [
        (f"{layout.MODEL}/{layout.DECISION}", "evaluate@questions-tfidf-0"),
        (layout.METRICS, "evaluate@questions-tfidf-0"),
        (layout.SUMMARY, "evaluate@questions-tfidf-0"),
    ],
)
def test_a_missing_run_file_names_the_stage_to_run_and_nothing_is_written(finished, missing, stage):
    project, cells = finished
    (project.run(Cell("questions", "tfidf", 0)) / missing).unlink()

    with pytest.raises(FileNotFoundError, match=f"dvc repro {stage}"):
        project.page(cells)
    assert not (project.root / "reports").exists()


@pytest.mark.parametrize(
    ("missing", "stage"),
    [(f"processed/news/{layout.CARD}", "prepare@news"), (f"raw/news/{layout.MANIFEST}", "download@news")],
)
def test_a_missing_data_file_names_the_stage_to_run(finished, missing, stage):
    project, cells = finished
    (project.root / missing).unlink()

    with pytest.raises(FileNotFoundError, match=f"dvc repro {stage}"):
        project.page(cells)


def test_metrics_without_a_split_say_what_was_expected(finished):
    project, cells = finished
    (project.run(cells[0]) / layout.METRICS).write_text('{"test": {"auroc": 0.5}}')

    with pytest.raises(ValueError, match=r"has no 'val', only \['test'\].*evaluate@questions-dae-0"):
        project.page(cells)


def test_no_cells_are_an_error_and_not_an_empty_report(project):
    with pytest.raises(ValueError, match="no cells to report on"):
        project.page([])


def test_a_model_that_was_pretrained_is_marked_and_the_note_says_on_what(finished):
    project, cells = finished
    cells = [*cells, Cell("questions", "minilm", 0)]
    metrics = {"auroc": 0.9, "accuracy": 0.8, "threshold": 0.5}
    folder = project.add_run(cells[-1], metrics, primary="auroc", parameters=9, pretrained_on="pairs of <Quora>")
    for file in (layout.ROC, layout.SCORES):
        (folder / file).write_bytes((project.run(cells[0]) / file).read_bytes())
    note = "not clean: minilm had been pretrained on pairs of &lt;Quora"

    html = project.page(cells)
    text = reporting.leaderboard_text(cells, project.root / "runs", terminal=False)
    markdown = project.markdown(cells)

    assert html.count('<span class="tag">not clean</span>') == 1
    assert "minilm (p)" in html
    assert note in html
    assert note in markdown
    assert "**minilm (p)** (not clean)" in markdown
    assert "minilm (p)" in text
    assert "pretrained on pairs of <Quora>" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "tfidf (p)" not in html


def test_a_model_whose_pretraining_data_are_not_those_of_the_dataset_is_not_marked_and_the_note_says_so(finished):
    project, cells = finished
    cells = [*cells, Cell("questions", "minilm", 0), Cell("questions", "wordllama", 0)]
    metrics = {"auroc": 0.9, "accuracy": 0.8, "threshold": 0.5}
    for cell, seen in zip(cells[-2:], (["news"], ["questions"])):
        folder = project.add_run(cell, metrics, primary="auroc", parameters=9, pretrained_on="the web", seen=seen)
        for file in (layout.ROC, layout.SCORES):
            (folder / file).write_bytes((project.run(cells[0]) / file).read_bytes())
    html, markdown = project.page(cells), project.markdown(cells)
    assert html.count('<span class="tag">not clean</span>') == 1
    assert "minilm (p)" not in html + markdown
    assert "wordllama (p)" in html
    said = "minilm had been pretrained on the web. Texts of this dataset are not known to be among these."
    assert said in html
    assert said in markdown


def test_without_a_pretrained_model_nothing_is_said_about_pretraining(make_page):
    assert "had been pretrained" not in make_page()


def test_other_files_in_the_target_folder_stay(finished):
    project, cells = finished
    (project.root / "reports").mkdir()
    (project.root / "reports" / "mine.txt").write_text("mine")
    project.page(cells)

    assert sorted(p.name for p in (project.root / "reports").iterdir()) == [
        "index.html",
        "leaderboard.csv",
        "mine.txt",
        "numbers.csv",
    ]


def test_the_terminal_text_has_a_block_for_each_dataset_in_ascii_and_stars_the_best(finished):
    project, cells = finished
    text = reporting.leaderboard_text(cells, project.root / "runs", terminal=False)

    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100
    assert "\033" not in text
    *blocks, note = text.strip().split("\n\n")
    titles = ["questions: AUROC", "news: AUROC category", "graded: Spearman"]
    assert [block.splitlines()[0] for block in blocks] == titles
    assert all(block.count("* ") == 1 for block in blocks)
    assert note.startswith("* best on validation")
    assert re.search(r"\* dae +0\.810 \+-0\.014 +0\.790-0\.830 +0\.820", blocks[0])
    in_bold = reporting.leaderboard_text(cells, project.root / "runs", terminal=True)
    assert in_bold.count("\033[1m* ") == 3


def test_the_markdown_tables_hold_intervals_counts_and_checksums_but_nothing_observed(finished):
    project, cells = finished
    text = project.markdown(cells)

    assert "| **dae** (2 seeds) | **0.810 ± 0.014** | 0.790 to 0.830 | 0.820 ± 0.014 |" in text
    assert f"| pairs.tsv | 12,345 | 9 | `{'ab' * 32}` |" in text
    assert "| train | 400 | 50.0 % |" in text
    assert "12.5" not in text


def test_markdown_from_outside_stays_text():
    made = markdown_table(["m", "n"], [[escaped("*a* [x](http://e) `c` <b> C:\\|d"), "1 | 2"]]).splitlines()[-1]
    assert made == "| \\*a\\* \\[x\\](http\\://e) \\`c\\` &lt;b> C:\\\\\\|d | 1 \\| 2 |"


def test_the_rows_of_a_markdown_table_are_equally_wide(finished):
    project, cells = finished
    text = project.markdown(cells)

    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_markdown_is_made_from_metrics_summaries_and_cards_alone(finished):
    project, cells = finished
    text = project.markdown(cells)
    for folder in ("processed", "raw", "reports"):
        shutil.rmtree(project.root / folder, ignore_errors=True)
    for file in (project.root / "runs").rglob("*"):
        if file.is_file() and file.name not in (layout.METRICS, layout.SUMMARY):
            file.unlink()
    commands = {cell: f"train {cell.name}" for cell in cells}
    again = reporting.markdown(Grid(cells, commands), runs=project.root / "runs", cards=project.root / "cards")

    assert again == text
    assert "| dae | questions-dae-0, questions-dae-1 | `train questions-dae-0` |" in text


def test_the_page_is_made_from_files_in_git_where_the_data_are_not_there(finished):
    project, cells = finished
    project.markdown(cells)  # writes the cards
    for folder in ("processed", "raw"):
        shutil.rmtree(project.root / folder, ignore_errors=True)
    for file in (project.root / "runs").rglob("*"):
        if file.is_file() and file.name not in (layout.METRICS, layout.SUMMARY):
            file.unlink()
    reporting.build(Grid(cells), **project.folders, target=project.root / "reports", cards=project.root / "cards")
    html = (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")

    assert all(f'id="data-{cell.data}"' in html for cell in cells)
    assert "0.810" in html, "an accuracy"
    shutil.rmtree(project.root / "cards")
    with pytest.raises(FileNotFoundError, match="prepare@"):
        reporting.build(Grid(cells), **project.folders, target=project.root / "reports", cards=project.root / "cards")


def test_a_dataset_that_is_not_there_keeps_its_card(finished):
    project, cells = finished
    text, folders = project.markdown(cells), {name: project.root / name for name in ("processed", "raw")}
    before = {card: card.read_bytes() for card in (project.root / "cards").iterdir()}
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    assert project.markdown(cells) == text
    assert before == {card: card.read_bytes() for card in (project.root / "cards").iterdir()}
    next(iter(before)).unlink()
    with pytest.raises(FileNotFoundError, match="prepare@"):
        project.markdown(cells)


def test_a_card_says_nothing_of_where_files_came_from(finished):
    project, cells = finished
    project.markdown(cells)

    assert "mirror" not in (project.root / "cards" / "questions.json").read_text(encoding="utf-8")


def test_where_train_was_measured_it_stands_beside_test_in_the_markdown_and_has_curves_of_its_own(finished):
    project, cells = finished
    folder = project.run(Cell("news", "dae", 0))
    metrics = json.loads((folder / layout.METRICS).read_text())
    metrics["train"] = {"auroc_category": 0.84, "auroc_story": 0.95, "average_precision_category": 0.5}
    (folder / layout.METRICS).write_text(json.dumps(metrics))
    roc = (folder / layout.ROC).read_text()
    (folder / layout.ROC).write_text(roc + "".join(f"category (train),{x},{x}\n" for x in (0.0, 1.0)))
    (section,) = project.markdown(cells).split("### Train and test")[1:]
    table = section.split("\n\n")[2].splitlines()
    columns = [f"AUROC {group}, {split}" for group in ("category", "story") for split in ("train", "test")]
    assert table[0] == f"| model | {' | '.join(columns)} |"
    assert table[2:] == ["| dae | 0.840 | 0.750 | 0.950 | 0.900 |"]
    html = project.page(cells)
    assert "ROC, same category (train)" in html
    assert "AUROC 0.840" in html
