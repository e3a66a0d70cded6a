"""The tables of topics and related articles, from made-up results."""

import re

import pytest

from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.markdown import _topics
from twicetold_lab.reporting.page import page
from twicetold_lab.reporting.topics import read_topics, topic_sections
from twicetold_lab.topics import MAP, RELATED, TOPICS

from .conftest import write

RANKED = {"ndcg_at_1": 0.3, "ndcg_at_3": 0.4, "ndcg_at_10": 0.5, "mrr": 0.6, "near_copies": 0.1, "coverage": 0.9}


def measured(value, **more):
    return {"metrics": {"nmi": value, "v_measure": value, "ari": value, "by_chance": 0.2, "count": 4}, **more}


def ranked(value, **more):
    return {"metrics": RANKED | {"ndcg_at_10": value}, "intervals": {"ndcg_at_10": [value - 0.1, value + 0.1]}, **more}


@pytest.fixture
def runs(tmp_path):
    for name, value in (("news-tfidf-0", 0.5), ("news-dae-0", 0.6)):
        kmeans = measured(value, intervals={"ari": [0.4, 0.7]}, deviations={"ari": 0.02})
        methods = {"kmeans": kmeans, "agglomerative": measured(value + 0.1, intervals={}, deviations={})}
        write(tmp_path / name / TOPICS, {"category": methods})
        ways = {"query": ranked(value), "popularity": ranked(0.2), "history_mean": ranked(value + 0.05)}
        write(tmp_path / name / RELATED, {"story": ways})
        topics = [
            {"name": "fed, <rate>", "size": 40, "x": -0.5, "y": 0.1, "label": "business", "share": 0.9},
            {"name": "film", "size": 10, "x": 0.5, "y": 0.0, "label": "film", "share": 1.0},
            {"name": "???", "size": 1, "x": 0.0, "y": 0.0, "label": None, "share": 0.0},
        ]
        write(tmp_path / name / MAP, {"topics": topics, "kept": 0.25})
    return tmp_path


CELLS = [Cell("news", "tfidf", 0), Cell("news", "dae", 0)]


def rows_of(table):
    return {name.text: [cell.text for cell in cells] for name, cells in table.rows}


def test_topics_are_shown_by_method_and_beside_chance(runs):
    (section,) = topic_sections(read_topics(CELLS, runs))
    (title, table), _ = section.tables
    assert title == "news: 4 topics against category"
    assert [f"{head.text} {head.note}" for head in table.columns[2:4]] == ["ARI k-means", "NMI Ward"]
    assert rows_of(table) == {
        "tfidf": ["0.500"] * 3 + ["0.600"] * 3,
        "dae": ["0.600"] * 3 + ["0.700"] * 3,
        "by chance": ["–", "0.200", "–"] * 2,
    }
    assert [cell.note for cell in table.rows[0][1][:3]] == ["", "", "0.400 to 0.700, ± 0.020"]


def test_related_articles_are_shown_beside_popularity(runs):
    (section,) = topic_sections(read_topics(CELLS, runs))
    _, (title, table) = section.tables
    assert title == "news: related by story"
    assert [head.text for head in table.columns[:3]] == ["nDCG@1", "nDCG@3", "nDCG@10"]
    shown = rows_of(table)
    assert shown["tfidf"] == ["0.300", "0.400", "0.500", "0.600", "0.100", "0.900", "0.550", "–"]
    assert shown["popularity"][2] == "0.200"
    assert table.rows[0][1][2].note == "0.400 to 0.600"


def test_the_results_and_the_report_have_the_tables_and_nothing_where_none_were_measured(runs):
    sections = topic_sections(read_topics(CELLS, runs))
    text = "\n".join(_topics(sections))
    assert "## Topics and related articles" in text
    assert "### news: related by story" in text
    assert "| dae | 0.600 | 0.600 | 0.600 (0.400 to 0.700, ± 0.020) |" in text
    html = page([], None, sections)
    assert '<a href="#topics">' in html
    assert "news: 4 topics against category" in html
    assert html.count('aria-label="Topics of ') == 2
    assert "fed, &lt;rate&gt;: 40 texts, 90 % business" in html
    assert _topics([]) == []
    assert '"#topics"' not in page([])


def test_a_run_that_was_not_measured_is_named_with_its_stage(runs):
    with pytest.raises(FileNotFoundError, match="dvc repro topics@news-dssm-0"):
        read_topics([Cell("news", "dssm", 0)], runs)


def test_a_map_has_a_circle_for_each_topic_by_size_and_label_within_its_frame(runs):
    (section,) = topic_sections(read_topics(CELLS, runs))
    panel = section.maps[0]
    assert (panel.title, panel.said) == ("tfidf", ": 25 % of the spread of the centres")
    assert [name for _, name, _ in panel.legend] == ["business", "film"]
    circles = re.findall(r'<g class="line c(\d)"><circle cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', panel.figure)
    assert [(colour, radius) for colour, _, _, radius in circles] == [("0", "20"), ("1", "10"), ("2", "3.2")]
    places = [(float(x), float(y)) for _, x, y, _ in circles]
    assert places == [(22, 124.4), (278, 150), (150, 150)]


def test_a_run_without_a_map_has_tables(runs):
    (runs / "news-dae-0" / MAP).unlink()
    (section,) = topic_sections(read_topics(CELLS, runs))
    assert [panel.title for panel in section.maps] == ["tfidf"]
