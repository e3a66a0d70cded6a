"""The report as a whole: names, and that the stored decision is all that is used of a threshold."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf
from sklearn.metrics import f1_score

from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs
from twicetold_lab.evaluation.evaluators import Standard
from twicetold_lab.evaluation.retrieval import CorpusSearch
from twicetold_lab.scoring.deciding import decisions_of

CONFIG = Path(__file__).parents[4] / "conf" / "evaluation.yaml"
EVALUATOR = Standard(resamples=100)


def pairs(seed, count=300):
    rng = np.random.default_rng(seed)
    label = (rng.random(count) < 0.4).astype(np.float32)
    return ScoredPairs((rng.normal(size=count) + label).astype(np.float32), label)


def graded(seed, count=300):
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 51, count) / 10
    return ScoredPairs(grade + rng.normal(size=count), grade)


def news(seed, stories=50):
    rng = np.random.default_rng(seed)
    story = np.repeat(np.arange(stories), 4)
    category = rng.integers(0, 3, stories)[story]
    vectors = rng.normal(size=(len(story), 6)) + np.eye(3, 6)[category] + rng.normal(size=(stories, 6))[story]
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return DocumentVectors(vectors, vectors, {"category": category, "story": story})


def decided(kind, val, evaluator=EVALUATOR):
    return decisions_of(evaluator.selection, kind, val, positive_grade=4.0).selected


def run(kind, val, test, evaluator=EVALUATOR, decision=None):
    decision = decided(kind, val, evaluator) if decision is None else decision
    return evaluator.report(kind, val=val, test=test, decision=decision, positive_grade=4.0)


KINDS = [("labelled_pairs", pairs), ("graded_pairs", graded), ("documents", news)]


@pytest.mark.parametrize(
    ("kind", "make", "names", "curves"),
    [
        (
            *KINDS[0],
            "auroc average_precision accuracy f1 mcc threshold precision recall log_loss brier",
            "duplicate",
        ),
        (*KINDS[1], "pearson spearman auroc threshold", "duplicate"),
        (
            *KINDS[2],
            "auroc_category auroc_story average_precision_category average_precision_story precision_at_10_story "
            "recall_at_10_story knn_accuracy_category f1_category threshold",
            "category story",
        ),
    ],
)
def test_every_measure_has_its_name_on_both_splits_and_intervals_hold_the_test_values(kind, make, names, curves):
    report = run(kind, make(1), make(2))
    assert set(report.metrics) == {"val", "test"}
    for values in report.metrics.values():
        assert set(values) == set(names.split())
        assert all(type(value) is float and np.isfinite(value) for value in values.values())
    assert set(report.curves) == set(curves.split())
    assert set(report.intervals) == {"test"}
    assert set(report.intervals["test"]) >= set(names.split()) - {"threshold", "f1_category"}
    for name, (low, high) in report.intervals["test"].items():
        assert low <= report.metrics["test"][name] <= high, name


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_test_labels_and_scores_cannot_influence_the_validation_metrics(kind, make):
    val, test = make(1), make(2)
    if kind == "documents":
        rng = np.random.default_rng(0)
        groups = {name: rng.permutation(codes) for name, codes in test.groups.items()}
        other = DocumentVectors(-test.left, test.right, groups)
    else:
        other = ScoredPairs(-3 * test.score, np.random.default_rng(0).permutation(test.label))
    one, two = run(kind, val, test), run(kind, val, other)
    assert one.metrics["val"] == two.metrics["val"]
    assert one.metrics["test"]["threshold"] == two.metrics["test"]["threshold"]
    assert one.metrics["test"] != two.metrics["test"]


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_stored_decision_is_reported_even_where_validation_has_a_better_one(kind, make):
    val, test = make(1), make(2)
    best = decided(kind, val)
    stored = replace(best, threshold=best.threshold + 0.4)
    one, two = run(kind, val, test), run(kind, val, test, decision=stored)
    for split in ("val", "test"):
        assert two.metrics[split]["threshold"] == stored.threshold
    measure = {"labelled_pairs": "accuracy", "documents": "f1_category"}.get(kind)
    if measure is not None:
        assert two.metrics["val"][measure] < one.metrics["val"][measure]


def test_the_reported_accuracy_is_attained_by_the_reported_threshold():
    val, test = pairs(1), pairs(2)
    report = run("labelled_pairs", val, test)
    for split, one in (("val", val), ("test", test)):
        attained = np.mean((one.score >= report.metrics[split]["threshold"]) == one.label.astype(bool))
        assert attained == report.metrics[split]["accuracy"]


def test_the_reported_f1_of_documents_is_attained_by_the_reported_threshold():
    val, test = news(1), news(2)
    decision = decided("documents", val)
    report = EVALUATOR.documents(val, test, decision=decision)
    upper = np.triu_indices(len(test), 1)
    said = (test.left @ test.right.T)[upper] >= decision.threshold
    truth = np.equal.outer(test.groups["category"], test.groups["category"])[upper]
    expected = 2 * (said & truth).sum() / (said.sum() + truth.sum())
    assert report.metrics["test"]["f1_category"] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_the_value_that_steers_training_is_the_one_in_the_report(kind, make):
    name, value = EVALUATOR.selection.primary_value(kind, make(1))
    assert name == EVALUATOR.primary[kind]
    assert value == pytest.approx(run(kind, make(1), make(2)).metrics["val"][name], abs=1e-12)


@pytest.mark.parametrize(("kind", "make"), KINDS[:2])
def test_pairs_of_one_unit_are_measured_without_intervals(kind, make):
    val, test = make(1), make(2)
    one = EVALUATOR.report(
        kind,
        val=val,
        test=test,
        decision=decided(kind, val),
        positive_grade=4.0,
        units=np.zeros(len(test.score), np.int64),
    )
    assert one.metrics == run(kind, val, test).metrics
    assert one.intervals == {"test": {}}


def test_the_top_of_the_ranking_may_steer_training():
    primary = {"documents": "average_precision_story", "labelled_pairs": "auroc", "graded_pairs": "pearson"}
    evaluator = Standard(resamples=100, primary=primary)
    report = run("documents", news(1), news(2), evaluator)
    name, value = evaluator.selection.primary_value("documents", news(1))
    assert name == "average_precision_story"
    assert value == pytest.approx(report.metrics["val"][name])
    assert "f1_story" in report.metrics["test"]
    with pytest.raises(ValueError, match=r"primary\.documents must be one of"):
        Standard(primary={**primary, "documents": "f1_story"})


def test_documents_with_one_group_of_another_name_are_steered_by_it():
    vectors = news(1)
    own = DocumentVectors(vectors.left, vectors.right, {"topic": vectors.groups["story"]})
    assert EVALUATOR.selection.primary_value("documents", own)[0] == "auroc_topic"
    report = run("documents", own, own)
    assert {"auroc_topic", "precision_at_10_topic", "f1_topic"} <= set(report.metrics["test"])
    classes = run("documents", own, own, Standard(classes=["topic"]))
    assert {"auroc_topic", "knn_accuracy_topic"} <= set(classes.metrics["test"])
    several = DocumentVectors(vectors.left, vectors.right, {"a": own.groups["topic"], "b": own.groups["topic"]})
    with pytest.raises(ValueError, match=r"names 'category', but the groups are \['a', 'b'\]"):
        EVALUATOR.selection.primary_value("documents", several)


def test_documents_of_unknown_story_are_evaluated_for_their_category():
    vectors = news(1)
    vectors.groups["story"][:40] = -1
    report = run("documents", vectors, vectors)
    assert (
        report.metrics["test"]["knn_accuracy_category"]
        == run("documents", news(1), news(1)).metrics["test"]["knn_accuracy_category"]
    )
    assert set(report.intervals["test"]) >= {"auroc_story", "precision_at_10_story"}


def test_a_published_threshold_is_judged_beside_that_of_validation_and_changes_nothing_else():
    val, test = pairs(1), pairs(2)
    threshold = float(np.median(test.score))
    report = run("labelled_pairs", val, test, Standard(resamples=100, published_threshold=threshold))
    plain = run("labelled_pairs", val, test)
    metrics, said = report.metrics["test"], test.score >= threshold
    assert metrics["published_threshold"] == threshold
    assert metrics["accuracy_at_published_threshold"] == np.mean(said == test.label)
    assert metrics["f1_at_published_threshold"] == pytest.approx(f1_score(test.label, said))
    for name in ("accuracy_at_published_threshold", "f1_at_published_threshold"):
        low, high = report.intervals["test"][name]
        assert low < metrics[name] < high
    assert {n: v for n, v in metrics.items() if "published" not in n} == plain.metrics["test"]


def test_inputs_that_cannot_be_evaluated_are_refused():
    val = pairs(1)
    with pytest.raises(ValueError, match="both classes"):
        run("labelled_pairs", val, ScoredPairs(val.score, np.ones(len(val))))
    with pytest.raises(ValueError, match="both classes"):
        decisions_of(EVALUATOR.selection, "graded_pairs", graded(1), positive_grade=9.0)
    with pytest.raises(ValueError, match="both classes"):
        EVALUATOR.graded_pairs(graded(1), graded(2), decision=decided("graded_pairs", graded(1)), positive_grade=9.0)
    with pytest.raises(ValueError, match="val has the groups"):
        run("documents", news(1), DocumentVectors(news(2).left, news(2).left, {"story": news(2).groups["story"]}))
    for call in (EVALUATOR.selection.primary_value, partial(decisions_of, EVALUATOR.selection)):
        with pytest.raises(ValueError, match="does not go with ScoredPairs"):
            call("documents", val)
    with pytest.raises(ValueError, match="does not go with ScoredPairs"):
        run("documents", val, val, decision=decided("labelled_pairs", val))
    with pytest.raises(ValueError, match=r"primary\.labelled_pairs must be one of"):
        Standard(primary={"documents": "auroc_category", "labelled_pairs": "f1", "graded_pairs": "pearson"})


def test_the_evaluator_of_conf_is_the_default_one():
    leaf = OmegaConf.to_container(OmegaConf.load(CONFIG), resolve=True)["evaluator"]
    assert leaf.pop("_target_") == "twicetold_lab.evaluation.evaluators.Standard"
    assert leaf.pop("_convert_") == "all"
    leaf |= {name: tuple(leaf[name]) for name in ("classes", "splits")}
    leaf["corpus_search"] |= {name: tuple(leaf["corpus_search"][name]) for name in ("at", "ndcg_at")}
    assert leaf["corpus_search"].pop("_target_") == f"{CorpusSearch.__module__}.{CorpusSearch.__name__}"
    leaf["corpus_search"] = CorpusSearch(**leaf["corpus_search"])
    assert Standard(**leaf) == Standard()


def test_documents_of_train_are_measured_over_all_pairs_as_those_of_test_and_change_nothing_else():
    val, test = news(1), news(2)
    decision = decided("documents", val)
    plain = run("documents", val, test, decision=decision)
    report = EVALUATOR.report("documents", val=val, test=test, train=test, decision=decision)
    train = report.metrics.pop("train")
    assert train == {n: v for n, v in plain.metrics["test"].items() if n.startswith(("auroc", "average_precision"))}
    assert (report.metrics, report.intervals) == (plain.metrics, plain.intervals)
    for name in ("category", "story"):
        assert report.curves[f"{name} (train)"].area == report.curves[name].area == plain.curves[name].area


def test_splits_other_than_these_and_a_train_split_of_pairs_are_refused():
    with pytest.raises(ValueError, match=r"evaluator.splits is .* got \['train', 'test'\]"):
        Standard(splits=["train", "test"])
    with pytest.raises(ValueError, match="train is measured of documents alone"):
        EVALUATOR.report("labelled_pairs", val=pairs(1), test=pairs(2), train=pairs(3), decision=None)
