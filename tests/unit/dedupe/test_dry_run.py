"""What a dedupe would find, by threshold."""

import numpy as np
import pytest

import twicetold
from twicetold.dedupe.dry_run import rounded
from twicetold.neighbours.rules import RULES


@pytest.fixture
def many(questions):
    return questions.texts.to_pylist() * 2


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["calibrated", "fitted", "limited"])
def test_each_row_is_what_a_dedupe_at_its_threshold_finds(kind, rule, run, many):
    model = twicetold.fit(many, lexical=True) if kind == "fitted" else twicetold.load(run("static"))
    options = {"same": [np.arange(len(many)) % 2]} if kind == "limited" else {}
    found = model.dry_run(many, rule=rule, **options)
    assert 8 <= len(found.at) <= 10
    assert sum(row.chosen for row in found.at) == 1
    thresholds = [row.threshold for row in found.at]
    assert thresholds == sorted(set(thresholds))
    for row in found.at:
        asked = {} if row.chosen else {"threshold": row.threshold}
        counts = (done := model.dedupe(many, rule=rule, **options, **asked)).summary.counts
        assert row.score == done.summary.threshold.score
        expected = (counts.links, counts.groups, counts.grouped, counts.largest)
        assert (row.links, row.groups, row.grouped, row.largest) == expected
        assert row.dropped == len(many) - len(done.kept())
        assert (found.texts, found.distinct) == (counts.texts, counts.distinct)


def test_a_threshold_or_a_precision_is_the_chosen_row(run, many):
    found = twicetold.load(run()).dry_run(many, threshold=0.3)
    assert [row.threshold for row in found.at if row.chosen] == pytest.approx([0.3])
    with pytest.raises(ValueError, match="holds no thresholds for a precision"):
        twicetold.load(run()).dry_run(many, precision=0.9)


@pytest.mark.parametrize(
    ("value", "short"), [(0.1234, 0.12), (0.98765, 0.988), (0.00123456, 0.0012), (0.99987, 0.99987), (0.5, 0.5)]
)
def test_thresholds_have_few_digits(value, short):
    assert rounded(value) == short


def test_nothing_is_found_where_nothing_is_alike():
    texts = [f"word{n} term{n}" for n in range(3)]
    found = twicetold.fit(texts, lexical=True).dry_run(texts, threshold=0.9)
    assert {(row.groups, row.grouped, row.largest, row.dropped) for row in found.at if row.chosen} == {(0, 0, 1, 0)}
    assert np.all([row.largest >= 1 for row in found.at])
