"""Decisions by label: which can answer, and what is kept of them."""

import json

import numpy as np
import pytest

from twicetold.evaluation.decision import Decision, decide, decide_counts
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.labels import Decisions, LabelDecision, NoVerdict
from twicetold.evaluation.ranking import ScoreCounts
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.scoring.deciding import decisions_of


def documents(seed, stories=50):
    """Stories of four documents that lie close to each other, in three categories that do not."""
    rng = np.random.default_rng(seed)
    story = np.repeat(np.arange(stories), 4)
    vectors = rng.normal(size=(stories, 40))[story] + 0.5 * rng.normal(size=(len(story), 40))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return DocumentVectors(vectors, vectors, {"category": rng.integers(0, 3, stories)[story], "story": story})


def test_documents_have_a_decision_about_each_label_and_verdicts_are_about_the_finest():
    val = documents(1)
    found = decisions_of(Selection(), "documents", val)
    assert (found.primary, found.finest, list(found.labels)) == ("category", "story", ["category", "story"])
    assert found.selected == decisions_of(Selection(), "documents", val).selected
    upper = np.triu_indices(len(val), 1)
    scores = (val.left @ val.right.T)[upper]
    for name, each in found.labels.items():
        truth = np.equal.outer(val.groups[name], val.groups[name])[upper]
        said = each.stored.duplicate(scores)
        assert each.same == pytest.approx(truth.mean())
        assert each.called == pytest.approx(said.mean(), abs=1e-3)
        assert each.right == pytest.approx(truth[said].mean(), abs=1e-3)
    assert found.of() is found.labels["story"]
    assert found.of().usable.duplicate(scores).mean() == pytest.approx(found.of().same, rel=0.2)


def test_a_threshold_that_calls_everything_the_same_gives_no_verdict():
    rng = np.random.default_rng(0)
    counts = ScoreCounts.of(rng.random(2000), rng.random(2000) < 0.3)
    found = LabelDecision.of("category", decide_counts(counts, aim="f1"), counts)
    assert found.called > 0.9
    assert isinstance(found.stored, Decision)
    with pytest.raises(NoVerdict, match=r"no verdict about category: on validation, where 29\.7% of all pairs"):
        _ = found.usable


def test_a_threshold_that_calls_nothing_or_more_than_twice_as_many_the_same_gives_no_verdict():
    counts = ScoreCounts.of([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 0, 0, 1, 0])
    assert LabelDecision.of("story", Decision(0.65, 1.0, 0.0), counts).no_verdict
    assert LabelDecision.of("story", Decision(0.35, 1.0, 0.0), counts).no_verdict
    assert LabelDecision.of("story", Decision(0.45, -1.0, 0.0), counts).no_verdict  # probabilities fall with the score
    assert not LabelDecision.of("story", Decision(0.45, 1.0, 0.0), counts).no_verdict


def test_a_label_that_no_two_documents_share_gives_no_verdict_and_the_others_do():
    val = documents(1)
    alone = DocumentVectors(val.left, val.right, {**val.groups, "story": np.arange(len(val))})
    found = decisions_of(Selection(), "documents", alone)
    assert found.selected == decisions_of(Selection(), "documents", val).selected
    with pytest.raises(NoVerdict, match="no verdict about story: validation had no two texts of one story"):
        _ = found.of().usable
    assert Decisions.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_what_is_written_is_what_is_read_and_pairs_keep_the_three_numbers_alone():
    found = decisions_of(Selection(), "documents", documents(2))
    assert Decisions.from_json(json.loads(json.dumps(found.to_json()))) == found
    pairs = Decisions.about("duplicate", decide([0.1, 0.9], [0, 1]))
    assert set(pairs.to_json()) == {"threshold", "slope", "intercept"}
    assert pairs.of().usable == pairs.selected


def test_a_changed_decision_answers_and_leaves_the_primary_one_as_it_was():
    found = decisions_of(Selection(), "documents", documents(2))
    new = Decision(0.5, 3.0, -1.0)
    changed = found.changed("story", new)
    assert changed.of().usable == new
    assert changed.selected == found.selected


def test_a_label_that_is_not_there_is_refused_with_those_that_are():
    found = decisions_of(Selection(), "documents", documents(2))
    with pytest.raises(ValueError, match="about 'publisher': expected one of the labels category, story"):
        found.of("publisher")


DECISION = {"threshold": 0.5, "slope": 1.0, "intercept": 0.0, "same": 0.1, "called": 0.1, "right": 0.9}


@pytest.mark.parametrize(
    "labels",
    [
        [],
        {},
        {"category": DECISION},
        {"category": None, "story": DECISION},
        {"category": DECISION, "story": 3},
        {"category": DECISION, "story": {**DECISION, "slope": None}},
        {"category": DECISION, "story": {**DECISION, "slope": 10**400}},
        {"category": DECISION, "story": {**DECISION, "same": 1.5}},
        {"category": DECISION, "story": {**DECISION, "called": "0.1"}},
        {"category": DECISION, "story": {**DECISION, "further": 1}},
    ],
)
def test_a_file_that_holds_something_else_is_refused(labels):
    with pytest.raises(ValueError, match=r"expected|a decision has"):
        Decisions.from_json({"primary": "category", "finest": "story", "labels": labels})
