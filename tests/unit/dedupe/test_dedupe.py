"""Groups of duplicates, by a trained model."""

import inspect
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

import twicetold
from chosen_thresholds import CHOSEN
from twicetold import layout
from twicetold.commands import index as index_command
from twicetold.dedupe import candidates as module
from twicetold.dedupe.distinct import first_equal
from twicetold.dedupe.options import DEFAULTS
from twicetold.evaluation.guarantee import Guarantee, MeasuredLinks
from twicetold.files import write_json
from twicetold.neighbours.rules import RULES

TEXTS = ["bank rate cut film", "drug trial phone", "Bank  rate cut FILM", "bank rate cut film star", "vote game chip"]


@pytest.fixture
def many(questions):
    return questions.texts.to_pylist() * 2


def similar(model, texts):
    vectors = model.encode(texts)
    return np.asarray((vectors @ vectors.T).todense() if hasattr(vectors, "todense") else vectors @ vectors.T)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_groups_are_those_of_all_pairs(family, rule, run, many):
    """Against scipy's linkage of the dense matrix of all distinct texts."""
    model = twicetold.load(run(family))
    first = np.flatnonzero(first_equal(many) == np.arange(len(many)))
    matrix = similar(model, [many[row] for row in first]).astype(np.float64)
    left, right = np.triu_indices(len(first), 1)
    similarity = matrix[left, right]
    values = np.unique(similarity.round(4))
    between = values[int(0.9 * len(values)) :][:2].mean()  # so that rounding does not matter
    threshold = float(model.decision.probability(between))
    found = model.dedupe(many, rule=rule, threshold=threshold)
    tree = linkage(2 - similarity, {"components": "single"}.get(rule, rule))
    codes = fcluster(tree, 2 - found.summary.threshold.score, "distance")
    assert 1 < len(np.unique(codes)) < len(first)
    assert adjusted_rand_score(codes, found.group[first]) == 1
    np.testing.assert_array_equal(found.group, found.group[found.exact])
    strong = similarity >= found.summary.threshold.score
    linked = {*zip(found.links.left.tolist(), found.links.right.tolist())}
    assert linked == {*zip(first[left[strong]].tolist(), first[right[strong]].tolist())}


def test_every_text_has_a_group_a_representative_and_a_probability(run, many):
    model = twicetold.load(run())
    found = model.dedupe(many, threshold=0.6)
    assert (found.group[found.representative] == found.group).all()
    other = np.flatnonzero(found.exact != found.exact[found.representative])
    left, right = [many[row] for row in other], [many[row] for row in found.representative[other]]
    np.testing.assert_allclose(found.probability[other], model.predict_proba(left, right), atol=1e-6)
    assert (np.delete(found.probability, other) == 1).all()
    np.testing.assert_array_equal(np.unique(found.group, return_index=True)[1], found.kept())
    assert found.summary.counts.groups == len(found.table) == (np.bincount(found.group) > 1).sum()
    assert found.table.size.tolist() == np.bincount(found.group)[found.table.group].tolist()
    pairs = model.similarity(*([many[row] for row in side] for side in (found.links.left, found.links.right)))
    np.testing.assert_allclose(found.links.score, pairs, atol=1e-6)


def test_texts_are_equal_but_for_case_white_space_unicode_forms_and_invisible_characters():
    texts = ["Ａ  b", "a b", "a\u00a0\u2003B ", "a-b", "ﬁne", "FINE", "é", "e\u0301", "a b.", "Straße", "STRAS\u00adSE"]
    assert first_equal(texts).tolist() == [0, 0, 0, 3, 4, 4, 6, 6, 8, 9, 9]
    with pytest.raises(ValueError, match="1 of 2 texts are empty"):
        first_equal(["a", "\u200b\ufeff"])


@pytest.mark.parametrize(("keep", "expected"), [("first", 0), ("longest", 3)])
def test_the_representative_is_the_one_asked_for(keep, expected, run):
    texts = ["bank rate", "bank rate cut", "bank cut", "bank rate vote game"]
    found = twicetold.load(run()).dedupe(texts, rule="components", threshold=0.05, keep=keep)
    assert found.representative.tolist() == [expected] * 4


def test_texts_with_more_links_than_are_held_are_counted(run, many, monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS", 10)
    monkeypatch.setattr("twicetold.dedupe.prepared.NEIGHBOURS", 2)
    model = twicetold.load(run())
    assert model.dedupe(many, threshold=0.6).summary.counts.unfinished > 0
    assert model.dedupe(many, threshold=0.999999).summary.counts.unfinished == 0


def test_an_approximate_index_finds_the_nearest_of_few_texts(run, many, monkeypatch):
    model = twicetold.load(run("static"))
    exact = model.dedupe(many, threshold=0.6)
    monkeypatch.setattr(module, "EXACT_UP_TO", 10)
    found = model.dedupe(many, threshold=0.6)
    assert found.summary.counts.approximate
    np.testing.assert_array_equal(found.group, exact.group)  # √n cells are fewer than are searched


def test_thresholds_of_all_pairs_come_with_the_model(run):
    folder = run()
    model = twicetold.load(folder)
    write_json(model.folder / layout.PRECISION, CHOSEN.to_json())
    assert model.thresholds == CHOSEN
    found = model.dedupe(TEXTS, precision=0.8)
    assert found.summary.threshold.score == 0.7
    assert found.summary.threshold.probability == pytest.approx(1 / (1 + np.exp(-1)))
    assert found.summary.threshold.precision == 0.81
    assert found.summary.threshold.expected.value == pytest.approx(0.81 / (0.81 + 0.19 * 3 / 100))
    assert model.dedupe(TEXTS).summary.threshold.score == 0.3
    with pytest.raises(ValueError, match=r"no threshold gives links with precision 0\.9 .* the highest one is 0\.850"):
        model.dedupe(TEXTS, precision=0.9)
    with pytest.raises(ValueError, match=r"thresholds for a precision of 0\.8, 0\.9, and none for 0\.5"):
        model.dedupe(TEXTS, precision=0.5)


def promise_with(*at):
    """One of a model of `CHOSEN`, from thresholds, precisions and spreads."""
    links = [
        MeasuredLinks(each, 500, 200, precision, spread, precision - 0.1, spread, 0.5) for each, precision, spread in at
    ]
    return Guarantee(CHOSEN.texts, tuple(links))


def with_promise(folder, promise):
    model = twicetold.load(folder)
    write_json(model.folder / layout.PRECISION, replace(CHOSEN, promised=promise.at).to_json())
    return model


@pytest.mark.parametrize(
    ("limits", "precision", "expected"),
    [
        # the lowest threshold that nine of ten files keep, not the 0.7 of the best estimate
        (((0.75, 0.99, 0.3), (0.65, 0.98, 0.3), (0.6, 0.5, 3.0)), 0.8, (0.65, 0.98, True)),
        # no limit reaches it
        (((0.75, 0.85, 9.0), (0.65, 0.8, 9.0)), 0.8, (0.7, 0.81, False)),
        # none is asked for
        (((0.75, 0.85, 0.1), (0.2, 0.4, 0.1)), None, (0.3, None, False)),
    ],
)
def test_a_precision_takes_the_lowest_threshold_that_nine_of_ten_files_keep(limits, precision, expected, run):
    known = promise_with(*limits)
    summary = with_promise(run(), known).dedupe(TEXTS, precision=precision).summary
    threshold = summary.threshold
    assert (threshold.score, threshold.precision, threshold.assured) == expected
    assert threshold.guaranteed == known.of(known.at[1], summary.counts.distinct)
    assert threshold.guaranteed.least >= 0.8 or not threshold.assured
    assert all(known.of(each, summary.counts.distinct).least < 0.8 for each in known.at[2:])


def test_a_promise_travels_with_the_model_folder_alone(run, tmp_path):
    known = promise_with((0.75, 0.99, 0.3), (0.65, 0.98, 0.3))
    model = with_promise(run(), known)
    alone = twicetold.load(shutil.copytree(model.folder, tmp_path / "alone"))
    assert alone.dedupe(TEXTS, precision=0.8).summary.threshold.guaranteed == known.of(known.at[1], 4)


def test_a_folder_of_an_earlier_version_promises_nothing(run):
    model = twicetold.load(run())
    write_json(model.folder / layout.PRECISION, {k: v for k, v in CHOSEN.to_json().items() if k != "promised"})
    threshold = model.dedupe(TEXTS, precision=0.8).summary.threshold
    assert (threshold.precision, threshold.guaranteed, threshold.assured) == (0.81, None, False)


@pytest.mark.parametrize("complete", [True, False])
def test_what_is_promised_is_a_lower_bound_where_labels_are_incomplete(complete, run):
    model = twicetold.load(run())
    known = replace(CHOSEN, complete=complete, promised=promise_with((0.2, 0.9, 0.1)).at)
    write_json(model.folder / layout.PRECISION, known.to_json())
    assert model.dedupe(TEXTS).summary.threshold.lower_bound is not complete


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": "steep"}, "expected a finite number as 'slope'"),
        ({"texts": None}, "expected 'texts' in thresholds to be of type int"),
        ({"links": 3}, "expected a list of objects as 'links'"),
        ({"grouping": []}, "expected a threshold for each of"),
        ({"promised": 3}, "expected a list of objects as 'promised', got 3"),
        ({"promised": [{}]}, "expected the fields .* in promised"),
        ({"more": 1}, "expected the fields"),
    ],
)
def test_a_damaged_file_of_thresholds_is_named(change, message, run):
    model = twicetold.load(run())
    (model.folder / layout.PRECISION).write_text(json.dumps(CHOSEN.to_json() | change))
    with pytest.raises(ValueError, match=rf"cannot load the model in .*: {layout.PRECISION}: {message}"):
        model.dedupe(TEXTS)


@pytest.mark.parametrize(
    ("texts", "options", "error", "message"),
    [
        ("one text", {}, TypeError, "expected a list of texts"),
        ([], {}, ValueError, "there are no texts"),
        (["a", " \n"], {}, ValueError, r"1 of 2 texts are empty, the first is texts\[1\]"),
        (TEXTS, {"precision": 0.9}, ValueError, "has no thresholds for a target precision: there is no precision.json"),
        (TEXTS, {"precision": 0.9, "threshold": 0.9}, ValueError, "not both"),
        (TEXTS, {"threshold": 0.0}, ValueError, "threshold is between 0 and 1, got 0"),
        (TEXTS, {"rule": "ward"}, ValueError, "expected one of the rules"),
        (TEXTS, {"keep": "best"}, ValueError, "to keep, got 'best'"),
        (TEXTS, {"kept": "best"}, TypeError, "unexpected keyword argument 'kept'"),
    ],
)
def test_wrong_calls_are_named(texts, options, error, message, run):
    with pytest.raises(error, match=message):
        twicetold.load(run()).dedupe(texts, **options)


@pytest.mark.parametrize("function", [twicetold.Model.index, index_command.build])
def test_an_index_has_options_and_defaults_of_a_dedupe(function):
    found = inspect.signature(function).parameters
    for name in ("precision", "threshold", "rule"):
        assert found[name].default == getattr(DEFAULTS, name)


def test_a_model_that_scores_pairs_only_is_refused(run, monkeypatch):
    model = twicetold.load(run())
    reader = type(model.trained.read(TEXTS))
    monkeypatch.setattr(reader, "searchable", property(lambda _: False))
    with pytest.raises(TypeError, match=r"scores pairs only: it has no vector per text .* score pairs with this one"):
        model.dedupe(TEXTS)


def test_a_family_whose_score_is_no_dot_product_scores_the_nearest_pairs(run, many, monkeypatch):
    model = twicetold.load(run("static"))
    expected = model.dedupe(many, threshold=0.6, rule="components")
    reader = type(model.trained.read(TEXTS))
    monkeypatch.setattr(reader, "score_is_dot_product", property(lambda _: False))
    monkeypatch.setattr("twicetold.dedupe.prepared.NEIGHBOURS", 60)
    found = model.dedupe(many, threshold=0.6, rule="components")
    np.testing.assert_array_equal(found.group, expected.group)
    np.testing.assert_allclose(found.links.score, expected.links.score, atol=1e-6)


def test_a_constant_between_score_and_dot_product_changes_no_group(run, many, monkeypatch):
    """As an ensemble has it: its score is the dot product of its vectors and a constant."""
    model = twicetold.load(run("static"))
    expected = model.dedupe(many, threshold=0.6)
    reader = type(model.trained.read(TEXTS))
    score, decision = reader.score, model.decision
    monkeypatch.setattr(reader, "score", lambda self, left, right: score(self, left, right) + 2)
    monkeypatch.setattr("twicetold.dedupe.pairs.constant", lambda _: 2.0)
    model.trained = replace(
        model.trained, decision=replace(decision, intercept=decision.intercept - 2 * decision.slope)
    )
    found = model.dedupe(many, threshold=0.6)
    np.testing.assert_array_equal(found.group, expected.group)
    np.testing.assert_allclose(found.links.score, expected.links.score + 2, atol=1e-5)
    np.testing.assert_allclose(found.probability, expected.probability, atol=1e-5)
