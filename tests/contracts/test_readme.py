"""What README and docs/explanation/film.md say of results stands in RESULTS.md; commands give the output shown."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twicetold.commands import app

ROOT = Path(__file__).parents[2]
IN_DEDUPE = {"average precision": "Average precision, all pairs", "ARI": "ARI, best rule"}


SHOWN = re.findall(r"^\$ twicetold (.*)\n((?:(?!```).*\n)*)", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), SHOWN)
def test_a_command_prints_what_the_readme_shows(command, output, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0
    assert done.output == output


def test_the_readme_shows_a_command_with_its_output():
    assert SHOWN


def tables(text):
    """The rows of each Markdown table, as cells by the name of their column."""
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        heads, _, *rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in block.splitlines()]
        yield heads, [dict(zip(heads, row, strict=True)) for row in rows]


def name_of(cell):
    return re.sub(r"\*\*| \((?:baseline|p)\)", "", cell)


def section_of(data):
    return (ROOT / "RESULTS.md").read_text().split(f"\n## {data}\n")[1].split("\n## ")[0]


def leaderboard(data, heads):
    _, rows = next(tables(section_of(data)))
    return {name_of(row["model"]): [row[head].strip("*") for head in heads] for row in rows}


def deduped(data, head):
    _, rows = next(tables(section_of(data).split("\n### Dedupe\n")[1]))
    return {name_of(row["model"]): row[head] for row in rows}


def first_table(file, section):
    return next(tables((ROOT / file).read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]))


def test_the_table_of_results_is_an_extract_of_those_on_dedupes():
    heads, rows = first_table("README.md", "Results")
    assert len(rows) > 5
    for head in heads[1:]:
        data, metric = head.replace("`", "").split(": ")
        board = deduped(data, IN_DEDUPE[metric])
        assert [row[head] for row in rows] == [board.get(name_of(row["model"]).strip("`"), "–") for row in rows]


def test_the_tables_of_film_are_extracts_of_the_leaderboards():
    heads, rows = first_table("docs/explanation/film.md", "The families of the paper's tables, on test")
    assert len(rows) > 5
    for head in heads[1:]:
        data, metric = head.replace("`", "").split(", ")
        board = leaderboard(data, [f"{metric[0].upper()}{metric[1:]}, test"])
        assert [[row[head]] for row in rows] == [board.get(row["model"].strip("`"), ["–"]) for row in rows]
    _, summary = first_table("docs/explanation/film.md", "Summary")
    values = {row["model"].strip("`"): row for row in rows}
    for row in summary:
        assert [row["`film`"], row["TF-IDF"]] == [values[model][row["metric"]] for model in ("film", "tfidf")]
