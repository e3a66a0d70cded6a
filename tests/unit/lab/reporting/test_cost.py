import dataclasses
import json
import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold_lab.reporting import cost_figure
from twicetold_lab.reporting.cost_figure import Axis, Point, cost_against_quality, front
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.sections import cost_section
from twicetold_lab.runs.folder import Cell, RunFolder, read_runs
from twicetold_lab.scoring.cost import FILE, Cost

from .conftest import made_run

HERE = Cost("A processor", 4_000_000, 1_100_000, 500_000_000, 400_000_000, 500.0, 62_500.0, 1.5, 3.25)
QUALITY = st.integers(0, 6).map(lambda tenths: tenths / 10)


@st.composite
def points(draw):
    found = draw(st.lists(st.tuples(st.integers(1, 6), QUALITY, QUALITY, QUALITY), min_size=1, max_size=9))
    return [
        Point(f"m{i}", 10.0 * time, quality, quality - below, quality + above, 1000 * (i + 1))
        for i, (time, quality, below, above) in enumerate(found)
    ]


@given(points())
def test_the_front_has_the_best_of_all_that_are_as_fast_each_once(found):
    best = {
        max(other.quality for other in found if other.microseconds <= point.microseconds): None
        for point in sorted(found, key=lambda point: point.microseconds)
    }
    assert [point.quality for point in front(found)] == list(best)
    for step in front(found):
        as_fast = [other for other in found if other.microseconds <= step.microseconds and other != step]
        assert all(other.quality < step.quality or other.microseconds == step.microseconds for other in as_fast)


@given(points())
def test_the_figure_is_well_formed_and_the_same_every_time(found):
    drawn = cost_figure.cost_figure(found, "t", "AUROC")
    figure = ElementTree.fromstring(str(drawn))
    assert len(figure.findall(".//g[@class='bubble on']")) == len(front(found))
    assert len(figure.findall(".//circle")) == len(found)
    assert drawn == cost_figure.cost_figure(found, "t", "AUROC")
    for number in re.findall(r"[MHV](-?[\d.]+)", figure.find("path[@class='step']").get("d")):
        assert 0 <= float(number) <= 520


def test_a_name_stands_before_its_circle_and_elsewhere_where_another_model_is_there():
    for time, anchor in ((14.0, "end"), (11.0, "middle")):
        found = [Point("first", 10.0, 0.5, 0.4, 0.6, 100), Point("second", time, 0.5, 0.4, 0.6, 100)]
        figure = ElementTree.fromstring(str(cost_figure.cost_figure(found, "t", "q")))
        anchors = {text.text: text.get("text-anchor") for text in figure.findall(".//g/text")}
        assert anchors == {"first": "end", "second": anchor}


@given(points())
def test_no_two_names_of_the_figure_overlap_and_none_leaves_the_frame(found):
    figure = ElementTree.fromstring(str(cost_figure.cost_figure(found, "t", "q")))
    boxes = []
    for text in figure.findall(".//g/text"):
        x, wide = float(text.get("x")), cost_figure._LETTER * len(text.text)
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[text.get("text-anchor")]
        boxes.append((left, float(text.get("y")) - 9, left + wide, float(text.get("y")) + 2))
    assert all(box[0] + 0.1 >= 46 and box[2] <= 508.1 for box in boxes)
    for one, two in combinations(boxes, 2):
        smaller = (two[0] + 0.1, two[1] + 0.1, two[2] - 0.1, two[3] - 0.1)  # coordinates are rounded
        assert not cost_figure._overlap(one, smaller)


def test_the_area_of_a_circle_is_the_size_of_the_model():
    found = [Point("a", 1.0, 0.5, 0.4, 0.6, 90_000), Point("b", 10.0, 0.6, 0.5, 0.7, 22_500)]
    figure = ElementTree.fromstring(str(cost_figure.cost_figure(found, "t", "q")))
    large, small = (float(circle.get("r")) for circle in figure.findall(".//circle"))
    assert large == 2 * small


def test_a_logarithmic_axis_goes_from_tick_to_tick_and_contains_its_values():
    axis = Axis.logarithmic("x", [12.0, 340.0])
    assert [text for _, text in axis.marks()] == ["10", "20", "50", "100", "200", "500"]
    assert axis.unit(10) == 0
    assert axis.unit(500) == pytest.approx(1)
    assert axis.unit((10 * 500) ** 0.5) == pytest.approx(0.5)
    assert [text for _, text in Axis.logarithmic("x", [3.0, 40_000.0]).marks()] == ["10", "100", "1,000", "10,000"]
    for value in (0.001, 0.999, 1.0, 2.0, 5.0, 10.0, 1e6):
        assert 0 < Axis.logarithmic("x", [value]).unit(value) < 1


def add_cost(project, cell, **changed):
    file = project.run(cell) / FILE
    file.write_text(json.dumps(dataclasses.asdict(dataclasses.replace(HERE, **changed))))


def board_of(project, cells, data="questions"):
    return rank(data, read_runs(cells, project.root / "runs")[data])


def test_the_cost_of_a_model_stands_on_the_page_of_its_dataset(finished):
    project, cells = finished
    add_cost(project, Cell("questions", "dae", 0))
    (section,) = project.pages(cells)["questions"].split("<summary>Cost and training</summary>")[1:]
    assert "Observed on A processor." in section
    assert "Cost and training" not in project.markdown(cells)["questions"]
    seconds = {"questions-dae-0": 10.0, "questions-dae-1": 30.0}
    (table,) = cost_section(board_of(project, cells), seconds).tables
    assert [cell.text for cell in table.rows[0][1]] == ["4.0 MB", "500.0 MB", "62,500", "1.50", "20.0"]
    assert {cell.text for cell in table.rows[1][1]} == {"–"}


def test_the_page_draws_two_models_and_explains_the_figure(finished, make_pages):
    project, _ = finished
    add_cost(project, Cell("questions", "dae", 1))
    assert "Quality against speed" not in make_pages()["index"]
    add_cost(project, Cell("questions", "tfidf", 0), texts_per_second_256=100_000.0)
    page = make_pages()["index"]
    assert "dae: 0.710" in page
    assert page.count('class="bubble on"') == 2 * page.count("Quality against speed") > 0, (
        "the slower one is better, the faster one is of the front as well"
    )


def test_what_cannot_be_compared_is_not_drawn(finished):
    project, cells = finished
    for cell, processor in zip(cells[:3], ("here", "here", "there"), strict=True):
        add_cost(project, cell, processor=processor)
    assert cost_against_quality(board_of(project, cells), "auroc") is None, "times of two processors"
    add_cost(project, cells[2], texts_per_second_1=None, texts_per_second_256=None)
    assert cost_against_quality(board_of(project, cells), "auroc") is None, "it scores pairs alone"


def test_a_model_whose_pretraining_lists_the_data_is_drawn_as_one():
    def costing(model, seen):
        value, summary = {"auroc": 0.5}, {"parameters": 1, "pretrained_on": ["the web"], "seen": seen}
        return made_run(Cell("mine", model, 0), {"val": value, "test": value}, summary, cost=HERE)

    drawing = cost_against_quality(rank("mine", [costing("a", ["mine"]), costing("b", ["other"])]), "auroc").drawing
    assert drawing.count("listed") == 1


def test_a_cost_file_that_is_damaged_is_refused_by_name(finished):
    project, cells = finished
    (project.run(cells[0]) / FILE).write_text("{}")
    with pytest.raises(ValueError, match=rf"{cells[0].name}/{FILE}"):
        _ = RunFolder(project.run(cells[0]), cells[0]).cost
