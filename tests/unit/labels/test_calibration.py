"""Weighted decisions, and numbers that do not flatter."""

import json
import shutil
from dataclasses import asdict

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
    Calibration,
    CalibrationPairs,
    calibrate,
    read_pairs,
    require_free_of,
    save_calibrated,
)
from twicetold.trained.model_folder import load_model


class Scored:
    """A model whose score of a pair is written in the left text."""

    about = DUPLICATE

    def __init__(self, decision):
        self.decisions = Decisions.about(DUPLICATE, decision)

    def similarity(self, left, right):
        return np.array([float(text) for text in left])


def pairs_of(scores, labels, weight=None, stratum=None):
    count = len(scores)
    weight = np.ones(count) if weight is None else weight
    stratum = np.zeros(count, np.int64) if stratum is None else stratum
    return CalibrationPairs([repr(float(s)) for s in scores], ["-"] * count, np.asarray(labels), weight, stratum)


STORED = decide_counts(ScoreCounts.of([0.0, 1.0], [0, 1]), aim="accuracy")


def test_a_threshold_that_does_not_travel_is_repaired_and_the_interval_says_so():
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.4
    scores = 3 + labels + 0.3 * rng.normal(size=400)  # all above the stored threshold of 0.5
    found = calibrate(Scored(STORED), pairs_of(scores, labels))
    assert found.stored["accuracy"].value == pytest.approx(labels.mean())
    assert found.fitted["accuracy"].value > 0.9
    assert found.gained["accuracy"].low > 0.4
    assert found.gained["log_loss"].high < 0
    assert 3.2 < found.after.threshold < 3.8
    for numbers in (found.stored, found.fitted, found.gained):
        assert all(number.low <= number.value <= number.high for number in numbers.values())


def test_weighted_numbers_are_those_of_the_pairs_repeated():
    rng = np.random.default_rng(0)
    labels, weight = rng.random(60) < 0.5, rng.integers(1, 5, 60)
    scores = 0.5 * labels + 0.5 * rng.random(60)
    found = calibrate(Scored(STORED), pairs_of(scores, labels, weight.astype(float)))
    repeated = Confusion.of(np.repeat(scores >= 0.5, weight), np.repeat(labels, weight))
    for name in ("accuracy", "precision", "recall", "f1"):
        assert found.stored[name].value == pytest.approx(getattr(repeated, name))


@pytest.mark.parametrize("bands", [1, 4])
def test_a_precision_of_1_on_few_pairs_is_not_certain(bands):
    labels = np.arange(60) >= 30
    found = calibrate(Scored(STORED), pairs_of(labels * 1.0, labels, stratum=np.arange(60) // (60 // bands)))
    precision = found.stored["precision"]
    assert (precision.value, precision.high) == (1, 1)
    assert 0.8 < precision.low < 0.95  # 0.92 by Jeffreys, on 30 pairs
    assert found.gained["precision"].value == pytest.approx(0, abs=0.01)


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
        save_calibrated(model, new, found, pairs, file=file, aim="accuracy")
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
    assert (drawn.weight.tolist(), drawn.stratum.tolist(), drawn.label.tolist()) == ([2, 100], [3, 0], [True, False])
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


def drawn_gates(*, shift, count, draws=40):
    """Share of draws that are called better than a decision that was fitted to 20,000 pairs, and its true gain.

    Args:
        shift: of the scores of the pairs, compared with those 20,000.
        count: labelled pairs of each draw.
        draws: how many.
    """
    rng = np.random.default_rng(0)
    labels = rng.random(20_000) < 0.4
    scores = labels + rng.normal(size=20_000)
    model, gains = Scored(decide_counts(ScoreCounts.of(scores, labels), aim="accuracy")), []
    for _ in range(draws):
        rows = rng.choice(20_000, count, replace=False)
        found = calibrate(model, pairs_of(scores[rows] + shift, labels[rows]))
        stored, new = (Confusion.of(each.duplicate(scores + shift), labels) for each in (found.before, found.after))
        gains.append([found.better("accuracy"), new.accuracy - stored.accuracy])
    better, gain = np.array(gains).T
    return better.mean(), gain.mean()


@pytest.mark.parametrize("count", [100, 300])
def test_a_useless_calibration_is_seldom_called_better(count):
    better, gain = drawn_gates(shift=0, count=count)
    assert gain < 0
    assert better <= 0.2


@pytest.mark.parametrize(("count", "least"), [(100, 0.9), (300, 1.0)])
@pytest.mark.parametrize("shift", [-1.5, 1.5])
def test_a_useful_calibration_is_seldom_refused(shift, count, least):
    better, gain = drawn_gates(shift=shift, count=count)
    assert gain > 0.05
    assert better >= least


@pytest.mark.parametrize(
    ("aimed", "brier", "loss", "better"),
    [
        ((0.02, -0.01, 0.05), (-0.01, -0.02, 0.01), (-0.02, -0.05, 0.01), True),  # all gain
        ((-0.01, -0.04, 0.02), (-0.01, -0.02, 0.01), (-0.02, -0.05, 0.01), False),  # the aim does not
        ((0.02, -0.01, 0.05), (0.01, -0.02, 0.03), (-0.02, -0.05, 0.01), False),  # the Brier score does not
        ((0.02, 0.01, 0.05), (-0.01, -0.02, 0.01), (0.02, -0.01, 0.05), False),  # the log loss does not
        ((0, 0, 0), (-0.01, -0.02, 0.01), (-0.02, -0.05, -0.01), True),  # its whole interval does
        ((-0.03, -0.05, -0.01), (-0.01, -0.02, 0.01), (-0.02, -0.05, -0.01), False),  # at the cost of the aim
        ((0, 0, 0), (0, 0, 0), (0, 0, 0), False),  # nothing changes
    ],
)
def test_better_is_what_gains_in_what_was_aimed_at_and_in_both_losses(aimed, brier, loss, better):
    gained = {"f1": IntervalEstimate(*aimed), "brier": IntervalEstimate(*brier), "log_loss": IntervalEstimate(*loss)}
    assert Calibration(STORED, STORED, {}, {}, gained).better("f1") == better
