"""The matcher: its numbers, the prior, and what answers do to it."""

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from twicetold.matching.comparison import Comparison
from twicetold.matching.generic import generic_matcher, read_sets
from twicetold.matching.matcher import Matcher
from twicetold.matching.questions import questions
from twicetold.matching.regression import fit_logistic
from twicetold.matching.senses import SENSES

DRAW = np.random.default_rng(0)
COLUMNS = {"a": DRAW.normal(size=200).astype(np.float32), "b": DRAW.normal(size=200).astype(np.float32)}
SAME = COLUMNS["a"] + 0.3 * DRAW.normal(size=200) > 0.2


@pytest.fixture
def matcher() -> Matcher:
    prior = np.array([0.0, 1.0, 1.0])
    return Matcher(("a", "b"), np.zeros(2), np.ones(2), prior, prior, np.zeros((0, 3)), 1.0)


def test_the_regression_is_that_of_scikit_learn_with_a_prior_of_zeros() -> None:
    rows = np.column_stack(list(COLUMNS.values())).astype(np.float64)
    own = fit_logistic(rows, SAME, mean=np.zeros(2), precision=np.full(2, 2.0))
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8).fit(rows, SAME)
    np.testing.assert_allclose(own, theirs.coef_[0], atol=1e-4)


def test_the_regression_ends_at_the_least_cost_with_separable_answers() -> None:
    rows = np.column_stack([np.ones(40), np.linspace(-30, 30, 40)])
    answers = rows[:, 1] > 3
    found = fit_logistic(rows, answers, mean=np.array([5.0, -8.0]), precision=np.full(2, 0.1))
    probability = 1 / (1 + np.exp(-rows @ found))
    gradient = rows.T @ (answers - probability) - 0.1 * (found - np.array([5.0, -8.0]))
    np.testing.assert_allclose(gradient, 0, atol=1e-3)


def test_the_regression_does_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 52))
    answers = rows[:, 0] + rng.normal(size=3000) > 0
    found = []
    for number in (1, 2):
        with threadpool_limits(number, user_api="blas"):
            found.append(fit_logistic(rows, answers, mean=np.zeros(52), precision=np.ones(52)))
    np.testing.assert_array_equal(*found)


def test_without_an_answer_the_matcher_is_the_prior(matcher: Matcher) -> None:
    none = np.zeros(0, np.int64)
    assert matcher.answered(COLUMNS, none, none.astype(bool)).coefficients.tolist() == matcher.prior.tolist()


def test_answers_move_the_coefficients_and_more_answers_move_them_further(matcher: Matcher) -> None:
    few, many = np.arange(5), np.arange(150)
    moved = [matcher.answered(COLUMNS, some, SAME[some]).coefficients for some in (few, many)]
    to_truth = [abs(coefficients[2]) for coefficients in (matcher.prior, *moved)]  # the truth knows no b
    assert to_truth[0] > to_truth[1] > to_truth[2]


def test_answers_lead_to_the_greatest_posterior_density(matcher: Matcher) -> None:
    """Its gradient is 0: of the prior, whose covariance kinds have a share in, of answers, and of sure pairs."""
    kinds, mean, scale = np.array([[0.0, 0.0, 3.0], [1.0, 0.5, 0.0]]), np.array([0.5, -1.0]), np.array([2.0, 0.5])
    begin = replace(matcher, kinds=kinds, mean=mean, scale=scale, spread=0.3, coefficients=np.array([9.0, 9.0, 9.0]))
    rows = np.column_stack([np.ones(200), (np.column_stack(list(COLUMNS.values())) - mean) / scale])
    asked = np.random.default_rng(1).permutation(200)[:30]
    found = begin.answered(COLUMNS, asked, SAME[asked]).coefficients
    likely, before = (1 / (1 + np.exp(-rows @ each)) for each in (found, begin.prior))
    covariance = 0.09 * np.eye(3) + sum(np.outer(kind, kind) for kind in kinds) / 2
    sure = (before < 0.05) | (before > 0.95)
    assert 20 < sure.sum() < 180
    gradient = rows[asked].T @ (SAME[asked] - likely[asked]) - np.linalg.inv(covariance) @ (found - begin.prior)
    gradient += 30 * rows[sure].T @ (before - likely)[sure] / sure.sum()
    np.testing.assert_allclose(gradient, 0, atol=1e-4)


def test_json_gives_the_same_numbers_again(matcher: Matcher) -> None:
    some = np.arange(9)
    for one in (matcher, matcher.answered(COLUMNS, some, SAME[some])):
        again = Matcher.from_json(json.loads(json.dumps(one.to_json())))
        assert again.names == one.names
        np.testing.assert_allclose(again.coefficients, one.coefficients, rtol=1e-3)
        np.testing.assert_allclose(again.prior, one.prior, rtol=1e-3)
        assert again.to_json() == one.to_json()


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"names": ["a"]},
        {"mean": [0.0]},
        {"mean": [[0.0], [1.0]]},
        {"coefficients": [1.0, float("nan"), 0.0]},
        {"coefficients": [1.0, 1e308, 1e308]},
        {"kinds": [[1.0]]},
        {"scale": [0.0, 1.0]},
        {"scale": [-1.0, 1.0]},
        {"scale": [1e-300, 1.0]},
        {"spread": 0.0},
        {"spread": float("nan")},
        {"spread": None},
    ],
)
def test_broken_numbers_are_refused(matcher: Matcher, broken: dict[str, object]) -> None:
    stored = matcher.to_json() | broken if broken else {}
    with pytest.raises(ValueError, match="expected"):
        Matcher.from_json(stored)


@pytest.mark.parametrize("folder", ["twicetold.matching/generic.json", "twicetold_lab.scoring/held_out.json"])
def test_a_changed_digit_in_numbers_of_the_package_is_noticed(folder: str) -> None:
    package, name = folder.split("/")
    text = (files(package) / name).read_text(encoding="utf-8")
    sets = read_sets(text)
    assert read_sets(json.dumps(json.loads(text), indent=1, sort_keys=True)) == sets
    for place in np.random.default_rng(0).choice([at for at, sign in enumerate(text) if sign in "123456789"], 100):
        changed = text[:place] + str(10 - int(text[place]) if text[place] != "5" else 4) + text[place + 1 :]
        with pytest.raises(ValueError, match="their checksum differs"):
            read_sets(changed)


def test_further_features_count_for_nothing_before_answers_and_as_those_say_after(matcher: Matcher) -> None:
    random = np.random.default_rng(0)
    columns = {name: random.normal(size=400).astype(np.float32) for name in (*matcher.names, "new")}
    same = columns["new"] > 0
    wider = matcher.beside(columns)
    np.testing.assert_allclose(wider.log_odds(columns), matcher.log_odds(columns))
    moved = wider.answered(columns, np.arange(400), same)
    assert moved.names[-1] == "new"
    assert moved.coefficients[-1] > 1
    assert Matcher.from_json(wider.to_json()).names == wider.names
    assert matcher.beside({name: columns[name] for name in matcher.names}).names == matcher.names


def test_a_missing_feature_is_named(matcher: Matcher) -> None:
    with pytest.raises(ValueError, match="there is no b"):
        matcher.probability({"a": COLUMNS["a"]})


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("records", [False, True])
def test_the_package_has_numbers_for_the_features_of_a_file(sense: str, vectors: bool, records: bool) -> None:
    texts = ["red shoe 42", "red shoes 42", "a tent"]
    compared = Comparison.of(
        texts,
        encode=lambda _, order: np.eye(3, dtype=np.float32)[order] if vectors else None,
        also=[["1", "2", "3"]] if records else (),
    )
    matcher = generic_matcher(sense, vectors=vectors)  # type: ignore[arg-type]
    assert set(matcher.names) <= set(compared.columns) == set(compared.matcher.names)
    probability = compared.probability
    assert ((probability >= 0) & (probability <= 1)).all()


def test_an_unknown_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="copies, same, topic"):
        generic_matcher("gist", vectors=False)  # type: ignore[arg-type]


def test_questions_begin_with_the_least_certain_pair_and_ask_for_none_twice() -> None:
    texts = [f"{colour} garden hose {size} m" for colour in ("red", "blue", "black") for size in range(1, 9)]
    compared, matcher = Comparison.of(texts), generic_matcher(vectors=False)
    doubt = np.abs(matcher.probability(compared.columns) - 0.5)
    asked = questions(compared, matcher).tolist()
    assert doubt[asked[0]] == pytest.approx(doubt.min())
    while len(fresh := questions(compared, matcher, asked, count=5)):
        assert not set(fresh.tolist()) & set(asked)
        texts_of_round = np.concatenate([compared.pairs.left[fresh], compared.pairs.right[fresh]])
        assert len(set(texts_of_round.tolist())) == len(texts_of_round)
        asked += fresh.tolist()
    assert len(asked) == len(compared.pairs)
