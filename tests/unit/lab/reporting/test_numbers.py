"""Every number of a table is in a file beside the page, at full precision."""

import csv
import math

from twicetold_lab.reporting.numbers import COLUMNS, numbers_csv
from twicetold_lab.reporting.tables import MISSING, Section, Table, TableCell, words


def test_each_number_has_a_line_with_its_interval_and_words_and_dashes_have_none():
    columns = (TableCell("AUROC", "test"), TableCell("Size"), words("Tuned"))
    cells = (TableCell("0.333", value=1 / 3, interval=(0.1, 0.5)), TableCell("4", value=4), words("by hand"))
    rows = (
        (TableCell("dae", "best F1"), cells),
        (TableCell("tfidf"), (MISSING, TableCell("–", value=math.nan), MISSING)),
    )
    inner = Section("Points", tables=[Table(columns, rows)])
    lines = numbers_csv([Section("news", parts=[inner], data="news"), Section("All", tables=[Table(columns, rows)])])
    assert [tuple(row.values()) for row in csv.DictReader(lines.splitlines())] == [
        ("news", "Points", "dae", "best F1", "AUROC, test", repr(1 / 3), "0.1", "0.5"),
        ("news", "Points", "dae", "best F1", "Size", "4", "", ""),
        ("", "All", "dae", "best F1", "AUROC, test", repr(1 / 3), "0.1", "0.5"),
        ("", "All", "dae", "best F1", "Size", "4", "", ""),
    ]


def test_numbers_of_the_page_stand_beside_it(finished):
    project, cells = finished
    project.page(cells)
    with (project.root / "reports/numbers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    found = {tuple(row[name] for name in ("data", "table", "model", "measure")): float(row["value"]) for row in rows}
    assert found["news", "Leaderboard", "tfidf", "AUROC category, test"] == 0.52
    assert found["news", "Dedupe", "tfidf", "Recall, at 0.9"] == 0.35
    assert {"", "news", "questions", "graded"} == {row["data"] for row in rows}
