"""Training of the matcher: the regression against scikit-learn's, the trees once, and what it cannot train."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from twicetold.features.folded_characters import FoldedCharacters
from twicetold.models.matcher import PairMatcher
from twicetold.models.static import Static
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.objectives.pair_bce import PairBce
from twicetold_lab.training.solvers.matcher import LEAST, Matcher
from twicetold_lab.training.solvers.protocol import TrainingData

CHOSEN = np.arange(3)


@pytest.fixture
def data():
    """Products with numbers: the same ones have the same number."""
    rng = np.random.default_rng(0)
    texts = [f"{word} {number}" for word in ("tent", "red tent", "shoe", "a shoe") for number in range(100, 110)]
    left, right = rng.integers(0, len(texts), (2, 200))
    label = (left % 10 == right % 10).astype(np.float32)
    rows = FoldedCharacters().transform(texts)
    return TrainingData(rows, np.arange(len(texts)), ExampleIndex(left, positive=right, label=label))


def encoder_of(trees=5):
    return PairMatcher(width=0x110000, columns=1, buckets=256, trees=trees, leaves=4)


@pytest.mark.parametrize("ridge", [1.0, 100.0])
def test_the_regression_is_that_of_scikit_learn(data, ridge):
    encoder = encoder_of(trees=0)
    steps = Matcher([ridge]).prepare(encoder, PairBce(), data, seed=0)
    steps.step(encoder, CHOSEN)
    inputs = (steps.rows - steps.rows.mean(axis=0)) / (steps.rows.std(axis=0) + LEAST)
    expected = LogisticRegression(C=1 / ridge, tol=1e-8, max_iter=1000).fit(inputs, steps.same)
    with torch.no_grad():
        np.testing.assert_allclose(encoder.of_features(steps.rows), expected.decision_function(inputs), rtol=0.01)


def test_each_epoch_has_its_ridge_and_all_have_the_trees_of_the_first(data):
    encoder = encoder_of()
    steps = Matcher([1.0, 50.0]).prepare(encoder, PairBce(), data, seed=0)
    assert (steps.per_epoch, int(encoder.texts)) == (2, 40)
    states = []
    for _ in range(6):
        losses = steps.step(encoder, CHOSEN)
        assert 0 < float(losses["loss"]) < 0.7
        states.append({name: value.clone() for name, value in encoder.state_dict().items()})
    assert encoder.trees() is not None
    first, second, third = (states[at] for at in (1, 3, 5))
    assert not torch.equal(first["coefficients"], second["coefficients"])
    assert second.keys() == third.keys()
    for name, value in third.items():
        assert torch.equal(value, second[name]), name
        assert name == "coefficients" or torch.equal(value, first[name]), name


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"encoder": Static(width=9, embedding=2, init_std=0.1, input_dropout=0.0)}, TypeError, "not a Static"),
        ({"objective": PairBce(scale=10.0)}, TypeError, "objective=pair_bce"),
        ({"ridges": []}, ValueError, r"expected numbers above 0 as optimizer.ridges, got \[\]"),
        ({"ridges": [1.0, 0.0]}, ValueError, "above 0"),
        ({"examples": {"positive": None}}, TypeError, "examples=labelled_pairs"),
        ({"examples": {"label": np.full(200, 0.5)}}, ValueError, "labelled 1 and pairs labelled 0"),
        ({"examples": {"label": np.ones(200)}}, ValueError, "labelled 1 and pairs labelled 0"),
    ],
)
def test_what_it_cannot_train_is_refused(data, change, error, message):
    data = replace(data, examples=replace(data.examples, **change.get("examples", {})))
    solver = Matcher(change.get("ridges", [1.0]))
    with pytest.raises(error, match=message):
        solver.prepare(change.get("encoder", encoder_of()), change.get("objective", PairBce()), data, seed=0)
