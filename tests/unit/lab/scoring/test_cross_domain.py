"""A model on the test texts of another dataset, against naive loops over its pairs."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.labels import Decisions, LabelDecision
from twicetold.features.tfidf import TfIdf
from twicetold.models.tfidf import TfIdfCosine
from twicetold.trained.ensemble import Ensemble, Weights
from twicetold.trained.scoring import Scorer
from twicetold_lab.data.corpus import Corpus, Pairs
from twicetold_lab.evaluation.evaluators import Standard
from twicetold_lab.scoring import cross_domain
from twicetold_lab.scoring.cross_domain import evaluate_cross_domain, shared_texts

EVALUATOR = Standard(resamples=50)


@pytest.fixture
def model(news):
    featuriser = TfIdf().fit(news.texts_of("train"))
    return Scorer(featuriser, TfIdfCosine(**featuriser.shape), Decision(0.2, 4.0, -1.0))


@pytest.fixture
def headlines(news):
    """The news under another name, whose test texts no other corpus of these tests learns from."""
    return replace(news, name="headlines", texts=pa.array([f"{text} today" for text in news.texts.to_pylist()]))


@pytest.fixture
def graded(questions):
    pairs = {split: Pairs(p.left, p.right, 1 + 3 * p.label) for split, p in questions.pairs.items()}
    return replace(questions, name="graded", kind="graded_pairs", pairs=pairs, card={"positive_grade": 4.0})


def all_pairs(model: Scorer | Ensemble, corpus: Corpus):
    texts, story = corpus.texts_of("test"), corpus.groups["story"][corpus.members["test"]]
    left, right = np.array(list(combinations(range(len(texts)), 2))).T
    score = model.score([texts[i] for i in left], [texts[i] for i in right])
    return score, story[left] == story[right]


def of_test(model, corpus):
    texts, pairs = corpus.texts.to_pylist(), corpus.pairs["test"]
    return model.score(*([texts[row] for row in side] for side in (pairs.left, pairs.right)))


def test_documents_are_ranked_and_linked_over_all_pairs(model, headlines):
    found, (score, same) = evaluate_cross_domain(model, headlines, EVALUATOR), all_pairs(model, headlines)
    assert found.metrics["average_precision_story"] == pytest.approx(average_precision_score(same, score), abs=1e-3)
    assert found.metrics["f1"] == pytest.approx(f1_score(same, score >= 0.2))
    assert found.metrics["same_share"] == pytest.approx(same.mean())
    assert found.intervals["f1"][0] <= found.metrics["f1"] <= found.intervals["f1"][1]
    assert "accuracy" not in found.metrics  # of 1 duplicate in 500 pairs, "different" is right for all others


def test_labelled_pairs_are_decided_by_the_threshold_that_the_model_brings(model, questions, monkeypatch):
    of_few_units = evaluate_cross_domain(model, questions, EVALUATOR).intervals
    assert set(of_few_units) == {"average_precision_cluster", "text_average_precision_cluster"}
    monkeypatch.setattr("twicetold.evaluation.intervals.FEWEST_UNITS", 0)
    found, score = evaluate_cross_domain(model, questions, EVALUATOR), of_test(model, questions)
    truth = questions.pairs["test"].label == 1
    assert found.metrics["accuracy"] == pytest.approx(accuracy_score(truth, score >= 0.2))
    assert found.metrics["f1"] == pytest.approx(f1_score(truth, score >= 0.2))
    assert "average_precision_cluster" in found.metrics
    assert set(found.intervals) == set(found.metrics) - {"same_share"}


def test_graded_pairs_are_decided_at_the_positive_grade(model, graded):
    found, score = evaluate_cross_domain(model, graded, EVALUATOR), of_test(model, graded)
    grade = graded.pairs["test"].label
    assert found.metrics["pearson"] == pytest.approx(np.corrcoef(score, grade)[0, 1])
    assert found.metrics["accuracy"] == pytest.approx(accuracy_score(grade >= 4, score >= 0.2))


def test_the_threshold_of_an_ensemble_holds_for_its_vectors_up_to_the_constant_of_its_scores(model, headlines):
    decision = Decision(0.0, 1.0, 0.0)
    both = Ensemble({"a": model, "b": replace(model)}, decision, False, Weights((0.5, 1.5), -0.3))
    score, same = all_pairs(both, headlines)
    both = replace(both, decision=replace(decision, threshold=float(np.quantile(score, 0.9)) + 1e-3))
    found = evaluate_cross_domain(both, headlines, EVALUATOR)
    assert found.metrics["f1"] == pytest.approx(f1_score(same, score >= both.decision.threshold))
    assert 0 < found.metrics["f1"] < 1


def test_a_model_without_a_verdict_is_ranked_and_decides_nothing(model, headlines):
    useless = LabelDecision("story", Decision(0.0, 4.0, -1.0), same=0.01, called=1.0, right=0.01)
    silent = replace(model, as_documents=True, by_label=Decisions({"story": useless}, "story", "story"))
    found = evaluate_cross_domain(silent, headlines, EVALUATOR).metrics
    assert set(found) == {"average_precision_story", "text_average_precision_story", "same_share"}


def test_texts_that_both_have_are_counted_and_data_that_share_many_are_refused(news, headlines, monkeypatch):
    assert shared_texts(headlines, news) == 0
    texts = news.texts.to_pylist()
    again = replace(headlines, texts=pa.array([texts[48], *headlines.texts.to_pylist()[1:]]))
    with pytest.raises(ValueError, match="1 of the 12 test texts of news are texts of train or validation of headli"):
        shared_texts(again, news)
    monkeypatch.setattr(cross_domain, "MOST_SHARED", 0.1)
    assert shared_texts(again, news) == 1
