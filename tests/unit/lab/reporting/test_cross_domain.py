"""The tables of models on other data, from made-up results of three datasets."""

import pytest

from twicetold import layout
from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.cross_domain import cross_domain_section
from twicetold_lab.runs.folder import read_cross_domain

from .conftest import write

METRIC = {"news": "average_precision_story", "questions": "average_precision_cluster", "graded": "pearson"}


@pytest.fixture
def evaluated(finished):
    """Ready-made vectors with two thresholds, a model that learnt on news and one of pairs without vectors."""
    project, cells = finished

    def add(cell, parameters, quality, pretrained_on=None, without=()):
        content = {}
        for name, metric in METRIC.items():
            value = quality.get(name, 0.3)
            metrics = {metric: value, "f1": value - 0.1, "same_share": 0.01 if name == "news" else 0.6}
            metrics |= {} if name == "news" else {"accuracy": value + 0.1}
            metrics = {key: value for key, value in metrics.items() if key not in without}
            ends = {key: (value - 0.01, value + 0.01) for key, value in metrics.items() if key != "same_share"}
            content[name] = {"metrics": metrics, "intervals": ends, "shared_texts": 7 * (name == "graded")}
        if not (project.run(cell) / layout.SUMMARY).exists():
            epochs = 0 if pretrained_on else 7
            further = {"parameters": parameters, "pretrained_on": pretrained_on, "epochs": epochs}
            project.add_run(cell, {"auroc": 0.5}, primary="auroc", **further)
        write(project.run(cell) / layout.ELSEWHERE, content)
        return cell

    rows = [
        add(Cell("news", "story", 0), 1000, {"news": 0.7, "questions": 0.2}),
        add(Cell("questions", "pairs", 0), 10, {"questions": 0.5}, without=("average_precision_story", "f1")),
        add(Cell("graded", "vectors", 0), 5000, {"news": 0.6, "questions": 0.4}, pretrained_on="a web of texts"),
        add(Cell("news", "vectors", 0), 5000, {"news": 0.6, "questions": 0.4}, pretrained_on="a web of texts"),
    ]
    return project, cells, rows


def section_of(project, rows, ensembles=()):
    return cross_domain_section(read_cross_domain(rows, project.root / "runs"), ensembles)


def cells_of(table):
    return {(name.text, cells[0].text, cells[0].note): [cell.text for cell in cells[1:]] for name, cells in table.rows}


def test_each_model_is_shown_by_where_it_learnt_and_ready_made_ones_rank_once(evaluated):
    project, _, rows = evaluated
    found = section_of(project, rows)
    assert [column.text for column in found.parts[0].tables[0].columns] == ["Learnt on", "news", "questions", "graded"]
    assert cells_of(found.parts[0].tables[0]) == {
        ("vectors", "nothing", ""): ["0.600", "0.400", "0.300"],
        ("story", "news", ""): ["0.700", "0.200", "0.300"],
        ("pairs", "questions", ""): ["–", "0.500", "0.300"],
    }
    ((_, (_, own, other, _)),) = [row for row in found.parts[0].tables[0].rows if row[0].text == "story"]
    assert (own.remark, other.remark) == ("0.690 to 0.710, own", "0.190 to 0.210")


def test_decisions_are_shown_for_each_threshold_and_beside_calling_every_pair_the_same(evaluated):
    project, _, rows = evaluated
    table = section_of(project, rows).parts[1].tables[0]
    heads = [f"{column.text} {column.note}".strip() for column in table.columns]
    assert heads == ["Learnt on", "news F1", "questions Accuracy", "questions F1", "graded Accuracy", "graded F1"]
    shown = cells_of(table)
    assert shown["vectors", "nothing", "threshold: graded"] == shown["vectors", "nothing", "threshold: news"]
    assert shown["pairs", "questions", ""] == ["–", "0.600", "–", "0.400", "–"]
    (name, cells) = table.rows[-1]
    assert name.text == "every pair the same"
    assert [cell.text for cell in cells] == ["–", "0.020", "0.600", "0.750", "0.600", "0.750"]


def test_a_sentence_says_who_ranks_best_with_and_without_having_learnt_there(evaluated):
    project, _, rows = evaluated
    notes = section_of(project, rows).parts[1].notes
    said = "news: of the models that did not learn on it vectors (0.600), ready-made, ranks best on test"
    assert f"{said}; of the others story (0.700)." in notes
    assert "vectors had been pretrained on a web of texts." in notes
    assert any("news and graded 7" in note for note in notes)


def test_an_ensemble_with_a_pretrained_member_is_not_ready_made(evaluated):
    project, _, rows = evaluated
    joined = Cell("news", "vectors", 0)
    found = section_of(project, rows, [joined])
    assert ("vectors", "news", "") in cells_of(found.parts[0].tables[0])
    assert ("vectors", "nothing", "") in cells_of(found.parts[0].tables[0])


def test_nothing_is_said_without_rows(finished):
    project, cells = finished
    assert cross_domain_section([]) is None
    assert "## Across domains" not in project.markdown(cells)


def test_results_and_page_have_the_section(evaluated):
    project, cells, rows = evaluated
    text, html = project.markdown(cells, cross_domain=rows), project.page(cells, cross_domain=rows)
    assert "| vectors | nothing | 0.600 (0.590 to 0.610, (p))" in text
    assert '<section id="cross-domain">' in html
    assert "threshold: graded" in html


def test_a_missing_result_names_its_stage(finished):
    project, _ = finished
    with pytest.raises(FileNotFoundError, match="dvc repro evaluate_elsewhere@graded-dae-0"):
        read_cross_domain([Cell("graded", "dae", 0)], project.root / "runs")
