"""Studies: their file, their tables in RESULTS.md and on the page, and their numbers."""

from dataclasses import asdict

import pytest

from twicetold.files import write_json
from twicetold_lab.reporting.markdown import rendered
from twicetold_lab.reporting.numbers import numbers_csv
from twicetold_lab.reporting.studies import Study, StudyCell, StudyTable, read_studies

CELLS = [
    StudyCell(0.25, deviation=0.015),
    StudyCell(-0.5, "difference"),
    StudyCell(1234, "count"),
    StudyCell(0.125, "share", interval=(0.1, 0.2)),
    StudyCell(),
]
COLUMNS = [("test", "average precision"), ("test", "beside"), ("examples", ""), ("leak", ""), ("accuracy", "")]


def table(data):
    return StudyTable(data, f"Of {data}", "pairs", COLUMNS, [(("in-batch", "negatives"), CELLS)])


@pytest.fixture
def study(tmp_path):
    found = Study("Choosing <pairs>", ["How to read it."], [table("news"), table("questions")])
    write_json(tmp_path / "study-choosing.json", asdict(found))
    return found


def test_a_study_is_read_as_it_was_written_with_the_tables_of_the_datasets_that_are_there(study, tmp_path):
    assert [each.title for each in read_studies(tmp_path, ["news", "questions"])] == [study.title]
    (found,) = read_studies(tmp_path, ["news", "elsewhere"])
    assert [each.shown for each in found.tables] == [study.tables[0].shown]
    assert read_studies(tmp_path, ["elsewhere"]) == []
    assert read_studies(tmp_path / "nowhere", ["news"]) == []


def test_a_number_is_written_by_its_form_with_its_spread_or_interval(study):
    (row, _) = (line for line in rendered([study.section("study-1")]).splitlines() if "in-batch" in line)
    assert row == "| in-batch (negatives) | 0.250 (± 0.015) | -0.500 | 1,234 | 12.5 % (0.100 to 0.200) | – |"
    with pytest.raises(ValueError, match="written as one of number, difference, count, share, got 'roman'"):
        StudyCell(1, "roman")


@pytest.mark.parametrize(
    "text", ['{"title": "a"}', '{"title": "a", "how_to_read": [], "tables": [{}]}', '{"tables": 3}']
)
def test_another_file_is_refused_by_name(tmp_path, text):
    (tmp_path / "study-other.json").write_text(text)
    with pytest.raises(ValueError, match=r"study-other\.json is no study"):
        read_studies(tmp_path, ["news"])


def test_a_study_is_a_section_and_a_file_has_its_numbers(study):
    section = study.section("study-1")
    assert (section.title, section.anchor, [part.title for part in section.parts]) == (
        study.title,
        "study-1",
        ["Of news", "Of questions"],
    )
    lines = numbers_csv([section]).splitlines()
    assert 'news,Of news,in-batch,negatives,"test, average precision",0.25,,' in lines
    assert "questions,Of questions,in-batch,negatives,leak,0.125,0.1,0.2" in lines
    assert len(lines) == 1 + 2 * 4
