"""`tools/measure_any_file.py` on small made files: its figures, its two tables, and the page that it writes."""

import sys

import measure_any_file as script
import numpy as np
import pytest

from twicetold.evaluation.group_metrics import group_scores
from twicetold.matching.generic import generic_matcher
from twicetold_lab.matching import made
from twicetold_lab.matching.learning import labelled
from twicetold_lab.matching.sources import LabelledFile


@pytest.fixture(scope="module")
def rows() -> list[script.Row]:
    libraries = {
        "by length": lambda file: np.array([len(text) for text in file.texts]),
        "columns": lambda file: np.arange(len(file.texts)) if file.also else None,
    }
    matcher = generic_matcher(vectors=False)
    files = [
        LabelledFile("names", "names", *(part[:100] for part in made.names(80))),
        LabelledFile("tickets", "tickets", *(part[:100] for part in made.tickets(80)), {"day": ["monday"] * 100}),
    ]
    return [script.measured(labelled(file, vectors=False), matcher, libraries) for file in files]


def test_each_column_has_the_scores_of_its_groups(rows: list[script.Row]) -> None:
    names, tickets = rows
    assert list(names.scores) == ["dedupe", "held out", "best threshold", "all labels", "by length", "columns"]
    assert names.scores["by length"] == group_scores([len(text) for text in names.file.texts], names.file.truth)
    assert names.scores["columns"] is None
    assert tickets.scores["columns"].f1 == 0


def test_rows_that_are_left_are_the_things_and_duplicates_without_those_that_are_lost(rows: list[script.Row]) -> None:
    for row in rows:
        for dropped in row.dropped.values():
            assert dropped.kept == len(set(row.file.truth)) + dropped.duplicates - dropped.lost
    assert script.Dropped.of(["a", "a", "b", "c"], np.array([0, 1, 2])) == script.Dropped(3, 1, 1)
    assert str(script.Dropped(1_200, 3, 4)) == "1,200 (+3 −4)"


def test_tables_have_a_line_for_each_file_and_no_mean_where_a_figure_is_missing(rows: list[script.Row]) -> None:
    f1 = script.of_groups(rows).splitlines()
    assert [line.split(" | ")[0] for line in f1[2:]] == ["| names", "| tickets", "| mean"]
    assert f1[2].endswith("– |")
    assert f1[-1].endswith("|  |")
    assert "of 2 files" in script.aims(rows)
    assert "columns in 1 of 1." in script.aims(rows)
    assert script.of_rows(rows).splitlines()[0] == "| file | rows | things | held out | by length |"


def test_the_page_is_written_between_its_marks_or_refused() -> None:
    first, last = script.MARKS
    page = f"before\n{first}\nold\n{last}\nafter\n"
    again = script.between_marks(page, "new\n")
    assert again == f"before\n{first}\n\nnew\n\n{last}\nafter\n"
    assert script.between_marks(again, "new\n") == again
    with pytest.raises(ValueError, match="expected the marks"):
        script.between_marks("a page", "new\n")


def test_a_library_that_is_not_installed_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("semhash", "rapidfuzz", "duckdb"):
        monkeypatch.setitem(sys.modules, name, None)
    assert script.installed() == {}
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["without semhash", "without rapidfuzz", "without splink"]


@pytest.mark.parametrize("name", ["rapidfuzz sort", "splink"])
def test_other_libraries_find_equal_rows(name: str) -> None:
    package = pytest.importorskip(name.partition(" ")[0]).__name__
    texts, truth = made.names(60)
    file = LabelledFile(
        "twice", "names", texts * 2, truth * 2, {"number": truth * 2, "day": ["monday", ""] * len(texts)}
    )
    groups = getattr(script, package)()[name](file)
    assert (groups[: len(texts)] == groups[len(texts) :]).all()
