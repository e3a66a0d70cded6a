"""Studies: their file, their tables in RESULTS.md and on the page, and their numbers."""

import pytest

from twicetold_lab.reporting.markdown import shown_table
from twicetold_lab.reporting.numbers import numbers_csv
from twicetold_lab.reporting.page import page
from twicetold_lab.reporting.studies import Study, StudyCell, StudyTable, read_studies, write_study

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
    write_study(found, "choosing", tmp_path)
    return found


def test_a_study_is_read_as_it_was_written_with_the_tables_of_the_datasets_that_are_there(study, tmp_path):
    assert [each.title for each in read_studies(tmp_path, ["news", "questions"])] == [study.title]
    (found,) = read_studies(tmp_path, ["news", "elsewhere"])
    assert [each.shown for each in found.tables] == [study.tables[0].shown]
    assert read_studies(tmp_path, ["elsewhere"]) == []
    assert read_studies(tmp_path / "nowhere", ["news"]) == []


def test_a_number_is_written_by_its_form_with_its_spread_or_interval(study):
    (row,) = (line for line in shown_table(study.tables[0].shown).splitlines() if "in-batch" in line)
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


def test_the_page_has_a_section_for_each_study_and_a_file_has_its_numbers(study):
    html = page([], studied=[study])
    assert '<a href="#study-1">Choosing &lt;pairs&gt;</a>' in html
    assert html.count("<h3>Of news</h3>") == 1
    assert '<th scope="col">Pairs</th>' in html
    lines = numbers_csv([], [], [], [study]).splitlines()
    assert 'news,Choosing <pairs>,in-batch,Of news,"test, average precision",0.25,,' in lines
    assert 'news,Choosing <pairs>,in-batch,Of news,"test, average precision, standard deviation",0.015,,' in lines
    assert "questions,Choosing <pairs>,in-batch,Of questions,leak,0.125,0.1,0.2" in lines
    assert len(lines) == 1 + 2 * 5
