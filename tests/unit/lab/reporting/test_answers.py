"""The first page answers each case by at most six rows that can be had with what a person has."""

import pytest

from twicetold_lab.reporting.answers import (
    ANSWERS,
    HAVE,
    LABELS,
    MOST,
    NOTHING,
    answers_of,
    kinds_of,
    pretraining_section,
)
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.runs.folder import Cell
from twicetold_lab.scoring.cost import Cost

from .conftest import made_run

SUMMARY = {"parameters": 1, "epochs": 0, "primary": "b3_average"}


def run(model, value, *, speed=30_000.0, data="uci_news", **summary):
    cost = Cost("A processor", 4_000_000, 1_100_000, None, None, 10.0, speed, 1.5, 3.25)
    metrics = {split: {"b3_average": value, "average_precision_story": value} for split in ("val", "test")}
    return made_run(Cell(data, model, 0), metrics, {**SUMMARY, **summary}, cost=cost, units={})


def default(value, **after):
    made = run("default", value, epochs=0)
    metrics = {**made.metrics["test"], **{f"b3_{name}": known for name, known in after.items()}}
    return made_run(made.cell, {**made.metrics, "test": metrics}, made.summary, cost=made.cost, units={})


RUNS = [
    run("letters", 0.6),
    run("vectors", 0.7, pretrained_on=["the web"], seen=["quora"]),
    run("slow", 0.8, speed=100.0, pretrained_on=["the web and news"], seen=["uci_news"]),
    run("trained", 0.9, epochs=3),
    run("joined", 0.95, tuned_how="weights by stacking, if any"),
    default(0.5, after_20=0.65, calibrated=0.75),
    *(run(f"weak{place}", 0.1) for place in range(4)),
]


@pytest.fixture
def answers():
    """Case -> names of the models of its answer."""
    (kind,) = kinds_of({"uci_news": rank("uci_news", RUNS)})
    return {case: answer for answer in answers_of(kind, {}) for case in answer.cases}


def models(answer):
    return [name.text for name, _ in answer.section.tables[0].rows]


def test_rows_need_no_more_than_a_person_has_and_the_default_comes_first(answers):
    assert models(answers[NOTHING, "any"])[:4] == ["default", "slow", "vectors", "letters"]
    assert models(answers[ANSWERS, "any"])[:3] == ["default", "default, 20 answers", "slow"]
    assert models(answers[LABELS, "any"])[:4] == ["default", "default, 20 answers", "default, calibrated", "joined"]
    assert all(len(models(answer)) <= MOST for answer in answers.values())


def test_rows_are_as_fast_as_asked(answers):
    assert "slow" not in models(answers[NOTHING, "thousand"])
    assert answers[NOTHING, "thousand"] is answers[NOTHING, "many"], "equal rows are one answer"


def test_the_default_has_the_command_of_a_file_and_other_rows_that_of_their_training(answers):
    rows = answers[ANSWERS, "any"].section.tables[0].rows
    lines = {name.text: cells[-1].text for name, cells in rows}
    assert [cells[0].text for _, cells in rows[:2]] == ["0.500", "0.650"]
    assert [cells[1].text for _, cells in rows[:2]] == ["–", "+0.150"]
    assert lines["default"] == "twicetold dedupe FILE"
    assert lines["default, 20 answers"] == "twicetold dedupe FILE --ask 20"


def test_a_row_says_what_is_known_of_its_pretraining(answers):
    lines = {name.text: cells[-2].text for name, cells in answers[NOTHING, "any"].section.tables[0].rows}
    assert [lines[model] for model in ("letters", "vectors", "slow")] == ["not known", "not known", "listed"]
    (table,) = pretraining_section([rank("uci_news", RUNS)]).tables
    seen = {name.text: [cell.text for cell in cells] for name, cells in table.rows}
    assert seen == {"the web": ["vectors", "not known"], "the web and news": ["slow", "listed"]}
    clean = made_run(Cell("d", "a", 0), {"val": {"auroc": 1}, "test": {"auroc": 1}}, {"pretrained_on": []})
    assert clean.exposure == "no"
    assert pretraining_section([rank("d", [clean])]) is None


def test_data_of_no_kind_are_each_one():
    board = rank("uci_news", RUNS)
    assert [kind.title for kind in kinds_of({"uci_news": board, "mine": board})] == ["Headlines"]
    assert [kind.title for kind in kinds_of({"mine": board})] == ["mine"]


def test_every_case_has_one_answer_on_the_page_and_one_input_chosen(finished):
    project, cells = finished
    page = project.pages(cells)["index"]
    for place in range(3):
        for have in HAVE:
            assert page.count(f'id="data-{place}-{have}"') == 1
            assert sum(f"data-{place}-{have}-any " in part for part in page.split('class="answer" data-for="')[1:]) == 1
    assert page.count('type="radio" name="case"') == 9
    assert page.count(" checked") == 2, "a case and a speed"


def test_numbers_of_the_pages_stand_beside_them(finished):
    project, cells = finished
    project.pages(cells)
    lines = (project.root / "reports/numbers.csv").read_text().splitlines()
    assert lines[0] == "data,table,model,about,measure,value,low,high"
    assert any(line.startswith('news,Dedupe: all models,tfidf,,"B-cubed, average, test",0.8') for line in lines)
    assert len(lines) == len(set(lines))
