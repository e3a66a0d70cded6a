"""What README and pages under docs/explanation say of results stands in docs/results; README's lines run."""

import csv
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scripts import script
from twicetold.commands import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
HEADLINES, QUESTIONS = "uci_news", "quora_disjoint"
IN_DEDUPE = {HEADLINES: "Average precision story", QUESTIONS: "Average precision cluster"}
EXPLANATION = ROOT / "docs/explanation"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
TREE = next(block for _, block in BLOCKS if "conf/ " in block)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the examples, to write to."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_readme_is_read_in_one_screen_and_a_half():
    assert len(README.split()) <= 700


def test_the_commands_of_the_readme_run(folder):
    commands = [line[10:] for _, block in BLOCKS for line in block.splitlines() if line.startswith("twicetold ")]
    assert commands
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command))
        assert done.exit_code == 0, done.output
    rows = (folder / "unique.csv").read_text().splitlines()
    assert 90 < len(rows) < 120


def test_the_python_of_the_readme_is_three_lines_that_run(folder):
    (code,) = [block for language, block in BLOCKS if language == "python"]
    assert len([line for line in code.splitlines() if line]) == 3
    names = {}
    exec(code, names)
    assert 90 < len(names["unique"]) < 120


def test_the_tree_of_the_readme_is_true():
    named = re.findall(r"(?:^|  )([\w./]+(?:/|\.\w+)) ", TREE, re.MULTILINE)
    assert all((ROOT / name).exists() for name in named), named
    inside = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    tracked = inside & {"benchmarks", "conf", "docs", "examples", "pipelines", "runs", "src", "tests", "tools"}
    assert tracked <= {name.partition("/")[0] for name in named}


def test_figures_of_the_readme_stand_on_the_pages_of_their_measurements():
    said = README.split("## How good it is")[1].split("## The platform")[0]
    pages = "".join((EXPLANATION / page).read_text() for page in ("experiments.md", "experiments/default-dedupe.md"))
    differences = re.findall(r"-?\d\.\d\d \(-?\d\.\d\d to -?\d\.\d\d\)", said)
    assert len(differences) == 4
    assert [each for each in [*differences, *re.findall(r"\d\.\d+", said)] if each not in pages] == []


def test_the_output_that_the_readme_shows_is_that_of_the_command(folder):
    (shown,) = [block.split("\n", 1)[1] for _, block in BLOCKS if block.startswith("$ twicetold dedupe titles.csv")]
    rows = list(csv.DictReader(shown.splitlines()))
    with Path("titles.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["title"], *([row["title"]] for row in rows)])
    done = CliRunner().invoke(app, ["dedupe", "titles.csv", "-o", "grouped.csv"])
    assert done.exit_code == 0, done.output
    written = list(csv.DictReader(Path("grouped.csv").read_text().splitlines()))
    assert [row["group"] for row in written] == [row["group"] for row in rows]
    assert [float(row["probability_to_representative"]) for row in written] == pytest.approx(
        [float(row["probability_to_representative"]) for row in rows], abs=1e-4
    )


def test_copies_with_small_changes_are_compared_by_figures_of_the_table():
    page = (ROOT / "docs/explanation/what-to-take.md").read_text()
    ((letters, trained),) = re.findall(r"`tfidf_letters` needs no training.*\((0\.\d\d) against (0\.\d\d), ", page)
    by_text = "Average precision by text story, test"
    board = deduped(HEADLINES, by_text)
    _, same_terms = next(tables(page_of(HEADLINES).split("On the same terms: fair_story</summary>")[1]))
    from_a_random_start = [board["static_story"]] + [
        row[by_text].strip("*") for row in same_terms if "pretrained" not in row["model"]
    ]
    assert letters == f"{as_number(board['tfidf_letters']):.2f}"
    assert float(trained) == pytest.approx(max(map(as_number, from_a_random_start)), abs=0.0051)


def test_models_beside_other_libraries_are_those_of_the_results():
    _, rows = first_table("docs/guides/dedupe.md", "Other libraries on the same texts")
    boards = {HEADLINES: deduped(HEADLINES)}
    compared = [(row["data"].strip("`"), row["library"].strip("`"), row["AP"]) for row in rows]
    now = {(data, model): boards[data][model] for data, model, _ in compared if model in boards.get(data, {})}
    of_one_seed = {row: value for row, value in now.items() if "±" not in value}
    assert len(of_one_seed) > 2
    assert [row for row in compared if row[:2] in of_one_seed and as_number(now[row[:2]]) != float(row[2])] == []


def test_the_picture_is_the_figure_of_the_report(monkeypatch):
    monkeypatch.chdir(ROOT)
    module = script("tools/cost_picture.py")
    assert module.PICTURE.read_text() == module.picture(module.DATA)


def tables(text):
    """The rows of each Markdown table, as cells by the name of their column."""
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        heads, _, *rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in block.splitlines()]
        yield heads, [dict(zip(heads, row, strict=True)) for row in rows]


def as_number(cell):
    return float(cell.partition(" ")[0])


def name_of(cell):
    return re.sub(r"\*\*| \([^()]*\)", "", cell)


def page_of(data):
    return (ROOT / f"docs/results/{data}.md").read_text()


def leaderboard(data, metric):
    """A metric of each model, from the first table of the page that has it."""
    found = (
        (rows, head) for heads, rows in tables(page_of(data)) for head in heads if head.removesuffix(", test") == metric
    )
    rows, head = next(found)
    return {name_of(row["model"]): [name_of(row[head])] for row in rows}


def deduped(data, head=None):
    """Average precision of each model in a dedupe, or what another column has."""
    _, rows = next(tables(page_of(data).split("\n## Dedupe: all models\n")[1]))
    return {name_of(row["model"]): row[head or IN_DEDUPE[data]].strip("*") for row in rows}


def first_table(file, section):
    return next(tables((ROOT / file).read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]))


def test_the_summary_of_film_is_an_extract_of_the_leaderboards():
    _, rows = first_table("docs/explanation/film.md", "Summary")
    assert len(rows) == 3
    for row in rows:
        data, metric = row["metric"].replace("`", "").split(", ")
        board = leaderboard(data, f"{metric[0].upper()}{metric[1:]}")
        assert [row["`film`"]] == board["film"]
        assert [row["TF-IDF"]] == board.get("tfidf", [row["TF-IDF"]])  # measured once where the grid has it no more
