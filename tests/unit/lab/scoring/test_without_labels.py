"""The default is evaluated as `dedupe` makes groups, on the units of all other models."""

from dataclasses import replace

import numpy as np
import pytest

import twicetold
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.evaluation.group_metrics import group_scores
from twicetold.matching.generic import generic_matcher
from twicetold_lab.evaluation.evaluators import Standard
from twicetold_lab.matching.sources import kind_of
from twicetold_lab.scoring.without_labels import WithoutLabels, _matcher, row_pairs

EVALUATOR = Standard(resamples=50)


def test_documents_are_grouped_as_dedupe_groups_them_and_answers_help(news):
    report, scored = WithoutLabels(answers=(5,)).report(news, EVALUATOR)
    texts, story = news.texts_of("test"), news.groups["story"][news.members["test"]]
    expected = group_scores(twicetold.fit(texts).dedupe(texts).group, story)
    test = report.metrics["test"]
    assert not scored
    assert (test["b3_average"], test["ari_average"]) == pytest.approx((expected.b3, expected.ari))
    assert set(report.units) == {"text_average_precision_story", *(n for n in test if n.startswith("b3_"))}
    assert {"b3_after_5", "b3_calibrated", "average_precision_story"} < set(test)
    assert 0 < report.metrics["val"]["text_average_precision_story"] <= 1


def test_labelled_pairs_are_scored_by_their_probability_within_the_file(questions):
    report, scored = WithoutLabels(answers=()).report(questions, EVALUATOR)
    pairs = questions.pairs["test"]
    texts = questions.texts.to_pylist()
    left, right = ([texts[row] for row in side] for side in (pairs.left, pairs.right))
    model = twicetold.fit(questions.texts_of("test"))
    np.testing.assert_allclose(scored["test"].score, model.predict_proba(left, right), atol=1e-6)
    right = (scored["test"].score >= 0.5) == (pairs.label == 1)
    assert report.metrics["test"]["accuracy_without_labels"] == pytest.approx(right.mean())
    assert {"accuracy", "f1", "text_average_precision_cluster"} < set(report.units) | {"accuracy"}


def test_pairs_of_rows_are_those_of_their_texts_and_equal_texts_come_first():
    texts = ["red shoe 42", "Red shoe, 42", "red shoe 43", "red shoe 42", "a tent"]
    distinct, ends = DistinctTexts.of(texts), (np.array([0, 1, 0]), np.array([1, 2, 3]))
    score = np.arange(3.0)
    left, right, value = row_pairs(distinct, ends, score)
    found = {tuple(sorted(pair)): each for *pair, each in zip(left.tolist(), right.tolist(), value, strict=True)}
    assert len(found) == len(left)
    place = distinct.place
    for (one, other), each in found.items():
        if place[one] == place[other]:
            assert each == score.max() + 1
        else:
            assert score[[*zip(*ends, strict=True)].index(tuple(sorted((place[one], place[other]))))] == each


def test_data_of_a_kind_that_the_matcher_learnt_from_are_judged_by_one_that_did_not(news):
    assert (kind_of("abt_buy"), kind_of("quora_wang"), kind_of("uci_news")) == ("products", "questions", "")
    generic = generic_matcher(vectors=True)
    assert len(_matcher("abt_buy").kinds) == len(generic.kinds) - 1
    assert np.array_equal(_matcher("uci_news").coefficients, generic.coefficients)
    with pytest.raises(ValueError, match="of which some are duplicates"):
        WithoutLabels().report(replace(news, groups={"category": news.groups["category"]}), EVALUATOR)
