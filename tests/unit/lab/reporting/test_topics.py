"""The tables of topics and related articles, from made-up results."""

import pytest

from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.markdown import rendered
from twicetold_lab.reporting.topics import topics_section
from twicetold_lab.topics import RELATED, TOPICS

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
    return tmp_path


CELLS = [Cell("news", "tfidf", 0), Cell("news", "dae", 0)]


def rows_of(table):
    return {name.text: [cell.text for cell in cells] for name, cells in table.rows}


def test_topics_are_shown_by_method_and_beside_chance(runs):
    part, _ = topics_section(CELLS, runs).parts
    (table,) = part.tables
    assert part.title == "news: 4 topics against category"
    assert [f"{head.text} {head.note}" for head in table.columns[2:4]] == ["ARI k-means", "NMI Ward"]
    assert rows_of(table) == {
        "tfidf": ["0.500"] * 3 + ["0.600"] * 3,
        "dae": ["0.600"] * 3 + ["0.700"] * 3,
        "by chance": ["–", "0.200", "–"] * 2,
    }
    assert [cell.remark for cell in table.rows[0][1][:3]] == ["", "", "0.400 to 0.700, ± 0.020"]


def test_related_articles_are_shown_beside_popularity(runs):
    _, part = topics_section(CELLS, runs).parts
    (table,) = part.tables
    assert part.title == "news: related by story"
    assert [head.text for head in table.columns[:3]] == ["nDCG@1", "nDCG@3", "nDCG@10"]
    shown = rows_of(table)
    assert shown["tfidf"] == ["0.300", "0.400", "0.500", "0.600", "0.100", "0.900", "0.550", "–"]
    assert shown["popularity"][2] == "0.200"
    assert table.rows[0][1][2].remark == "0.400 to 0.600"


def test_the_results_have_the_tables_and_nothing_where_none_were_measured(runs):
    text = rendered([topics_section(CELLS, runs)])
    assert "## Topics and related articles" in text
    assert "### news: related by story" in text
    assert "| dae | 0.600 | 0.600 | 0.600 (0.400 to 0.700, ± 0.020) |" in text
    assert topics_section([], runs) is None


def test_a_run_that_was_not_measured_is_named_with_its_stage(runs):
    with pytest.raises(FileNotFoundError, match="dvc repro topics@news-dssm-0"):
        topics_section([Cell("news", "dssm", 0)], runs)
