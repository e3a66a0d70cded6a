"""Links by a matcher that labels have moved: drawing by its probability, the curve, and what is promised."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import twicetold
from twicetold import layout
from twicetold.dedupe.compared_pairs import ComparedPairs
from twicetold.dedupe.pairs import LOG_ODDS
from twicetold.evaluation.decision import sigmoid
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.thresholds import LabelledLinks
from twicetold.labels.calibration import calibrate, read_pairs, save_calibrated
from twicetold.labels.labelling import features_file, labelling
from twicetold.labels.matched_links import Curve, MatchedCandidates, curve_links, matched_links
from twicetold.labels.sampling import STRATA, draw_by_probability
from twicetold.matching.generic import generic_matcher
from twicetold.matching.matcher import Matcher
from twicetold.trained.threshold_record import MatchedLinks

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("one", "other")


def candidates(seed, *, count=6_000, bias=-1.0):
    """Features, and whether pairs are duplicates: the second feature matters twice as much as the matcher thinks."""
    random = np.random.default_rng(seed)
    columns = {"one": random.normal(-2.0, 2.0, count), "other": random.normal(0.0, 1.5, count)}
    same = random.random(count) < sigmoid(bias + columns["one"] + 2 * columns["other"])
    return columns, same


@pytest.fixture
def matcher():
    coefficients = np.array([0.0, 1.0, 1.0])
    return Matcher(NAMES, np.zeros(2), np.ones(2), coefficients, coefficients, np.zeros((0, 3)), 0.7)


def labelled(columns, same, matcher, *, pairs, seed=0):
    """What labels of a draw promise."""
    drawn = draw_by_probability(matcher.log_odds(columns), pairs=pairs, seed=seed)
    weight = (drawn.sizes / np.maximum(np.bincount(drawn.band, minlength=STRATA), 1))[drawn.band]
    whole = MatchedCandidates(columns, np.ones(len(same)), drawn.rows)
    about = {"file": "f", "texts": 10, "matcher": matcher, "seed": seed}
    return matched_links(whole, drawn.rows, same[drawn.rows], weight, **about)


def test_strata_have_equal_shares_and_a_larger_draw_begins_with_a_smaller_one():
    log_odds = np.random.default_rng(0).normal(-5, 3, 20_000)
    small, large = (draw_by_probability(log_odds, pairs=pairs, seed=1) for pairs in (100, 200))
    assert large.rows[:100].tolist() == small.rows.tolist()
    assert large.sizes.sum() == 20_000
    assert np.ptp(np.bincount(large.band, minlength=STRATA)) <= 2
    assert (log_odds[large.rows] > -3).mean() > 0.8 > 0.3 > (log_odds > -3).mean()
    for band in range(STRATA - 1):
        assert log_odds[large.rows[large.band == band]].max() <= log_odds[large.rows[large.band == band + 1]].min()
    with pytest.raises(ValueError, match="positive number of pairs"):
        draw_by_probability(log_odds, pairs=0)


def test_a_promise_is_kept_and_the_interval_holds_the_truth(matcher):
    kept, held, default = [], [], []
    for seed in range(30):
        columns, same = candidates(seed)
        links = labelled(columns, same, matcher, pairs=150, seed=seed)
        score = links.matcher.log_odds(columns)
        for promise in links.links.promised:
            true = same[score >= promise.threshold].mean()
            if promise.aimed is None:
                default.append(promise.precision.low <= true <= promise.precision.high)
            else:
                kept.append(true >= promise.aimed)
                held.append(promise.precision.low <= true <= promise.precision.high)
    assert len(kept) > 60
    assert np.mean(kept) >= 0.9
    assert np.mean(held) >= 0.85
    assert np.mean(default) >= 0.9


def test_labels_move_the_matcher_towards_what_counts_in_the_file(matcher):
    columns, same = candidates(0)
    moved = labelled(columns, same, matcher, pairs=200).matcher
    before, after = (matcher.log_odds(columns), moved.log_odds(columns))
    assert moved.coefficients[2] > 1.2
    top = same.sum() // 2
    assert same[np.argsort(-after)[:top]].mean() > same[np.argsort(-before)[:top]].mean() + 0.02


def test_no_threshold_is_named_where_none_is_assured(matcher):
    columns, _ = candidates(0)
    coin = np.random.default_rng(0).random(len(columns["one"])) < 0.5
    links = labelled(columns, coin, matcher, pairs=150)
    assert [link.threshold for link in links.links.links] == [None] * 3
    assert [promise.aimed for promise in links.links.promised] == [None]
    assert all(link.precision < 0.8 for link in links.links.links)


def test_labels_that_no_feature_tells_are_not_told_by_the_matcher_that_they_moved():
    """Each pair is scored by a matcher of the other folds, as one that saw it would tell its label by heart."""
    random = np.random.default_rng(0)
    columns = {str(number): random.normal(0, 1, 300) for number in range(60)}
    prior = np.append(0, random.normal(0, 0.3, 60))
    begin = Matcher(tuple(columns), np.zeros(60), np.ones(60), prior, prior, np.zeros((0, 61)), 1.0)
    whole = MatchedCandidates(columns, np.ones(300), np.arange(200))
    links = matched_links(
        whole, np.arange(200), random.random(200) < 0.5, np.ones(200), file="f", texts=10, matcher=begin
    )
    assert links.decision.slope < 0.2


def test_a_labelled_pair_counts_by_the_root_of_its_weight_and_all_as_their_effective_number():
    random = np.random.default_rng(0)
    score = random.normal(0, 2, 80)
    label, weight = random.random(80) < sigmoid(score - 1), random.integers(1, 100, 80).astype(float)
    line = Curve.of(score, label, weight, scale=LOG_ODDS).line
    root = np.sqrt(weight) * np.sqrt(weight).sum() / weight.sum()
    error = root * (label - sigmoid(line.intercept + line.slope * score))
    gradient = [error.sum() - line.intercept, error @ score - (line.slope - 1) / 0.25]
    assert gradient == pytest.approx([0, 0], abs=1e-3)


def test_the_curve_is_that_of_the_labels_and_is_less_sure_with_fewer():
    random = np.random.default_rng(0)
    score = random.normal(0, 2, 4_000)
    label = random.random(4_000) < sigmoid(1.5 * score - 1)
    at, widths = np.array([-1.0, 0.5, 2.0]), []
    for count in (100, 4_000):
        drawn = Curve.of(score[:count], label[:count], np.ones(count), scale=LOG_ODDS).probability(at)
        widths.append(np.ptp(np.quantile(drawn, (0.025, 0.975), axis=1), axis=0))
    np.testing.assert_allclose(drawn.mean(axis=1), sigmoid(1.5 * at - 1), atol=0.05)
    assert (widths[0] > 2 * widths[1]).all()


def test_a_small_change_of_the_labels_weights_changes_every_draw_a_little():
    """Axes of nearly equal length change places and signs by rounding alone: no draw may go by them."""
    random = np.random.default_rng(0)
    score = random.normal(0, 2, 60)
    label = random.random(60) < sigmoid(score)
    change = random.normal(0, 1, 60)
    draws = [Curve.of(score, label, np.exp(at * change), scale=LOG_ODDS).draws for at in np.linspace(0, 1, 200)]
    assert np.abs(np.diff(draws, axis=0)).max() < 0.1


def test_of_cuts_that_are_equally_good_the_highest_counts_and_no_score_is_at_a_threshold(matcher):
    score = np.repeat([4.0, 2.0, -8.0], 40) + np.linspace(0, 1e-3, 120)
    label = score > 0
    curve = Curve.of(score, label, np.ones(120), scale=LOG_ODDS)
    _, links = curve_links(curve, (score, np.ones(120)), (score, label), drawn=("f", 10, 5))
    thresholds = [each.threshold for each in links.promised]
    assert links.f1_threshold == thresholds[0] == pytest.approx(-3, abs=0.01)
    assert not np.isin(thresholds, score).any()


def test_a_large_file_is_represented_by_weights(monkeypatch, tmp_path):
    monkeypatch.setattr("twicetold.labels.matched_links.KEPT", 50)
    log_odds = np.arange(1_000.0)
    some = MatchedCandidates.of({"one": log_odds}, log_odds, np.array([3, 999]))
    assert some.weight.sum() == pytest.approx(1_000)
    assert len(some.weight) == 101
    assert some.columns["one"][some.drawn].tolist() == [3, 999]
    some.save(tmp_path / "features.npz")
    again = MatchedCandidates.read(tmp_path / "features.npz")
    assert again.columns["one"].tolist() == some.columns["one"].tolist()
    assert again.drawn.tolist() == some.drawn.tolist()
    (tmp_path / "features.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match="is damaged"):
        MatchedCandidates.read(tmp_path / "features.npz")


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A model of a file of names, labelled by the truth and calibrated."""
    folder, random = tmp_path_factory.mktemp("names"), np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("lon", "tir", "mas")]
    names = [" ".join(random.choice(words, 3, replace=False)) for _ in range(150)]
    texts = [f"{name}{end}" for name in names for end in ("", f" {random.choice(words)}")]
    file = folder / "pairs.csv"
    twicetold.fit(texts, lexical=True, folder=folder / "model")
    state = labelling(file, model=folder / "model", texts=texts, file="names.csv", pairs=150)
    for number, pair in enumerate(state.pairs):
        state.label(number, pair.left.split()[:3] == pair.right.split()[:3])
    labels, model = read_pairs(file), twicetold.load(folder / "model")
    save_calibrated(model, folder / "new", calibrate(model, labels), labels, file=file)
    return twicetold.load(folder / "new"), texts, file


def test_a_dedupe_links_by_the_matcher_that_labels_have_moved(calibrated):
    model, texts, _ = calibrated
    record = model.record.calibration.matched
    result = model.dedupe(texts, precision=0.9)
    threshold = result.summary.threshold
    target = next(link for link in record.links.links if link.aimed == 0.9)
    assert threshold.score == target.threshold
    assert threshold.assured
    assert threshold.expected.value == pytest.approx(record.links.expected(0.9).value)
    right = [texts[a].split()[:3] == texts[b].split()[:3] for a, b in zip(result.links.left, result.links.right)]
    assert np.mean(right) >= 0.9
    assert model.dedupe(texts).summary.threshold.score == record.decision.threshold
    assert model.index(texts).threshold == record.decision.threshold


def test_pairs_have_the_probabilities_of_the_dedupe(calibrated):
    model, texts, _ = calibrated
    links = model.dedupe(texts).links
    left, right = ([*(texts[row] for row in side.tolist()), *texts] for side in (links.left, links.right))
    assert len(links) > 10
    np.testing.assert_array_equal(model.predict_proba(left, right)[: len(links)], links.probability)
    assert model.predict(left, right).all()
    assert ComparedPairs.of(model, left, right).evidence == model.dedupe(texts).summary.threshold.evidence


def test_a_doubt_about_the_threshold_of_similarities_is_none_about_the_matchers(calibrated, tmp_path):
    model, texts, _ = calibrated
    poor = shutil.copytree(model.folder, tmp_path / "poor")
    record = json.loads((poor / layout.CALIBRATION).read_text())
    record["fitted"]["accuracy"]["value"] = 0.01
    (poor / layout.CALIBRATION).write_text(json.dumps(record))
    model = twicetold.load(poor)
    assert not any("always answering" in warning for warning in model.dedupe(texts).summary.warnings)
    told = []
    model.index(texts, progress=told.append)
    assert not any("always answering" in line for line in told)


def test_labels_and_features_that_do_not_belong_together_are_refused(calibrated, tmp_path):
    model, _, file = calibrated
    for part in (file, file.with_name("pairs.csv.draw.json"), features_file(file)):
        (tmp_path / part.name).write_bytes(part.read_bytes())
    few = MatchedCandidates.read(features_file(file))
    MatchedCandidates(few.columns, few.weight, few.drawn[:20]).save(features_file(tmp_path / "pairs.csv"))
    with pytest.raises(ValueError, match="expected numbers of pairs of the draw, 1 to 20"):
        calibrate(model, read_pairs(tmp_path / "pairs.csv"))


def test_the_record_of_the_matcher_is_read_and_a_damaged_one_is_named(calibrated):
    model, texts, _ = calibrated
    stored = model.folder / layout.CALIBRATION
    content = stored.read_text()
    broken = json.loads(content)
    broken["matched"]["matcher"].pop("mean")
    stored.write_text(json.dumps(broken))
    with pytest.raises(ValueError, match=f"{layout.CALIBRATION}: expected the numbers of a matcher"):
        model.dedupe(texts)
    stored.write_text(content)


def test_labels_move_the_matcher_that_validation_had_moved_and_not_the_similarity(run, tmp_path):
    with (EXAMPLES / "products.csv").open() as file:
        rows = list(csv.DictReader(file))
    texts, truth = [row["title"] for row in rows], [row["model"] for row in rows]
    folder, matcher = run("static"), generic_matcher(vectors=False).beside({"score": np.array([0.0, 1.0])})
    matched = MatchedLinks(matcher, LOG_ODDS, LabelledLinks("validation", 2, 5, 1, 1, 0.5, ())).to_json()
    record = {"pairs": {"file": "validation", "count": 20}, "about": "duplicate", "matched": matched}
    (folder / layout.MODEL / layout.MATCHER).write_text(json.dumps(record))
    model, file = twicetold.load(folder), tmp_path / "pairs.csv"
    drawn = labelling(file, model=folder, texts=texts, pairs=100)
    assert drawn.matched
    of_text = dict(zip(texts, truth, strict=True))
    for number, pair in enumerate(drawn.pairs):
        drawn.label(number, of_text[pair.left] == of_text[pair.right])
    labels = read_pairs(file)
    found = calibrate(model, labels)
    assert found.matched is not None
    assert found.matched.by_model
    assert not np.array_equal(found.matched.matcher.coefficients, matcher.coefficients)
    save_calibrated(model, tmp_path / "new", found, labels, file=file)
    before, after = (
        group_scores(each.dedupe(texts).group, truth).f1 for each in (model, twicetold.load(tmp_path / "new"))
    )
    assert after > before + 0.05
