"""What the report, RESULTS.md and the terminal say of a dedupe."""

import json
import re

import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.dedupe import HOW_TO_READ, LOWER_BOUND, dedupe_section
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.markdown import escaped
from twicetold_lab.runs.folder import read_runs
from twicetold_lab.runs.records import read_peers

PEER = {
    "data": "news",
    "name": "shingles",
    "version": "1.2",
    "settings": {"threshold": 0.5, "permutations": 128},
    "metrics": {"link_precision": 0.7, "link_recall": 0.2, "ari": 0.99, "b3": 0.99, "pair_f1": 0.99},
    "intervals": {"link_precision": [0.6, 0.8]},
    "seconds": 1.5,
}


def edit(folder, file, change):
    """Change the content of a JSON file of a run."""
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    change(content)
    (folder / file).write_text(json.dumps(content), encoding="utf-8")


def write_peers(project, *records):
    (project.root / "runs" / layout.PEERS).write_text(json.dumps(records), encoding="utf-8")


def board_of(project, cells, data="news"):
    return rank(data, read_runs([cell for cell in cells if cell.data == data], project.root / "runs")[data])


def unmeasured(folder):
    """Take the metrics of a dedupe from a run."""
    metrics = {"auroc_category": 0.5, "auroc_story": 0.5}
    (folder / layout.METRICS).write_text(json.dumps({"val": metrics, "test": metrics}), encoding="utf-8")


def section_of(project, cells, data="news", kind="documents"):
    peers = read_peers(project.root / "runs").get(data, [])
    return dedupe_section(board_of(project, cells, data), kind, peers)


def section(text, data):
    return re.search(f"^## {data}\n(.*?)(?:^## |\\Z)", text, re.MULTILINE | re.DOTALL)[1]


def row_of(text, name):
    line = next(line for line in text.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture
def html(make_page):
    """The section on a dedupe of the page."""
    return make_page().split("<h3>Dedupe</h3>")[1].split("</section>")[0]


def test_the_rule_of_grouping_is_the_best_on_validation_even_where_test_disagrees(finished):
    project, cells = finished
    board = board_of(project, cells)

    for row in board.rows:
        test, val = row.metrics["test"], row.metrics["val"]
        assert test["ari"] == test["ari_average"]
        assert val["ari"] == val["ari_average"]
        assert test["ari"].mean < test["ari_components"].mean


def test_over_several_seeds_one_rule_is_chosen_by_the_mean(finished):
    project, cells = finished
    folder = project.run(Cell("news", "dae", 1))
    folder.mkdir()
    for file in (layout.METRICS, layout.SUMMARY):
        (folder / file).write_bytes((project.run(Cell("news", "dae", 0)) / file).read_bytes())
    edit(folder, layout.METRICS, lambda metrics: metrics["val"].update(ari_complete=0.9))  # mean (0.45 + 0.9) / 2
    row = next(row for row in board_of(project, [*cells, Cell("news", "dae", 1)]).rows if row.model == "dae")

    assert row.metrics["test"]["ari"] == row.metrics["test"]["ari_complete"]


def test_average_precision_and_ari_stand_beside_auroc_wherever_documents_are_ranked(finished, make_page):
    project, cells = finished
    row = next(row for row in board_of(project, cells).rows if row.model == "dae")
    values = [f"{row.metrics['test'][name].mean:.3f}" for name in ("average_precision_story", "ari")]
    assert values == ["0.640", "0.450"]

    markdown = section(project.markdown(cells), "news")
    assert row_of(markdown, "model")[1] == "AUROC category, test"
    assert "| AUROC story, test | Average precision story, test | ARI, test |" in markdown
    assert values == row_of(markdown, "**dae**")[5:7]
    page = make_page().split('<section id="data-news"')[1]
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)<small>test', page.split("<tbody>")[0])
    assert heads == ["AUROC category", "AUROC story", "Average precision story", "ARI", "P@10 story"]
    terminal = reporting.leaderboard_text(cells, project.root / "runs", terminal=False).split("\n\n")[1]
    assert re.search(r" val +AP story +ari +parameters", terminal)
    assert re.search(r"\* dae .* 0\.640 +0\.450 ", terminal)


def test_a_precision_is_shown_as_promised_and_as_kept(finished, html):
    project, cells = finished
    text = section(project.markdown(cells), "news").split("\n### Dedupe\n")[1]
    heads = row_of(text, "model")
    row = dict(zip(heads, row_of(text, "tfidf"), strict=True))

    assert row == {
        "model": "tfidf",
        "AUROC, all pairs": "0.900",
        "Average precision, all pairs": "0.870 (0.830 to 0.930)",
        "Precision, aimed at 0.9, promised → kept": "0.900 → 0.850 (0.800 to 0.920)",
        "Precision by text, at 0.9": "0.750",
        "Recall, at 0.9": "0.350",
        "ARI, components at 0.9": "0.120",
        "Best rule, on validation": "average",
        "ARI, best rule": "0.680 (0.480 to 0.730)",
        "B-cubed, best rule": "0.860",
        "Pairwise F1, best rule": "0.840",
    }
    assert '0.900 → 0.850 <span class="sub">0.800 to 0.920</span>' in html


def test_an_aim_that_validation_did_not_reach_is_a_dash_with_the_highest_precision(finished, html):
    project, cells = finished
    row = row_of(project.markdown(cells).split("\n### Dedupe\n")[1], "dae")

    assert row[3:7] == ["– (highest 0.550)", "–", "–", "–"]
    assert html.count('– <span class="sub">highest') == 1


def test_a_threshold_that_finds_no_link_on_test_was_reached_all_the_same(finished):
    project, cells = finished

    def forget(metrics):
        for name in ("link_precision_at_90", "link_text_precision_at_90", "link_recall_at_90"):
            del metrics["test"][name]

    edit(project.run(Cell("news", "tfidf", 0)), layout.METRICS, forget)
    (found,) = section_of(project, cells).tables
    cells_of = {name.text: row for name, row in found.rows}

    assert cells_of["tfidf"][2].text == "0.900 → –"
    assert [cell.text for cell in cells_of["tfidf"][3:6]] == ["–", "–", "0.120"]


def test_rows_are_ordered_by_average_precision_on_validation(finished):
    project, cells = finished
    assert [row.model for row in board_of(project, cells).rows] == ["dae", "tfidf"]
    assert [name.text for name, _ in section_of(project, cells).tables[0].rows] == ["tfidf", "dae"]

    edit(project.run(Cell("news", "tfidf", 0)), layout.METRICS, lambda m: m["val"].update(average_precision_story=0.1))
    assert [name.text for name, _ in section_of(project, cells).tables[0].rows] == ["dae", "tfidf"]


def test_without_measured_models_nothing_is_said_of_a_dedupe(finished, make_page):
    project, cells = finished
    assert section_of(project, cells, "graded", "graded_pairs") is None
    for model in ("dae", "tfidf"):
        unmeasured(project.run(Cell("news", model, 0)))
    write_peers(project, PEER)

    assert "<h3>Dedupe" not in make_page()
    assert "### Dedupe" not in project.markdown(cells)


def test_a_model_without_vectors_has_no_row_and_is_named(finished):
    project, cells = finished
    unmeasured(project.run(Cell("news", "dae", 0)))
    found = section_of(project, cells)

    assert [name.text for name, _ in found.tables[0].rows] == ["tfidf"]
    assert found.notes == ["Not measured, as a dedupe needs a vector for each text: dae."]


def with_clusters(metrics):
    for split in ("val", "test"):
        metrics[split] |= {"average_precision_cluster": 0.4, "link_precision_at_90": 0.5, "ari_average": 0.3}


def test_clusters_of_labelled_pairs_come_with_the_note_on_lower_bounds(finished, make_page):
    project, cells = finished
    for model, seed in (("dae", 0), ("dae", 1), ("tfidf", 0)):
        edit(project.run(Cell("questions", model, seed)), layout.METRICS, with_clusters)
    text, page = project.markdown(cells), make_page()

    assert text.count(LOWER_BOUND) == 1
    assert LOWER_BOUND in section(text, "questions")
    assert LOWER_BOUND in page.split('<section id="data-questions"')[1].split('<section id="')[0]
    table = section(text, "questions").split("\n### Dedupe\n")[1]
    assert row_of(table, "model")[1].startswith("Average precision")  # AUROC over all their pairs is not known
    glossary = page.split('id="glossary"')[1]
    assert "pairs without a label count as different" in glossary
    for paragraph in HOW_TO_READ:
        assert text.count(escaped(paragraph)) == page.count(paragraph) == 1


def test_peers_stand_below_the_models_and_are_marked(finished, make_page):
    project, cells = finished
    aimed = {"link_precision_at_90": 0.91, "ari_components": 0.5}
    write_peers(project, PEER, {**PEER, "settings": "tuned", "metrics": aimed, "seconds": None}, {**PEER, "data": "x"})
    found = section_of(project, cells)

    names = [(name.text, name.note) for name, _ in found.tables[0].rows]
    assert names == [("tfidf", ""), ("dae", ""), ("shingles", "peer 1"), ("shingles", "peer 2")]
    own, other = (cells for _, cells in found.tables[0].rows[2:])
    assert [c.text for c in own] == ["–", "–", "0.700", "–", "0.200", "–", "–", "0.990", "0.990", "0.990"]
    assert own[2].remark == "0.600 to 0.800, own threshold"
    assert [c.text for c in other[2:8]] == ["0.910", "–", "–", "–", "components", "0.500"]
    text = project.markdown(cells)
    assert "| shingles (peer 1) |" in text
    assert "Peer 1: shingles 1.2 threshold 0.5, permutations 128; 1.50 seconds." in text
    assert "Peer 2: shingles 1.2 tuned." in text
    assert 'shingles <span class="tag">peer 1</span>' in make_page()
    assert board_of(project, cells).top("ari") == pytest.approx(0.68)


def test_names_of_peers_are_escaped(finished, make_page):
    project, cells = finished
    evil = "<img src=x>|`"
    write_peers(project, {**PEER, "name": evil, "version": evil, "settings": {evil: evil}})

    assert "<img" not in make_page()
    assert "<img" not in project.markdown(cells)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        '{"data": "news"}',
        '[{"data": "news"}]',
        json.dumps([{**PEER, "x": 1}]),
        json.dumps([{**PEER, "metrics": 1}]),
    ],
)
def test_a_file_of_peers_with_something_else_says_what_was_expected(tmp_path, content):
    (tmp_path / layout.PEERS).write_text(content, encoding="utf-8")

    with pytest.raises(ValueError, match="expected a list of objects with data, name, version, settings, metrics"):
        read_peers(tmp_path)


def test_without_a_file_there_are_no_peers(tmp_path):
    assert read_peers(tmp_path) == {}


def test_the_glossary_has_one_line_for_all_rules_and_all_aims(make_page):
    entries = re.findall("<li><b>([^<]*)</b>", make_page().split('id="glossary"')[1])

    expected = {"ARI", "B-cubed", "Pairwise F1", "Precision of links", "Recall of links", "ARI of links"}
    assert expected <= set(entries)
    assert len(entries) == len(set(entries))
    assert not [entry for entry in entries if "average" in entry or "aimed" in entry]
