"""Weighted decisions, and numbers that do not flatter."""

import json
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest

import twicetold
from twicetold import layout
from twicetold.evaluation.decision import decide_counts
from twicetold.evaluation.guarantee import IntervalEstimate
from twicetold.evaluation.labels import DUPLICATE, Decisions
from twicetold.evaluation.pair_metrics import Confusion
from twicetold.evaluation.ranking import ScoreCounts
from twicetold.files import write_json
from twicetold.labels.calibration import (
    CalibrationPairs,
    calibrate,
    read_pairs,
    require_free_of,
    save_calibrated,
)
from twicetold.labels.sampling import draw
from twicetold.trained.model_folder import load_model


class Scored:
    """A model whose score of a pair is written in the left text."""

    about = DUPLICATE

    def __init__(self, decision):
        self.decisions = Decisions.about(DUPLICATE, decision)

    def similarity(self, left, right):
        return np.array([float(text) for text in left])


def pairs_of(scores, labels, weight=None):
    count = len(scores)
    weight = np.ones(count) if weight is None else weight
    return CalibrationPairs([repr(float(s)) for s in scores], ["-"] * count, np.asarray(labels), weight)


STORED = decide_counts(ScoreCounts.of([0.0, 1.0], [0, 1]), aim="accuracy")


def test_a_threshold_that_does_not_travel_is_repaired_and_the_interval_says_so():
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.4
    scores = 3 + labels + 0.3 * rng.normal(size=400)  # all above the stored threshold of 0.5
    found = calibrate(Scored(STORED), pairs_of(scores, labels))
    assert found.stored.accuracy.value == pytest.approx(labels.mean())
    assert found.fitted.accuracy.low > 0.9
    assert found.stored.accuracy.high < 0.5
    assert found.better
    assert 3.2 < found.after.threshold < 3.8


def test_weighted_numbers_are_those_of_the_pairs_repeated():
    rng = np.random.default_rng(0)
    labels, weight = rng.random(60) < 0.5, rng.integers(1, 5, 60)
    scores = 0.5 * labels + 0.5 * rng.random(60)
    found = calibrate(Scored(STORED), pairs_of(scores, labels, weight.astype(float)))
    repeated = Confusion.of(np.repeat(scores >= 0.5, weight), np.repeat(labels, weight))
    for name in ("accuracy", "precision", "recall"):
        assert getattr(found.stored, name).value == pytest.approx(getattr(repeated, name))


def test_a_precision_of_1_on_few_pairs_is_not_certain():
    labels = np.arange(60) >= 30
    found = calibrate(Scored(STORED), pairs_of(labels * 1.0, labels))
    for worth in (found.stored, found.fitted):
        assert (worth.precision.value, worth.precision.high) == (1, 1)
        assert worth.precision.low == pytest.approx(0.025 ** (1 / 30))  # exact: of 30 pairs
    nothing = calibrate(Scored(replace(STORED, threshold=9)), pairs_of(labels * 1.0, labels)).stored.precision
    assert nothing == IntervalEstimate(0, 0, 1)


@pytest.mark.parametrize(("count", "positives"), [(19, 9), (100, 0), (100, 4), (100, 97), (100, 100)])
def test_too_few_pairs_are_refused(count, positives):
    labels = np.arange(count) < positives
    with pytest.raises(
        ValueError, match=f"at least 20 labelled pairs.* got {count}, of which {positives} are duplicates"
    ):
        calibrate(Scored(STORED), pairs_of(np.arange(count), labels))


def test_a_calibrated_folder_is_a_whole_model_and_a_copied_ensemble_keeps_its_members(run, questions, tmp_path):
    folder = run()
    ensemble = tmp_path / "ensemble"
    for member in ("one", "two"):
        shutil.copytree(folder / layout.MODEL, ensemble / layout.MEMBER_MODELS / member)
    (ensemble / layout.RECIPE).write_text(json.dumps({"members": ["one", "two"], "as_documents": False}))
    shutil.copy(folder / layout.MODEL / layout.DECISION, ensemble)
    file = tmp_path / "pairs.csv"
    texts = questions.texts.to_pylist()
    rows = [f"{texts[n]},{texts[n + 1]},{int(n % 3 == 0)}" for n in range(40)]
    file.write_text("\n".join(["left,right,label", *rows]) + "\n")
    for place in (folder, ensemble):
        model, pairs, new = twicetold.load(place), read_pairs(file), tmp_path / f"new-{place.name}"
        found = calibrate(model, pairs)
        save_calibrated(model, new, found, pairs, file=file)
        assert load_model(new).decision == found.after
        assert twicetold.load(new).similarity(texts[:2], texts[2:4]).tolist() == pytest.approx(
            model.similarity(texts[:2], texts[2:4]).tolist()
        )
        ours = {str(path.relative_to(new)): path.read_bytes() for path in new.rglob("*") if path.is_file()}
        theirs = {
            str(path.relative_to(model.folder)): path.read_bytes() for path in model.folder.rglob("*") if path.is_file()
        }
        record = json.loads(ours.pop(layout.CALIBRATION))
        assert {name for name in theirs if ours[name] != theirs[name]} == {layout.DECISION}
        assert ours.keys() == theirs.keys()
        assert record["after"] == asdict(found.after)
        assert (record["pairs"]["count"], record["pairs"]["duplicates"]) == (40, 14)


def test_folders_that_are_there_are_not_replaced_unasked(run, tmp_path):
    model = run() / layout.MODEL
    write_json(tmp_path / "mine" / "file.json", {})
    for new, force, message in (
        (model, True, "a new folder apart from"),
        (model.parent, True, "a new folder apart from"),
        (model / "inside", False, "a new folder apart from"),
        (tmp_path / "mine", True, "has no recipe.json, so it is not replaced"),
    ):
        with pytest.raises((ValueError, FileExistsError), match=message):
            require_free_of(model, new, force=force)
    shutil.copytree(model, tmp_path / "other")
    with pytest.raises(FileExistsError, match="or replace it with --force"):
        require_free_of(model, tmp_path / "other", force=False)
    require_free_of(model, tmp_path / "other", force=True)


def test_pairs_that_were_not_drawn_weigh_the_same_and_drawn_ones_by_their_probability(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("left,right,label,band,inclusion_probability\na,b,1,3,0.5\nc,d,false,0,0.01\n")
    drawn = read_pairs(file)
    assert (drawn.weight.tolist(), drawn.label.tolist()) == ([2, 100], [True, False])
    file.write_text("question1,question2,same\na,b,TRUE\nc,d,0\n")
    own = read_pairs(file, label="same")
    assert (own.weight.tolist(), own.weighted, own.label.tolist()) == ([1, 1], False, [True, False])


def test_pairs_without_an_answer_are_left_out_and_semicolons_are_read(tmp_path):
    file = tmp_path / "pairs.csv"
    rows = ["a;b;yes;3;0,5", "c;d;;1;1", "e;f;N;0;1", "g;h;1.0;2;1"]
    file.write_text("\n".join(["left;right;label;level;weight", *rows]))
    for delimiter in (None, "semicolon"):
        found = read_pairs(file, delimiter=delimiter)
        assert (found.left, found.right, found.label.tolist()) == (
            ["a", "e", "g"],
            ["b", "f", "h"],
            [True, False, True],
        )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "left,right,label\na,b,maybe\n",
            r"pairs.csv, line 2, column 'label': expected 1 or 0, true or false, yes or no, or nothing; got 'maybe'",
        ),
        ("left,right,label\na,b,1\nc,,0\n", r"pairs.csv: 1 row cannot be used"),
        ("left,right,answer\na,b,1\n", r"there is no column 'label'"),
        (
            "left,right,label,band,inclusion_probability\na,b,1,0,2\n",
            r"line 2, .*expected a number above 0 and at most 1",
        ),
        ("left,right,label,band,inclusion_probability\na,b,1,0,x\n", r"line 2, .*expected a number, got 'x'"),
    ],
)
def test_faulty_pairs_are_named(tmp_path, rows, message):
    (tmp_path / "pairs.csv").write_text(rows)
    with pytest.raises(ValueError, match=message):
        read_pairs(tmp_path / "pairs.csv")


MANY = 20_000


def drawn(labels_of_draw, *, shift=0.0, distance=1.0, weighted=False, draws=40):
    """Calibrations on draws of scored pairs, of a decision that was fitted to 20,000 pairs, and the true metrics.

    Args:
        labels_of_draw: labelled pairs of each.
        shift: of the scores of the pairs, compared with those 20,000.
        distance: of the scores of duplicates from those of others.
        weighted: drawn by their scores, as `label` draws.
        draws: how many.
    """
    rng = np.random.default_rng(0)
    labels = rng.random(MANY) < 0.4
    scores = distance * labels + rng.normal(size=MANY)
    decision = decide_counts(ScoreCounts.of(scores, labels), aim="f1")
    scores = scores + shift
    for seed in range(draws):
        rows, weight = rng.choice(MANY, labels_of_draw, replace=False), None
        if weighted:
            one = draw(scores, decision, pairs=labels_of_draw, seed=seed)
            rows, taken = one.rows, np.bincount(one.band, minlength=len(one.sizes))
            weight = (one.sizes / np.maximum(taken, 1))[one.band]
        found = calibrate(Scored(decision), pairs_of(scores[rows], labels[rows], weight))
        yield found, *(Confusion.of(each.duplicate(scores), labels) for each in (found.before, found.after))


@pytest.mark.parametrize("count", [40, 100, 300])
def test_a_decision_that_fits_is_seldom_replaced_by_one_that_labels_fit_worse(count):
    rows = [(found.better, after.f1 - before.f1) for found, before, after in drawn(count)]
    better, gain = np.mean(rows, axis=0)
    assert gain < 0
    assert better <= 0.15


@pytest.mark.parametrize(("count", "least"), [(40, 0.85), (100, 0.95), (300, 1.0)])
@pytest.mark.parametrize("shift", [-1.5, 1.5])
def test_a_decision_that_does_not_fit_is_seldom_kept(shift, count, least):
    rows = [(found.better, after.f1 - before.f1) for found, before, after in drawn(count, shift=shift)]
    better, gain = np.mean(rows, axis=0)
    assert gain > 0.03
    assert better >= least


@pytest.mark.parametrize("weighted", [False, True])
def test_the_intervals_hold_what_the_new_decision_is_worth_and_its_numbers_do_not_flatter(weighted):
    held, off = [], []
    for found, _, true in drawn(100, shift=0.5, distance=1.2, weighted=weighted, draws=200):
        shares = {name: getattr(found.fitted, name) for name in ("accuracy", "precision", "recall")}
        held.append([each.low <= getattr(true, name) <= each.high for name, each in shares.items()])
        off.append(shares["accuracy"].value - true.accuracy)
    assert np.mean(held, axis=0).min() >= 0.85
    assert abs(np.mean(off)) < 0.02
