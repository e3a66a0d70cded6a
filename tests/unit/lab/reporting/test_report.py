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
from twicetold_lab.reporting import Cell
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


def build(project, cells):
    reporting.build(cells, **project.folders, target=project.root / "reports")
    return (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")


def test_the_csv_holds_every_metric_of_every_run_and_nothing_observed(finished):
    project, cells = finished
    build(project, cells)

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


def test_a_model_of_a_leaderboard_leads_to_its_runs_and_its_command(finished):
    project, cells = finished
    commands = {cell: f"python train.py data={cell.data} model='{cell.model}' seed={cell.seed}" for cell in cells}
    reporting.build(cells, **project.folders, target=project.root / "reports", commands=commands)
    html = (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")
    for cell in (cell for cell in cells if cell.seed == 0):
        assert html.count(f'<a href="#run-{cell.name}">{cell.model}</a>') == 1
        line = html.split(f'<tr id="run-{cell.name}">')[1].split("</tr>")[0]
        assert f"<code>{escape(commands[cell])}</code>" in line
        seeds = [each.name for each in cells if (each.data, each.model) == (cell.data, cell.model)]
        assert [name for name in seeds if f"<code>{name}</code>" in line] == seeds


def test_the_same_files_give_the_same_bytes_in_whatever_order_runs_are_named(finished):
    project, cells = finished
    first = build(project, cells)
    backwards = [cell for data in ("questions", "news", "graded") for cell in reversed(cells) if cell.data == data]

    assert build(project, backwards) == first


def test_no_path_of_this_machine_is_on_the_page(finished):
    project, cells = finished

    assert str(project.root) not in build(project, cells)


def test_names_and_notes_from_outside_are_escaped(project):
    evil = "<img src=x onerror=alert(1)>&\"'"
    cell = Cell("data", "m<script>", 0)
    record = {"name": evil, "source": "s", "origin": evil, "size": 1, "sha256": "00", "lines": 1}
    card = {evil: evil, "splits": {s: {evil: 1} for s in ("train", "val", "test")}, "audit": {"test": {evil: 0.5}}}
    project.add_data("data", "labelled_pairs", card, files=[record])
    project.add_run(cell, {"auroc": 0.7, evil: 0.1}, primary="auroc")

    html = build(project, [cell])

    assert "<img" not in html
    assert "m<script>" not in html
    assert "&lt;img" in html


def test_a_page_of_documents_draws_one_roc_figure_for_each_label(make_page):
    html = make_page()

    assert html.count('aria-label="ROC curves for category"') == 1
    assert html.count('aria-label="ROC curves for story"') == 1


def test_only_labelled_pairs_get_a_reliability_figure(make_page):
    html = make_page()

    assert html.count("Observed share against predicted probability") == 1


def test_the_audit_is_told_in_words_and_undefined_findings_are_left_out(make_page):
    html = make_page()

    assert "25.0 % of the test texts occur in training pairs, too (validation 25.0 %)." in html
    assert "AUROC of 0.580 (validation 0.580)" in html
    assert "mean label of those pairs" not in html


def test_malformed_rows_are_counted_with_their_reasons(make_page):
    html = make_page()

    assert "3 (bad label 3)" in html
    assert "1 (bad grade 1)" in html
    assert "<dd>none</dd>" in html


def test_the_glossary_explains_each_metric_on_the_page_and_no_other(make_page):
    glossary = make_page().split('id="glossary"')[1]

    for label in ("AUROC", "AUROC category", "P@10 story", "Threshold", "Spearman"):
        assert f"<dt>{label}</dt>" in glossary
    assert "<dt>MCC</dt>" not in glossary


def test_the_page_says_of_paired_tests_that_they_compare_the_mean_over_seeds(make_page):
    (said,) = re.findall("<li><b>Several seeds:</b>(.*?)</li>", make_page(), re.DOTALL)
    mean, first = " ".join(said.split()).split(";")
    assert "paired tests compare the mean" in mean
    assert "smallest seed" in first
    assert "paired" not in first


def test_seconds_are_shown_where_they_were_observed_and_nowhere_else(make_page):
    questions, news = make_page().split('<section id="data-news"')

    assert "12.5" in questions
    assert "Training<small>seconds" not in news.split("</section>")[0]


def test_an_undefined_metric_is_a_dash_on_the_page_and_nan_in_the_csv(project):
    cell = Cell("data", "dae", 0)
    project.add_data("data", "graded_pairs", {})
    project.add_run(cell, {"pearson": 0.5, "spearman": math.nan}, primary="pearson")

    html = build(project, [cell])

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
        build(project, cells)
    assert not (project.root / "reports").exists()


@pytest.mark.parametrize(
    ("missing", "stage"),
    [(f"processed/news/{layout.CARD}", "prepare@news"), (f"raw/news/{layout.MANIFEST}", "download@news")],
)
def test_a_missing_data_file_names_the_stage_to_run(finished, missing, stage):
    project, cells = finished
    (project.root / missing).unlink()

    with pytest.raises(FileNotFoundError, match=f"dvc repro {stage}"):
        build(project, cells)


def test_metrics_without_a_split_say_what_was_expected(finished):
    project, cells = finished
    (project.run(cells[0]) / layout.METRICS).write_text('{"test": {"auroc": 0.5}}')

    with pytest.raises(ValueError, match=r"has no 'val', only \['test'\].*evaluate@questions-dae-0"):
        build(project, cells)


def test_no_cells_are_an_error_and_not_an_empty_report(project):
    with pytest.raises(ValueError, match="no cells to report on"):
        build(project, [])


def test_a_model_that_was_pretrained_is_marked_and_the_note_says_on_what(finished):
    project, cells = finished
    cells = [*cells, Cell("questions", "minilm", 0)]
    metrics = {"auroc": 0.9, "accuracy": 0.8, "threshold": 0.5}
    folder = project.add_run(cells[-1], metrics, primary="auroc", parameters=9, pretrained_on="pairs of <Quora>")
    for file in (layout.ROC, layout.SCORES):
        (folder / file).write_bytes((project.run(cells[0]) / file).read_bytes())
    note = "not clean: minilm had been pretrained on pairs of &lt;Quora"

    html = build(project, cells)
    text = reporting.leaderboard_text(cells, project.root / "runs", terminal=False)
    markdown = project.markdown(cells)

    assert html.count('<span class="tag">not clean</span>') == 1
    assert "minilm (p)" in html
    assert note in html
    assert note in markdown
    assert "minilm (p)**" in markdown
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
    html, markdown = build(project, cells), project.markdown(cells)
    assert html.count('<span class="tag">not clean</span>') == 1
    assert "minilm (p)" not in html + markdown
    assert "wordllama (p)" in html
    said = "minilm had been pretrained on the web. Texts of this dataset are not known to be among these."
    assert said in html
    assert said in markdown


def test_without_a_pretrained_model_nothing_is_said_about_pretraining(make_page):
    assert "pretrained" not in make_page()


def test_other_files_in_the_target_folder_stay(finished):
    project, cells = finished
    (project.root / "reports").mkdir()
    (project.root / "reports" / "mine.txt").write_text("mine")
    build(project, cells)

    assert sorted(p.name for p in (project.root / "reports").iterdir()) == [
        "cost.csv",
        "index.html",
        "leaderboard.csv",
        "mine.txt",
        "numbers.csv",
    ]


def test_the_terminal_text_is_ascii_and_fits_100_columns_where_there_is_no_terminal(finished):
    project, cells = finished
    text = reporting.leaderboard_text(cells, project.root / "runs", terminal=False)

    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100
    assert "\033" not in text


def test_the_terminal_text_has_a_block_for_each_dataset_and_stars_the_best(finished):
    project, cells = finished
    text = reporting.leaderboard_text(cells, project.root / "runs", terminal=False)

    *blocks, note = text.strip().split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [
        "questions: AUROC",
        "news: AUROC category",
        "graded: Spearman",
    ]
    assert all(block.count("* ") == 1 for block in blocks)
    assert note.startswith("* best on validation")
    assert re.search(r"\* dae +0\.810 \+-0\.014 +0\.790-0\.830 +0\.820", blocks[0])


def test_a_terminal_gets_the_best_row_in_bold(finished):
    project, cells = finished
    text = reporting.leaderboard_text(cells, project.root / "runs", terminal=True)

    assert text.count("\033[1m* ") == 3


def test_the_markdown_tables_hold_intervals_counts_and_checksums_but_nothing_observed(finished):
    project, cells = finished
    text = project.markdown(cells)

    assert "| **dae** | **0.810 ± 0.014** | 0.790 to 0.830 | 0.820 ± 0.014 |" in text
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
    for folder in ("processed", "raw", "triplets", "reports"):
        shutil.rmtree(project.root / folder, ignore_errors=True)
    for file in (project.root / "runs").rglob("*"):
        if file.is_file() and file.name not in (layout.METRICS, layout.SUMMARY):
            file.unlink()
    commands = {cell: f"train {cell.name}" for cell in cells}
    again = reporting.markdown(commands, runs=project.root / "runs", cards=project.root / "cards")

    assert again == text
    assert "- dae: `train questions-dae-0`" in text


def test_the_page_is_made_from_files_in_git_where_the_data_are_not_there(finished):
    project, cells = finished
    project.markdown(cells)  # writes the cards
    for folder in ("processed", "raw", "triplets"):
        shutil.rmtree(project.root / folder, ignore_errors=True)
    for file in (project.root / "runs").rglob("*"):
        if file.is_file() and file.name not in (layout.METRICS, layout.SUMMARY):
            file.unlink()
    reporting.build(cells, **project.folders, target=project.root / "reports", cards=project.root / "cards")
    html = (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")

    assert all(f'id="data-{cell.data}"' in html for cell in cells)
    assert "0.810" in html, "an accuracy"
    shutil.rmtree(project.root / "cards")
    with pytest.raises(FileNotFoundError, match="prepare@"):
        reporting.build(cells, **project.folders, target=project.root / "reports", cards=project.root / "cards")


def test_a_dataset_that_is_not_there_keeps_its_card(finished):
    project, cells = finished
    text, folders = project.markdown(cells), {name: project.root / name for name in ("processed", "raw", "triplets")}
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
    html = build(project, cells)
    assert "ROC, same category (train)" in html
    assert "AUROC 0.840" in html
