import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting import Cell

QUESTION = {"left": "Dessert <now>?", "right": "Desert | now?", "score": 0.4775, "probability": 0.125}


@pytest.fixture
def asked(project):
    """Two models that were asked about a pair, and one that was not."""
    project.add_data("questions", "labelled_pairs", {})
    cells = [Cell("questions", model, 0) for model in ("dssm", "siamese_lstm", "tfidf")]
    for cell, samples in zip(cells, ([{**QUESTION, "duplicate": False}], [{**QUESTION, "duplicate": True}], [])):
        project.add_run(cell, {"auroc": 0.7}, primary="auroc", samples=samples)
    return project, cells


def test_the_page_shows_decision_score_and_probability_of_each_model_on_each_pair(asked):
    project, cells = asked
    reporting.build(cells, **project.folders, target=project.root / "reports")
    html = (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")
    table = html.split("Sample pairs</h3>")[1].split("</table>")[0]
    rows = {row.split("</th>")[0].split(">")[-1]: row for row in table.split("<tr>")[2:]}
    assert "Dessert &lt;now&gt;?<small>Desert | now?</small>" in table
    assert "not the same" in rows["dssm"]
    assert "same" in rows["siamese_lstm"]
    assert "not the same" not in rows["siamese_lstm"]
    assert "score 0.477, probability 12.5 %" in rows["dssm"]
    assert "–" in rows["tfidf"]
    assert "not by a probability of a half" in html.split("Sample pairs</h3>")[1].split("<table>")[0]


def test_the_markdown_shows_the_same(asked):
    project, cells = asked
    text = project.markdown(cells)
    assert "| model | Dessert &lt;now>? / Desert \\| now? |" in text
    assert "| dssm | not the same: 0.477 (12.5 %) |" in text
    assert "| siamese_lstm | same: 0.477 (12.5 %) |" in text
    assert "| tfidf | – |" in text


def test_without_sample_pairs_nothing_is_said_of_them(make_page, finished):
    project, cells = finished
    assert "Sample pairs" not in make_page()
    assert "not part of the data" not in project.markdown(cells)
