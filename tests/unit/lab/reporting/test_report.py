import csv
import json
import math
import re
import shutil
from html.parser import HTMLParser
from itertools import takewhile
from pathlib import Path

import pytest
from markupsafe import escape

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting import Cell, Grid

ROOT = Path(__file__).parents[4]
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Balance(HTMLParser):
    """Fails on a tag that is closed in the wrong order or never."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open += [tag] if tag not in VOID else []

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


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


def test_a_check_is_said_once_with_the_models_that_it_is_said_of(finished, make_pages):
    project, _ = finished
    about = project.root / "processed/questions" / layout.CARD
    card = json.loads(about.read_text())
    card["card"]["audit"]["test"]["equal_texts_in_train"] = 0.5
    about.write_text(json.dumps(card))
    html = make_pages()["questions"]
    found = {line[:5]: line.rpartition("(")[2] for line in re.findall("<li>(TW[^<]*)</li>", html)}
    assert found == {"TW004": "dae)"}  # nothing was trained of tfidf
    assert "No check found anything." in make_pages()["graded"]


def test_findings_of_the_audit_are_told_in_words_and_undefined_ones_are_left_out(make_pages):
    html = make_pages()["questions"]

    assert '<th scope="row">Texts that occur in training pairs</th>' in html
    assert "<li>Texts that occur in training pairs: 25.0 %</li>" in html
    assert "Mean label of those pairs" not in html


def test_an_undefined_metric_is_a_dash_on_the_page_and_nan_in_the_csv(project):
    cell = Cell("data", "dae", 0)
    project.add_data("data", "graded_pairs", {})
    project.add_run(cell, {"pearson": 0.5, "spearman": math.nan}, primary="pearson")

    html = "".join(project.pages([cell]).values())

    assert "nan<" not in html
    assert f"{'data,dae,0,test,spearman'},nan" in (project.root / "reports" / layout.LEADERBOARD).read_text()


def test_no_cells_are_an_error_and_not_an_empty_report(project):
    with pytest.raises(ValueError, match="no cells to report on"):
        project.pages([])


def test_the_markdown_tables_hold_intervals_and_counts(finished):
    project, cells = finished
    text = project.markdown(cells)["questions"]

    assert "| dae (2 seeds) | **0.710 ± 0.014** | – |" in text
    assert "| train | 400 | 50.0 % |" in text


def test_the_terminal_has_all_models_of_each_dataset_without_codes(finished):
    project, cells = finished
    text = reporting.leaderboard_text(Grid(cells), project.root / "runs")
    assert "\033" not in text
    lines = text.splitlines()
    titles = [line.partition(": ordered by ")[0] for line in lines if line.endswith("the other columns are of test")]
    assert titles == ["questions", "news", "graded"]
    assert re.search(r"^dae \(2 seeds\) .* 0\.710 ± 0\.014", text, re.MULTILINE)
    guide = (ROOT / "docs/guides/demo.md").read_text().splitlines()
    of_guide = next(number for number, line in enumerate(guide) if line.startswith("model "))
    for place, found in ((of_guide, guide), (lines.index(next(line for line in lines if line[:5] == "model")), lines)):
        columns, *rows = (re.split(" {2,}", line) for line in takewhile(bool, found[place:]))
        assert columns[:2] == ["model", "Validation"]
        assert {*columns} >= {"Difference", "Size", "Texts a second", "Pretrained on these data"}
        values = [float(row[1].partition(" ")[0]) for row in rows]
        assert values == sorted(values, reverse=True)


def test_pages_need_nothing_but_each_other_close_every_tag_and_have_rows_of_one_width(finished):
    project, cells = finished
    pages = project.pages(cells)
    for html in pages.values():
        assert {target.removesuffix(".html") for target in re.findall(r"(?:src|href)=\"([^\"]*)", html)} <= {*pages}
        assert not re.search(r"@import|url\(", html)
        assert str(project.root) not in html
        checked = Balance()
        checked.feed(html)
        assert checked.open == []
        for table in html.split("<table")[1:]:
            assert (
                len({len(re.findall("<t[dh][ >]", row)) for row in table.split("</table>")[0].split("</tr>")[:-1]}) == 1
            )
    for table in re.findall(r"(?:^\|.*\n)+", "\n".join(project.markdown(cells).values()), re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (f"runs/questions-tfidf-0/{layout.METRICS}", None, "dvc repro evaluate@questions-tfidf-0"),
        (f"runs/questions-tfidf-0/{layout.SUMMARY}", None, "dvc repro evaluate@questions-tfidf-0"),
        (f"processed/news/{layout.CARD}", None, "dvc repro prepare@news"),
        (
            f"runs/questions-dae-0/{layout.METRICS}",
            '{"test": {"auroc": 1}}',
            "has no 'val', only .*evaluate@questions-dae",
        ),
    ],
)
def test_a_file_that_is_missing_or_no_use_names_the_stage_to_run_and_nothing_is_written(
    finished, file, content, message
):
    project, cells = finished
    (project.root / file).unlink()
    if content:
        (project.root / file).write_text(content)
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        project.pages(cells)
    assert not (project.root / "reports").exists()


def test_files_in_git_suffice_and_a_dataset_that_is_not_there_keeps_its_card(finished):
    project, cells = finished
    text, cards = project.markdown(cells), project.root / "cards"
    before = {card: card.read_bytes() for card in cards.iterdir()}
    shutil.rmtree(project.root / "processed")
    for file in (project.root / "runs").rglob("*"):
        if file.is_file() and file.name not in (layout.METRICS, layout.SUMMARY):
            file.unlink()
    assert project.markdown(cells) == text
    assert before == {card: card.read_bytes() for card in cards.iterdir()}
    assert text["questions"].count("| `train questions-dae-0` |") == 1
    other = project.root / "reports" / "mine.txt"
    other.parent.mkdir()
    other.write_text("mine")
    reporting.build(Grid(cells), **project.folders, target=other.parent, cards=cards)
    assert "0.710" in (other.parent / "questions.html").read_text(encoding="utf-8"), "an accuracy"
    pages = ["graded.html", "index.html", "leaderboard.csv", "mine.txt", "news.html", "numbers.csv", "questions.html"]
    assert sorted(file.name for file in other.parent.iterdir()) == pages
    shutil.rmtree(cards)
    with pytest.raises(FileNotFoundError, match="prepare@"):
        reporting.build(Grid(cells), **project.folders, target=other.parent, cards=cards)
    with pytest.raises(FileNotFoundError, match="prepare@"):
        project.markdown(cells)
