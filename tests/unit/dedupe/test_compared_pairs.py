"""Given pairs of texts by the matcher: what a dedupe of the same texts says of them."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import twicetold
from twicetold import layout
from twicetold.dedupe.pairs import LOG_ODDS
from twicetold.evaluation.thresholds import LabelledLinks
from twicetold.files import csv_text
from twicetold.matching.generic import generic_matcher
from twicetold.tables.files import open_rows, write_rows
from twicetold.trained.threshold_record import MatchedLinks
from twicetold.use.pairs import score_file

EXAMPLES = Path(__file__).parents[3] / "examples"
MADE = [
    f"Tent {model}, {number} persons{end}"
    for model in ("ridge", "dune")
    for number in range(2, 7)
    for end in ("", " red")
]
MADE += ["TENT ridge,  2 persons", "tent Ridge 2 person", "!!", "C++", "C#"]


def texts_of(name):
    if name == "made":
        return MADE
    with (EXAMPLES / f"{name}.csv").open() as file:
        return [row.get("question") or row.get("title") for row in csv.DictReader(file)]


def scored(model, left, right, folder):
    """Columns of a file of pairs, as `pairs` writes them, and the summary."""
    (folder / "pairs.csv").write_text(csv_text(["left", "right"], zip(left, right, strict=True)))
    with open_rows(folder / "pairs.csv") as rows, write_rows(folder / "out.parquet") as write:
        summary = score_file(model, rows, write, ("left", "right"))
    return pq.read_table(folder / "out.parquet"), summary


def linked_and_other_pairs(found, texts):
    """The links of a dedupe, and further pairs, so that the pairs have all the texts."""
    left, right = ([texts[row] for row in side.tolist()] for side in (found.links.left, found.links.right))
    return [*left, *texts], [*right, *texts[1:], texts[0]]


@pytest.mark.parametrize("name", ["questions", "products", "made"])
def test_a_file_of_pairs_has_the_probabilities_of_a_dedupe_of_the_same_texts(name, tmp_path):
    texts = texts_of(name)
    twicetold.fit(texts, folder=tmp_path / "model")
    model = twicetold.load(tmp_path / "model")
    found = model.dedupe(texts)
    left, right = linked_and_other_pairs(found, texts)
    table, summary = scored(model, left, right, tmp_path)
    links = slice(0, len(found.links))
    assert len(found.links) > 10
    np.testing.assert_array_equal(table["score"].to_numpy()[links], found.links.score)
    np.testing.assert_array_equal(table["probability"].to_numpy()[links], found.links.probability)
    assert all(table["duplicate"].to_pylist()[links])
    assert (summary.threshold, summary.evidence) == (found.summary.threshold.score, found.summary.threshold.evidence)
    for same in (model, twicetold.fit(texts)):  # loaded, and in memory
        np.testing.assert_array_equal(same.predict_proba(left, right), table["probability"])
        np.testing.assert_array_equal(same.predict(left, right), table["duplicate"])


def test_a_trained_model_scores_each_pair_by_itself_also_where_its_dedupe_weighs_a_matcher(run, tmp_path):
    folder, texts = run("static"), texts_of("products")
    matcher = generic_matcher(vectors=False).beside({"score": np.array([0.0, 1.0])})
    matched = MatchedLinks(matcher, LOG_ODDS, LabelledLinks("a", 2, 5, 1, 1, 0.5, ())).to_json()
    record = {"pairs": {"file": "validation", "count": 20}, "about": "duplicate", "matched": matched}
    (folder / layout.MODEL / layout.MATCHER).write_text(json.dumps(record))
    model = twicetold.load(folder)
    assert "drawn from" in model.dedupe(texts).summary.threshold.evidence
    left, right = texts[:20], texts[1:21]
    table, summary = scored(model, left, right, tmp_path)
    alone = np.concatenate([model.predict_proba([one], [other]) for one, other in zip(left, right)])
    np.testing.assert_allclose(table["probability"], alone, atol=1e-6)
    assert summary.threshold == model.threshold


def test_equal_texts_are_duplicates_without_a_score(tmp_path):
    table, _ = scored(twicetold.fit(MADE, lexical=True), ["TENT ridge,  2 persons", "C++"], [MADE[0], "C#"], tmp_path)
    assert table["score"].null_count == 1
    assert table.to_pylist()[0] | {"left": "", "right": ""} == {
        "left": "",
        "right": "",
        "score": None,
        "probability": 1.0,
        "duplicate": True,
    }


def test_no_pairs_are_no_answers(tmp_path):
    table, summary = scored(twicetold.fit(MADE, lexical=True), [], [], tmp_path)
    assert (len(table), summary.pairs, summary.duplicates) == (0, 0, 0)
    with pytest.raises(ValueError, match="expected equal numbers of left and right texts, got 1 and 2"):
        twicetold.fit(MADE, lexical=True).predict(["a"], ["b", "c"])


def test_a_fitted_model_knows_one_label_alone():
    with pytest.raises(ValueError, match="no decision about 'story'"):
        twicetold.fit(MADE, lexical=True).predict(["a"], ["b"], about="story")
