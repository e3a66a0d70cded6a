"""Search, the pairwise k-NN rule and published results on the page."""

import re

import numpy as np
import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.evaluation.pairwise_knn import KnnRates, save_rates
from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.figures import Axis
from twicetold_lab.reporting.glossary import describe, split_of
from twicetold_lab.reporting.published import PUBLISHED

SEARCH = {
    "retrieval_recall_at_1": 0.31,
    "retrieval_recall_at_10": 0.72,
    "retrieval_recall_at_100": 0.93,
    "retrieval_mrr_at_10": 0.51,
    "retrieval_ndcg_at_10": 0.55,
}
KNN = {"pairwise_knn_accuracy": 0.68, "pairwise_knn_log_loss": 0.597, "pairwise_knn_k": 34.0}


def add(project, data, model, further, *, kind="labelled_pairs", primary="auroc", rates=False):
    if not (project.root / "processed" / data).exists():
        project.add_data(data, kind, {})
    cell = Cell(data, model, 0)
    folder = project.add_run(cell, {primary: 0.7, **further}, primary=primary, parameters=0 if model == "bm25" else 9)
    if rates:
        rising = np.linspace(0.1, 0.6, 55)
        each = KnnRates(rising, 1 - rising / 4, rising / 4, 1 - rising, 0.5 + rising / 4, 0.7 - rising / 8)
        save_rates(folder / layout.PAIRWISE_KNN, {"val": each, "test": each})
    return cell


def page(project, cells):
    reporting.build(cells, **project.folders, target=project.root / "reports")
    return (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")


def test_search_has_a_row_for_each_model_with_vectors_and_columns_in_order_of_rank(project):
    cells = [
        add(project, "questions", "bm25", SEARCH),
        add(project, "questions", "dae", {**SEARCH, "index_recall_at_10": 0.71, "index_agreement_at_10": 0.98}),
        add(project, "questions", "re2", {}),
    ]
    table = page(project, cells).split("Search in the whole corpus</h3>")[1].split("</table>")[0]
    heads = re.findall(r'<th scope="col">([^<]+)<', table)
    assert heads == ["Model", "R@1", "R@10", "R@100", "MRR@10", "nDCG@10", "Index R@10", "Index agreement@10"]
    assert re.findall(r'<th scope="row">(\w+)', table) == ["bm25", "dae"]
    assert "0.980" in table
    assert "approximate index" in table


def test_the_rule_says_that_it_is_transductive_and_stands_beside_the_threshold(project):
    cell = add(project, "questions", "film", {**KNN, "accuracy": 0.71, "log_loss": 0.55}, rates=True)
    html = page(project, [cell]).split("The pairwise k-NN rule</h3>")[1].split("</section>")[0]
    assert "transductive" in html
    assert "depends on which other texts are judged" in html
    assert re.findall(r'<td data-value="[^"]+">([^<]+)</td>', html) == ["34", "0.680", "0.710", "0.597", "0.550"]
    assert html.count('<svg class="figure"') == 2
    for rate in ("TPR", "TNR", "FPR", "FNR"):
        assert f"<title>{rate}: " in html


def test_the_chosen_k_is_marked_where_it_lies(project):
    cell = add(project, "questions", "film", {**KNN, "pairwise_knn_k": 55.0}, rates=True)
    html = page(project, [cell]).split("The pairwise k-NN rule</h3>")[1]
    frame = re.search(r'class="frame" x="(\d+)" y="\d+" width="(\d+)"', html)
    assert f'class="diagonal" d="M{int(frame[1]) + int(frame[2])} ' in html  # 55 is the right end of the axis


def test_documents_and_runs_from_before_have_no_such_part(make_page):
    html = make_page()
    assert "pairwise k-NN rule</h3>" not in html
    assert "Search in the whole corpus" not in html
    assert "Beside published results" not in html


def test_published_rows_stand_among_ours_by_value_with_the_caveat(project):
    cell = add(project, "stsb", "film", {"spearman": 0.6}, kind="graded_pairs", primary="pearson")
    html = page(project, [cell]).split("Beside published results</h3>")[1].split("</table>")[0]
    assert "Not comparable point by point" in html
    rows = re.findall(r'<tr><th scope="row">([^<]+)</th><td>([^<]*)</td><td>([^<]*)</td>', html)
    assert rows[:3] == [("film", "70.00", ""), ("FILM", "", "57.68"), ("Word2vec", "", "56.50")]
    assert "arXiv:2010.05523" in html


@pytest.mark.parametrize("data", sorted(PUBLISHED))
def test_a_published_result_has_a_source_and_is_a_percentage_of_a_metric_that_we_have(data):
    about = PUBLISHED[data]
    assert describe(about.metric).meaning
    assert all(
        1 < result.value < 100 and re.search(r"\d{4}, arXiv:\d{4}\.\d{5}", result.source) for result in about.results
    )


@pytest.mark.parametrize("name", [*SEARCH, *KNN, "index_recall_at_10", "index_agreement_at_10"])
def test_every_new_measure_is_explained_and_is_no_column_of_the_leaderboard(name):
    metric = describe(name)
    assert metric.meaning
    assert not metric.group
    assert not metric.leads
    assert "{k}" not in metric.label + metric.meaning


def test_more_neighbours_and_more_loss_are_no_better():
    assert [describe(name).is_quality for name in KNN] == [True, False, False]
    assert describe("pairwise_knn_k").show(34.0) == "34"
    assert split_of("pairwise_knn_k") == "validation"


@pytest.mark.parametrize("values", [[0.597, 0.648], [0.6, 0.6], [0, 0.066], [0.1, 3.7], [0.6912, 0.6931], [12.0, 190]])
def test_an_axis_holds_its_values_between_few_round_ticks(values):
    axis = Axis.around("loss", values)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert 2 <= len(axis.ticks) <= 8


def test_the_markdown_has_the_search_with_gain_at_every_rank_and_the_rule_beside_its_paper(project):
    gains = {"retrieval_ndcg_at_1": 0.33, "retrieval_ndcg_at_3": 0.44, "retrieval_ndcg_at_10": 0.55}
    cells = [
        add(project, "quora_wang", "film", {**KNN, **SEARCH, **gains, "accuracy": 0.71, "log_loss": 0.55}),
        add(project, "quora_wang", "re2", {"accuracy": 0.8, "log_loss": 0.4}),
    ]
    text = project.markdown(cells)
    search, rule = (text.split(f"### {head}")[1].split("\n\n")[2] for head in ("Search in the", "The pairwise k-NN"))
    assert search.splitlines()[0] == "| model | R@1 | R@10 | R@100 | MRR@10 | nDCG@1 | nDCG@3 | nDCG@10 |"
    assert [line.split(" | ")[0] for line in search.splitlines()[2:]] == ["| film"]
    assert "| **0.330** | **0.440** | **0.550** |" in search
    assert rule.splitlines()[2:] == [
        "| film | 34 | 0.680 | 0.710 | 0.597 | 0.550 |",
        "| FILM (claimed) | 36 | 0.868 | – | 0.321 | – |",
    ]
    html = page(project, cells).split("The pairwise k-NN rule")
    assert len(html) == 1, "without the rates of each k there is no such table on the page"
