import json
import math
from dataclasses import replace

import numpy as np
import pytest

from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.intervals import mcnemar, paired_auroc_test, spearman_statistic
from twicetold.reporting.comparison import paired, paired_verdicts
from twicetold.reporting.model_card import read_about
from twicetold.reporting.side_by_side import NOT_EVALUATED, SAME, UNPAIRED, Entry, as_page, as_text, side_by_side
from twicetold.runs.records import SampledPairs

PAIRS = 300
RECIPE = {"encoder": {"_target_": "twicetold.models.dae.DenoisingAutoencoder"}, "features": {}, "as_documents": False}


def entry(
    tmp_path, name, *, val, settings=None, separation=None, data="questions", primary="auroc", seed=0, pairs=PAIRS
):
    folder = tmp_path / name
    (folder / layout.MODEL).mkdir(parents=True)
    about = {"name": data, "train": f"digest of {data}"}
    write(folder / layout.MODEL / layout.RECIPE, {**RECIPE, "data": about})
    write(folder / layout.MODEL / layout.DECISION, {"threshold": 0.5, "slope": 4.0, "intercept": -2.0})
    write(folder / layout.MODEL / layout.TRAINING, {"metric": primary, "best_value": val})
    scores = None
    if separation is not None:
        label = np.random.default_rng(0).integers(0, 2, pairs).astype(float)
        scores = SampledPairs(
            0.5 + separation * (label - 0.5) + np.random.default_rng(seed).normal(0, 0.3, pairs), label
        )
        test = {primary: 0.8, "accuracy": 0.7, "threshold": 0.5}
        write(folder / layout.METRICS, {"val": {primary: val}, "test": test})
        write(folder / layout.SUMMARY, {"intervals": {primary: [0.75, 0.85]}})
    known = {"model": "dae", "seed": 0} if settings is None else settings
    return Entry(name, read_about(folder), known, scores)


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")


def test_runs_are_ranked_on_validation_and_tested_against_the_best(tmp_path):
    weak = entry(tmp_path, "weak", val=0.7, separation=0.2)
    best = entry(tmp_path, "best", val=0.9, separation=0.6)
    found = side_by_side([weak, best])
    assert [one.name for one in found.entries] == ["best", "weak"]
    expected = paired_auroc_test(best.scores.score, weak.scores.score, best.scores.label)
    right = [(one.scores.score >= 0.5) == (one.scores.label > 0.5) for one in (best, weak)]
    assert found.tests == ({}, {"auroc": expected, "accuracy": mcnemar(*right)})
    text = as_text(found)
    assert f"{expected.difference:+.4f}" in text
    assert "not corrected for the number of comparisons" in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(("metric", "ends"), [("auroc", (-1, 1)), ("pearson", (-2, 2))])
def test_runs_whose_pairs_are_one_unit_are_not_told_apart(metric, ends):
    rng, label = np.random.default_rng(3), np.arange(200) % 2.0
    good, bad = (SampledPairs(rng.normal(label, noise), label, np.zeros(200, int)) for noise in (0.1, 3))
    found = paired(metric, good, bad)
    assert found.difference > 0.3
    assert (found.low, found.high) == ends
    assert not found.p_value < 1


def test_accuracy_is_compared_as_the_note_says_where_pairs_share_texts_and_where_none_do(tmp_path):
    runs = [entry(tmp_path, name, val=val, separation=val - 0.3) for name, val in (("best", 0.9), ("weak", 0.7))]
    right = [(one.scores.score >= 0.5) == (one.scores.label > 0.5) for one in runs]
    alone, shared = np.arange(PAIRS), np.arange(PAIRS) // 3
    for units, by_mcnemar in ((alone, True), (shared, False)):
        of_units = [replace(one, scores=replace(one.scores, units=units)) for one in runs]
        found = side_by_side(of_units)
        assert (found.tests[1]["accuracy"] == mcnemar(*right)) == by_mcnemar
    assert "accuracy is compared by Student's t, not by McNemar's test" in " ".join(as_text(found).split())


def test_another_run_can_be_the_one_to_compare_with(tmp_path):
    runs = [entry(tmp_path, name, val=val, separation=0.5) for name, val in (("a", 0.9), ("b", 0.8), ("c", 0.7))]
    found = side_by_side(runs, against="b")
    assert [one.name for one in found.entries] == ["b", "a", "c"]
    assert [bool(tests) for tests in found.tests] == [False, True, True]
    assert as_text(found).splitlines()[0].endswith("3 runs, b, then the others by validation")
    assert as_text(side_by_side(runs)).splitlines()[0].endswith("3 runs, best on validation first")
    with pytest.raises(ValueError, match=r"no run is called 'd': expected one of \['a', 'b', 'c'\]"):
        side_by_side(runs, against="d")


def test_only_settings_that_differ_are_shown(tmp_path):
    same = {"model": "dae", "seed": 0, "trainer.epochs": 30}
    one = entry(tmp_path, "one", val=0.9, settings={**same, "objective.alpha": 10, "trainer.patience": 5})
    two = entry(tmp_path, "two", val=0.8, settings={**same, "objective.alpha": 100})
    found = side_by_side([one, two])
    assert found.differing == {"objective.alpha": (10, 100), "trainer.patience": (5, None)}
    assert "trainer.epochs" not in as_text(found) + as_page(found)


def test_of_two_families_only_settings_that_both_have_are_shown(tmp_path):
    one = entry(tmp_path, "one", val=0.9, settings={"model": "dae", "objective.alpha": 10, "optimizer.lr": 0.1})
    two = entry(tmp_path, "two", val=0.8, settings={"model": "static", "optimizer.lr": 0.2})
    assert side_by_side([one, two]).differing == {"model": ("dae", "static"), "optimizer.lr": (0.1, 0.2)}


def test_what_is_unknown_is_said(tmp_path):
    runs = [entry(tmp_path, "a", val=0.9), entry(tmp_path, "b", val=0.8, settings={})]
    text = as_text(side_by_side(runs))
    assert NOT_EVALUATED in text
    assert "No configuration was found of b" in text
    assert SAME in as_text(side_by_side([runs[0], entry(tmp_path, "c", val=0.8)]))


def test_documents_are_compared_by_their_own_intervals(tmp_path):
    runs = [entry(tmp_path, name, val=0.9, separation=0.5, primary="auroc_category") for name in "ab"]
    text = as_text(side_by_side([Entry(run.name, run.about, run.settings, None) for run in runs]))
    assert UNPAIRED in text.replace("\n", " ")
    assert "0.750 to 0.850" in text


@pytest.mark.parametrize(
    ("other", "message"), [({"data": "news"}, "on questions"), ({"primary": "f1"}, "by the metric")]
)
def test_runs_of_other_data_or_another_metric_are_refused(tmp_path, other, message):
    runs = [entry(tmp_path, "a", val=0.9), entry(tmp_path, "b", val=0.8, **other)]
    with pytest.raises(ValueError, match=f"a was trained {message}.*compare runs of the same data"):
        side_by_side(runs)


def test_scores_of_other_pairs_and_a_single_run_are_refused(tmp_path):
    one, two = (entry(tmp_path, f"{n}", val=0.9, separation=0.5, pairs=n) for n in (200, 300))
    with pytest.raises(ValueError, match=r"scored on different test pairs \(200 and 300"):
        side_by_side([one, two])
    with pytest.raises(ValueError, match=r"expected two or more runs to compare, got \['200'\]"):
        side_by_side([one])


def test_names_and_settings_are_escaped_on_the_page(tmp_path):
    runs = [entry(tmp_path, f"{n}", val=0.9, settings={"model": f"<b>{n}"}) for n in range(2)]
    page = as_page(side_by_side([Entry("<i>", runs[0].about, runs[0].settings, None), runs[1]]))
    assert "<b>" not in page
    assert "<i>" not in page


def test_correlations_are_compared_by_a_bootstrap_over_the_same_pairs():
    rng = np.random.default_rng(3)
    grade = rng.uniform(0, 5, PAIRS)
    good, poor = (SampledPairs(grade + rng.normal(0, noise, PAIRS), grade) for noise in (0.5, 3.0))
    for metric in ("pearson", "spearman"):
        found = paired(metric, good, poor)
        assert 0 < found.low < found.difference < found.high
        assert math.isnan(found.p_value)
    whole = np.ones((1, PAIRS))
    values = [float(spearman_statistic(one.score, grade)(whole)[0]) for one in (good, poor)]
    assert found.difference == pytest.approx(values[0] - values[1])
    assert paired("accuracy", good, poor) is None
    assert paired("auroc", good, poor) is None, "grades are no labels"
    assert paired("pearson", good, SampledPairs(good.score, grade[::-1])) is None


def test_pairs_that_share_texts_are_one_unit_of_the_tests():
    rng = np.random.default_rng(3)
    unit, label = np.repeat(np.arange(40), 25), rng.integers(0, 2, 1000).astype(float)
    ease = rng.normal(size=(2, 40))[:, unit]
    scores = (2 * label - 1) * (0.5 + ease) + rng.normal(size=(2, 1000))
    alone = [SampledPairs(score, label) for score in scores]
    together = [SampledPairs(score, label, unit) for score in scores]
    decisions = (Decision(0.0, 1.0, 0.0), Decision(0.0, 1.0, 0.0))
    apart, whole = paired("auroc", *alone), paired("auroc", *together)
    assert whole.difference == pytest.approx(apart.difference)
    assert whole.high - whole.low > 2 * (apart.high - apart.low)
    apart, whole = paired_verdicts(*alone, decisions), paired_verdicts(*together, decisions)
    assert whole.difference == pytest.approx(apart.difference)
    assert whole.high - whole.low > 2 * (apart.high - apart.low)
