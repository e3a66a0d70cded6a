import dataclasses
import json
import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold_lab.evaluation.units import Units
from twicetold_lab.reporting import cost as costs
from twicetold_lab.reporting import cost_figure
from twicetold_lab.reporting.cost_figure import LogAxis, Point, front, rivals
from twicetold_lab.reporting.leaderboard import rank
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
def test_who_is_not_of_the_front_is_compared_with_the_best_that_is_as_fast(found):
    assert {*rivals(found)} == {*found} - {*front(found)}
    for point, best in rivals(found).items():
        as_fast = [step for step in front(found) if step.microseconds <= point.microseconds]
        assert best == max(as_fast, key=lambda step: step.quality)
        assert best.quality >= point.quality


@given(points())
def test_the_figure_is_well_formed_and_the_same_every_time(found):
    tied = [*rivals(found)][:2]
    drawn = cost_figure.cost_figure(found, tied=tied, title="t", quality="AUROC, test")
    figure = ElementTree.fromstring(str(drawn))
    assert len(figure.findall(".//g[@class='bubble on']")) == len(front(found)) + len(tied)
    assert len(figure.findall(".//circle")) == len(found)
    assert drawn == cost_figure.cost_figure(found, tied=tied, title="t", quality="AUROC, test")
    for number in re.findall(r"[MHV](-?[\d.]+)", figure.find("path[@class='step']").get("d")):
        assert 0 <= float(number) <= 520


def test_a_name_stands_before_its_circle_and_elsewhere_where_another_model_is_there():
    found = [Point("first", 10.0, 0.5, 0.4, 0.6, 100), Point("second", 14.0, 0.5, 0.4, 0.6, 100)]
    figure = ElementTree.fromstring(str(cost_figure.cost_figure(found, title="t", quality="q")))
    assert {text.text: text.get("text-anchor") for text in figure.findall(".//g/text")} == {
        "first": "end",
        "second": "end",
    }
    near = [found[0], Point("second", 11.0, 0.5, 0.4, 0.6, 100)]
    figure = ElementTree.fromstring(str(cost_figure.cost_figure(near, title="t", quality="q")))
    assert {text.text: text.get("text-anchor") for text in figure.findall(".//g/text")}["second"] == "middle"


@given(points())
def test_no_two_names_of_the_figure_overlap_and_none_leaves_the_frame(found):
    figure = ElementTree.fromstring(str(cost_figure.cost_figure(found, title="t", quality="q")))
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
    figure = ElementTree.fromstring(str(cost_figure.cost_figure(found, title="t", quality="q")))
    large, small = (float(circle.get("r")) for circle in figure.findall(".//circle"))
    assert large == 2 * small


def test_a_logarithmic_axis_goes_from_tick_to_tick_and_contains_its_values():
    axis = LogAxis.around("x", [12.0, 340.0])
    assert [text for _, text in axis.marks()] == ["10", "20", "50", "100", "200", "500"]
    assert axis.unit(10) == 0
    assert axis.unit(500) == pytest.approx(1)
    assert axis.unit((10 * 500) ** 0.5) == pytest.approx(0.5)
    assert [text for _, text in LogAxis.around("x", [3.0, 40_000.0]).marks()] == ["10", "100", "1,000", "10,000"]
    assert 0 < LogAxis.around("x", [100.0]).unit(100) < 1


def test_every_value_is_within_its_logarithmic_axis():
    for value in (0.001, 0.999, 1.0, 2.0, 5.0, 10.0, 1e6):
        axis = LogAxis.around("x", [value])
        assert 0 < axis.unit(value) < 1


def add_cost(project, cell, **changed):
    file = project.run(cell) / FILE
    file.write_text(json.dumps(dataclasses.asdict(dataclasses.replace(HERE, **changed))))


def board_of(project, cells, data="questions"):
    return rank(data, read_runs(cells, project.root / "runs")[data])


def test_what_was_measured_stands_beside_quality_and_a_note_names_the_processor_and_what_is_missing(finished):
    project, cells = finished
    add_cost(project, Cell("questions", "dae", 0))
    text = project.markdown(cells)
    section = text.split("\n## questions\n")[1].split("\n## ")[0]
    row = (
        "| dae | 0.810 ± 0.014 (0.790 to 0.830) | 4.0 MB | 1.1 MB | 500.0 MB | 100.0 MB | 62,500 | 500 | 1.50 | 3.25 |"
    )
    assert row in section
    assert "| tfidf | 0.700 (0.680 to 0.720) | – | – |" in section
    assert "Observed on A processor." in section
    assert "Not measured yet: tfidf." in section
    assert text.count("### Cost") == 1


def test_without_any_cost_the_seconds_of_training_stand_alone_and_a_note_says_so(finished):
    project, cells = finished
    found = costs.cost_section(board_of(project, cells), {"questions-dae-0": 10.0, "questions-dae-1": 30.0})
    assert [column.text for column in found.tables[0].columns] == ["AUROC", "Training"]
    assert [[cell.text for cell in line] for _, line in found.tables[0].rows] == [
        ["0.810 ± 0.014", "20.0"],
        ["0.700", "–"],
    ]
    assert found.notes == ["Size, memory and speed of these models are not measured yet."]


def test_where_nothing_is_known_there_is_no_section(finished):
    project, cells = finished
    assert costs.cost_section(board_of(project, cells), {}) is None
    assert "### Cost" not in project.markdown(cells)


def test_the_page_draws_two_models_and_explains_the_figure(finished, make_page):
    project, _ = finished
    add_cost(project, Cell("questions", "dae", 1))
    assert "Quality against speed" not in make_page()
    add_cost(project, Cell("questions", "tfidf", 0), texts_per_second_256=100_000.0)
    page = make_page()
    assert page.count("Quality against speed") == 1
    assert "dae: 0.810 (0.790 to 0.830), 16.0 µs a text, 4.0 MB" in page
    assert page.count('class="bubble on"') == 2, "the slower one is better, the faster one is of the front as well"


def kept(seed, worse):
    """Units of a model that is right about nearly the same of 2,000 texts as the others, and its share."""
    rng = np.random.default_rng(0)
    right = (rng.random(2000) < 0.8) & (np.random.default_rng(seed).random(2000) > worse)
    return Units.of_mean(right.astype(float), np.arange(2000)), float(right.mean())


MODELS = (("fast", 1e-5, 0.0), ("near", 2e-5, 0.002), ("worse", 3e-5, 0.1))


def costing(model, seconds, worse, *, paired=True):
    units, value = kept(len(model), worse)
    metrics = {split: {"pearson": value} for split in ("val", "test")}
    summary = {"intervals": {"pearson": (value - 0.1, value + 0.1)}, "parameters": 1, "epochs": 1, "primary": "pearson"}
    cost = dataclasses.replace(HERE, texts_per_second_256=1 / seconds)
    return made_run(Cell("mine", model, 0), metrics, summary, cost=cost, units={"pearson": units} if paired else {})


def test_models_of_the_figure_are_told_apart_in_pairs_where_units_are_kept():
    fast, near, far = (costing(*model) for model in MODELS)
    found = costs.cost_against_quality(rank("mine", [fast, near, far]))
    on = [name for name in ("fast", "near", "worse") if f'data-model="{name}" class="bubble on">' in found.drawing]
    assert on == ["fast", "near"]
    assert found.caption.endswith(f"{costs.BY_TEST}.")

    unpaired = costs.cost_against_quality(rank("mine", [fast, near, costing("worse", 3e-5, 0.1, paired=False)]))
    assert unpaired.drawing.count('class="bubble on"') == 3
    assert unpaired.caption.endswith("; of worse by overlapping intervals.")

    none = costs.cost_against_quality(rank("mine", [costing(name, s, w, paired=False) for name, s, w in MODELS]))
    assert none.drawing.count('class="bubble on"') == 3
    assert none.caption.endswith(f"{costs.BY_INTERVALS}.")

    alone = costs.cost_against_quality(rank("mine", [far, costing("fast", 4e-5, 0.0)]))
    assert alone.caption == f": {costs.FIGURE}."


def test_times_of_two_processors_are_not_drawn_together(finished):
    project, cells = finished
    for cell, processor in zip(cells[:3], ("here", "here", "there"), strict=True):
        add_cost(project, cell, processor=processor)
    board = board_of(project, cells)
    assert costs.cost_against_quality(board) is None
    (note, *_) = costs.cost_section(board, {}).notes
    assert note.startswith("Observed on here: dae; on there: tfidf. Do not compare")


def test_a_family_that_scores_pairs_alone_is_named_and_not_drawn(finished):
    project, cells = finished
    add_cost(project, cells[0])
    add_cost(project, cells[2], texts_per_second_1=None, texts_per_second_256=None)
    board = board_of(project, cells)
    assert costs.cost_against_quality(board) is None
    assert "They score pairs alone, so there is no speed of texts: tfidf." in costs.cost_section(board, {}).notes


def test_a_cost_file_that_is_damaged_is_refused_by_name(finished):
    project, cells = finished
    (project.run(cells[0]) / FILE).write_text("{}")
    with pytest.raises(ValueError, match=rf"{cells[0].name}/{FILE}"):
        _ = RunFolder(project.run(cells[0]), cells[0]).cost
