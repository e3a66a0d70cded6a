"""An ensemble against its members, each by itself."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from saved_models import save_model
from twicetold import layout
from twicetold.evaluation.decision import Decision, decide
from twicetold.evaluation.ranking import ScoreCounts
from twicetold.features.folded_characters import FoldedCharacters
from twicetold.features.tfidf import TfIdf
from twicetold.features.word_hashing import WordHashing
from twicetold.files import write_json
from twicetold.models.matcher import PairMatcher
from twicetold.models.static import Static
from twicetold.models.static_mlp import StaticMlp
from twicetold.models.tfidf import TfIdfCosine
from twicetold.neighbours.components import components
from twicetold.trained.ensemble import Ensemble, Weights, constant
from twicetold.trained.model_folder import load_model, load_scorer, save_ensemble
from twicetold.trained.scoring import Scorer, TrainedModel
from twicetold.trained.threshold_record import read_thresholds
from twicetold.trained.vectors_identity import fingerprint
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.scoring.cache import cached_rows
from twicetold_lab.scoring.ensembling import _stack, load_members, make_ensemble
from twicetold_lab.scoring.model_checks import other_parts
from twicetold_lab.scoring.stacking import cross_fit, deal, fit_weights

STATIC = {"embedding": 4, "init_std": 0.5, "input_dropout": 0.0}
STATIC_MLP = {"embedding": 4, "own": 2, "init_std": 0.5, "input_dropout": 0.0, "head": [6], "dropout": 0.0}
SELECTION = Selection()
DECISION = Decision(0.5, 2.0, -1.0)


@pytest.fixture
def trained(questions):
    """From a kind of family, a seed and a decision to a model of the tiny questions."""

    def _trained(kind, *, seed=0, decision=DECISION, as_documents=False):
        texts = questions.texts_of("train")
        torch.manual_seed(seed)
        if kind == "tfidf":
            featuriser = TfIdf().fit(texts)
            return Scorer(featuriser, TfIdfCosine(**featuriser.shape), decision, as_documents)
        featuriser = WordHashing().fit(texts)
        if kind == "static":
            encoder = Static(**featuriser.shape, **STATIC)
        else:
            encoder = StaticMlp(**featuriser.shape, **STATIC_MLP, scale=2.0)
        return Scorer(featuriser, encoder.eval(), decision, as_documents)

    return _trained


@pytest.fixture
def saved(trained, questions, tmp_path):
    """Saves a `static` model trained on the tiny questions; its folder."""

    def _saved(name, *, train=None, pretrained_on=(), **settings):
        folder = tmp_path / name / layout.MODEL
        data = {"name": questions.name, "train": questions.train_digest() if train is None else train}
        save_model(folder, trained("static", **settings), settings=STATIC, data=data, parameters=7)
        recipe = json.loads((folder / layout.RECIPE).read_text()) | {"pretrained_on": list(pretrained_on)}
        write_json(folder / layout.RECIPE, {key: recipe[key] for key in recipe if key != "seen"})
        return folder

    return _saved


def sides_of(corpus):
    texts = corpus.texts.to_pylist()
    return texts[:20], texts[20:40]


def log_odds(model, left, right):
    return model.decision.slope * model.score(left, right) + model.decision.intercept


def test_documents_are_scored_by_the_dot_product_of_search_vectors(trained, questions):
    members = {kind: trained(kind, as_documents=True) for kind in ("static", "static_mlp")}
    ensemble = Ensemble(members, Decision(0.0, 1.0, 0.0), True)
    left, right = sides_of(questions)
    dots = (ensemble.embed(left) * ensemble.embed(right)).sum(1)
    np.testing.assert_allclose(dots, ensemble.score(left, right), rtol=1e-5, atol=1e-5)
    cosines = [member.score(left, right) for member in members.values()]
    np.testing.assert_allclose(dots, 2.0 * np.mean(cosines, axis=0), rtol=1e-5, atol=1e-5)


def test_an_ensemble_with_a_member_for_pairs_alone_has_no_vectors(trained, questions):
    members = {kind: trained(kind) for kind in ("static", "static_mlp")}
    ensemble = Ensemble(members, Decision(0.0, 1.0, 0.0), False)
    with pytest.raises(TypeError, match="this ensemble scores pairs only"):
        ensemble.embed(["bank rate"])
    assert not ensemble.read(questions.texts_of("val")).searchable


def test_the_decision_is_chosen_on_validation_for_the_ensembles_own_score(trained, questions, tmp_path):
    members = {"one": trained("static"), "two": trained("static", seed=1, decision=Decision(0.0, 9.0, 2.0))}
    ensemble, _, metric, value = make_ensemble(
        members, questions, SELECTION, cached_rows(questions, tmp_path, key="key")
    )
    pairs, texts = questions.pairs["val"], questions.texts.to_pylist()
    scores = ensemble.score(*([texts[n] for n in side] for side in (pairs.left, pairs.right)))
    assert metric == "auroc"
    assert value == pytest.approx(ScoreCounts.of(scores, pairs.label).auroc())
    expected = decide(scores, pairs.label)
    np.testing.assert_allclose(list(asdict(ensemble.decision).values()), list(asdict(expected).values()), rtol=1e-4)


class Scores(TrainedModel):
    """A model that has a score for each pair of (left, left + 1) texts of a corpus, by the left one's number."""

    def __init__(self, scores, label):
        self.scores, self.as_documents = scores, False
        self.decision = decide(scores, label)

    def read(self, texts):
        raise NotImplementedError

    score_is_dot_product = searchable = False

    def read_corpus(self, rows_of):
        return self

    def score(self, left, right):
        return self.scores[left - left.min()].astype(np.float32)


def test_a_saved_ensemble_holds_its_members_and_gives_the_same_scores(saved, questions, tmp_path):
    models = {
        "one": saved("one", pretrained_on=["books"]),
        "two": saved("two", seed=1, decision=Decision(0.0, 9.0, 2.0), pretrained_on=["books", "news"]),
    }
    members = load_members(models, questions)
    rows_of = cached_rows(questions, tmp_path / "features", key="key")
    ensemble, thresholds, metric, value = make_ensemble(members, questions, SELECTION, rows_of)
    folder = tmp_path / "ensemble"
    data = {"name": questions.name, "train": questions.train_digest()}
    save_ensemble(folder, ensemble, models, thresholds=thresholds, metric=metric, value=value, data=data)
    for model in models.values():
        for file in model.iterdir():
            file.unlink()
    loaded = load_model(folder)
    sides = sides_of(questions)
    np.testing.assert_array_equal(loaded.score(*sides), ensemble.score(*sides))
    assert loaded.decision == ensemble.decision
    assert read_thresholds(folder) == thresholds
    assert thresholds is not None
    recipe = json.loads((folder / layout.RECIPE).read_text())
    assert recipe["members"] == ["one", "two"]
    assert recipe["pretrained_on"] == ["books", "news"]
    assert recipe["seen"] is None  # members of an earlier version do not say
    assert recipe["data"] == data
    assert json.loads((folder / layout.TRAINING).read_text())["parameters"] == 14
    with pytest.raises(ValueError, match="is an ensemble of one and two: choose the run of one of them"):
        load_scorer(folder)
    inner = {"ensemble": load_model(folder), "three": load_scorer(folder / layout.MEMBER_MODELS / "one")}
    expected = np.mean([log_odds(model, *sides) for model in inner.values()], axis=0)
    np.testing.assert_allclose(Ensemble(inner, ensemble.decision, False).score(*sides), expected, rtol=1e-4, atol=1e-6)


def test_a_member_without_a_model_or_of_another_split_is_refused(saved, questions, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"member two has no trained model in .*: train it first, or name"):
        load_members({"one": saved("one"), "two": tmp_path / "two"}, questions)
    with pytest.raises(ValueError, match="member other was trained on another train split"):
        load_members({"other": saved("other", train="0" * 64)}, questions)
    with pytest.raises(ValueError, match="member one was trained on another train split"):
        load_members({"one": tmp_path / "one" / layout.MODEL}, replace(questions, name="others"))


def test_fewer_than_two_members_or_one_that_scores_the_wrong_way_round_are_refused(trained):
    with pytest.raises(ValueError, match="at least two members of different names"):
        Ensemble({"one": trained("static")}, Decision(0.0, 1.0, 0.0), False)
    members = {"one": trained("static"), "two": trained("static", decision=Decision(0.0, -1.0, 0.0))}
    with pytest.raises(ValueError, match="a higher score of the ensemble's member two is not more alike"):
        Ensemble(members, Decision(0.0, 1.0, 0.0), False)


WEIGHTS = Weights((0.25, 3.0), -4.0)


@pytest.mark.parametrize("kinds", [("static", "static"), ("static", "tfidf"), ("tfidf", "tfidf")])
@pytest.mark.parametrize("weights", [None, WEIGHTS, Weights((0.0, 2.0), 1.0)])
def test_a_score_is_the_weighted_sum_and_the_dot_product_of_search_vectors(kinds, weights, trained, questions):
    decisions = Decision(0.5, 2.0, -1.0), Decision(3.0, 5.0, 3.0)
    members = {f"{n}": trained(k, seed=n, decision=d) for n, (k, d) in enumerate(zip(kinds, decisions))}
    ensemble = Ensemble(members, decisions[0], False, weights)
    left, right = sides_of(questions)
    each = np.stack([log_odds(member, left, right) for member in members.values()])
    expected = each.mean(axis=0) if weights is None else weights.members @ each + weights.intercept
    np.testing.assert_allclose(ensemble.score(left, right), expected, rtol=1e-5, atol=1e-5)
    one, other = ensemble.embed(left), ensemble.embed(right)
    assert sp.issparse(one) is any(kind == "tfidf" for kind, weight in zip(kinds, ensemble.stacked.members) if weight)
    dots = np.asarray((sp.csr_matrix(one).multiply(sp.csr_matrix(other))).sum(1)).ravel()
    np.testing.assert_allclose(dots + constant(ensemble), expected, rtol=1e-5, atol=1e-5)


def test_features_of_a_matcher_are_weighed_beside_the_scores_of_all_members(trained, questions):
    featuriser = FoldedCharacters().fit([])
    encoder = PairMatcher(**featuriser.shape, buckets=64, trees=0, leaves=2)
    members = {"static": trained("static"), "matcher": Scorer(featuriser, encoder, DECISION)}
    of_features = tuple(np.linspace(-1, 2, len(encoder.names)).tolist())
    left, right = sides_of(questions)
    plain = Ensemble(members, DECISION, False, Weights((0.5, 0.25), 1.0))
    ensemble = replace(plain, weights=Weights((0.5, 0.25), 1.0, of_features))
    rows = np.arange(2 * len(left))
    features = members["matcher"].read([*left, *right]).pair_features(rows[: len(left)], rows[len(left) :])
    expected = plain.score(left, right) + features @ np.array(of_features)
    np.testing.assert_allclose(ensemble.score(left, right), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=f"one weight for each of {len(encoder.names)} features of the members, got 1"):
        replace(plain, weights=Weights((0.5, 0.25), 1.0, (1.0,)))


def test_the_decision_of_a_stacked_ensemble_is_chosen_on_cross_fitted_scores(questions, monkeypatch):
    pairs, rng = questions.pairs["val"], np.random.default_rng(0)
    scores = [pairs.label + rng.standard_normal(len(pairs)) for _ in range(3)]
    members = {f"{n}": Scores(each, pairs.label) for n, each in enumerate(scores)}
    clusters = np.arange(len(questions)) // 3  # the pairs of the corpus hang together in one chain
    monkeypatch.setattr("twicetold_lab.scoring.ensembling.components", lambda count, left, right: clusters)
    ensemble, _, _, value = make_ensemble(members, questions, SELECTION, lambda f, m: None, stacking="logistic")
    odds = np.stack(
        [m.decision.slope * m.scores.astype(np.float32) + m.decision.intercept for m in members.values()], 1
    )
    fold = np.zeros(len(questions), np.int64)
    val = questions.members["val"]
    fold[val] = deal(clusters[questions.text_codes()][val])
    assert ensemble.weights.members == pytest.approx(fit_weights(odds, pairs.label).members)
    by_fold = cross_fit(odds, pairs.label, (fold[pairs.left], fold[pairs.right]))
    one, other = (np.array([by_fold[k].members for k in fold[side]]) for side in (pairs.left, pairs.right))
    ends = [np.array([by_fold[k].intercept for k in fold[side]]) for side in (pairs.left, pairs.right)]
    expected = (np.sqrt(one * other) * odds).sum(1) + np.mean(ends, axis=0)
    assert value == pytest.approx(ScoreCounts.of(expected, pairs.label).auroc())
    wanted = decide(expected.astype(np.float32), pairs.label)
    np.testing.assert_allclose(list(asdict(ensemble.decision).values()), list(asdict(wanted).values()), rtol=1e-3)
    with pytest.raises(ValueError, match="stacking=features needs a member that has features of a pair"):
        make_ensemble(members, questions, SELECTION, lambda f, m: None, stacking="features")


def test_texts_of_pairs_that_hang_together_are_in_one_fold(questions):
    pairs, code = questions.pairs["val"], questions.text_codes()
    cluster = components(len(questions), code[pairs.left], code[pairs.right])[code]
    assert len(np.unique(cluster[questions.members["val"]])) == 1
    members = {f"{n}": Scores(pairs.label + n, pairs.label) for n in range(2)}
    with pytest.raises(ValueError, match="cross-fitting needs at least two clusters"):
        make_ensemble(members, questions, SELECTION, lambda featuriser, member: None, stacking="logistic")


def test_stacked_documents_of_one_story_are_scored_with_the_weights_of_its_fold(trained, news, tmp_path):
    decisions = Decision(0.5, 2.0, -1.0), Decision(3.0, 5.0, 3.0)
    kinds = ("static", "tfidf")
    members = {k: trained(k, decision=d, as_documents=True) for k, d in zip(kinds, decisions)}
    rows_of = cached_rows(news, tmp_path, key="key")
    ensemble, _, metric, _ = make_ensemble(members, news, SELECTION, rows_of, stacking="logistic")
    assert metric == "auroc_category"
    assert min(ensemble.weights.members) >= 0
    weights, crossed = _stack(ensemble.read_corpus(rows_of), news, SELECTION)
    assert weights == ensemble.weights
    val, story = news.members["val"], news.groups["story"]
    left, right = (val[side] for side in np.nonzero(story[val][:, None] == story[val]))
    np.testing.assert_array_equal(crossed.fold[left], crossed.fold[right])
    assert len(np.unique(crossed.fold[val])) == len(crossed.weights)
    each = ensemble.read_corpus(rows_of).log_odds(left, right)
    expected = (each * np.array([w.members for w in crossed.weights])[crossed.fold[left]]).sum(1)
    np.testing.assert_allclose(crossed.score(left, right), expected, rtol=1e-5, atol=1e-6)
    one, other = ((sp.csr_matrix(crossed.search_matrices(side)[0])) for side in (left, right))
    np.testing.assert_allclose(np.asarray(one.multiply(other).sum(1)).ravel(), expected, rtol=1e-4, atol=1e-5)


def test_documents_without_a_group_that_is_no_class_cannot_be_stacked(trained, news, tmp_path):
    members = {kind: trained(kind, as_documents=True) for kind in ("static", "tfidf")}
    rows_of = cached_rows(news, tmp_path, key="key")
    selection = replace(SELECTION, classes=list(news.groups))
    with pytest.raises(
        ValueError, match=r"needs documents with a group of those that are duplicates, .* use stacking=mean"
    ):
        make_ensemble(members, news, selection, rows_of, stacking="logistic")
    with pytest.raises(ValueError, match="stacking must be one of mean, logistic, features; got 'median'"):
        make_ensemble(members, news, selection, rows_of, stacking="median")


def test_stored_weights_are_those_of_the_loaded_ensemble_and_others_are_refused(saved, questions, tmp_path):
    models = {"one": saved("one"), "two": saved("two", seed=1, decision=Decision(0.0, 9.0, 2.0))}
    ensemble = Ensemble(load_members(models, questions), DECISION, False, WEIGHTS)
    folder = tmp_path / "stacked"
    data = {"name": "questions", "train": "0"}
    save_ensemble(folder, ensemble, models, thresholds=None, metric="auroc", value=0.5, data=data)
    loaded, sides = load_model(folder), sides_of(questions)
    assert loaded.weights == WEIGHTS
    np.testing.assert_array_equal(loaded.score(*sides), ensemble.score(*sides))
    recipe = json.loads((folder / layout.RECIPE).read_text())
    config = {"members": ["one", "two"], "stacking": "logistic"}
    assert other_parts(folder, config) == []
    assert other_parts(folder, config | {"stacking": "mean"}) == ["stacking"]
    mark = fingerprint(folder)
    refused = [
        {"weights": [1.0]},
        {"weights": [1.0, -1.0]},
        {"weights": [0.0, 0.0]},
        {"weights": None},
        {"intercept": float("inf")},
        {"stacking": "median"},
        {"stacking": "features"},
        {"stacking": "features", "feature_weights": [1.0]},
    ]
    for wrong in refused:
        write_json(folder / layout.RECIPE, recipe | wrong)
        with pytest.raises(ValueError, match=r"cannot load the model in .*expected"):
            load_model(folder)
    write_json(folder / layout.RECIPE, recipe | {"weights": [2.0, 3.0]})
    assert fingerprint(folder) != mark
    write_json(folder / layout.RECIPE, {key: recipe[key] for key in recipe if key not in ("stacking", "weights")})
    assert load_model(folder).stacked == Weights.mean(2)
