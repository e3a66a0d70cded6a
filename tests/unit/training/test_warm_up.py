"""Warm-up: the learning rate of each step, in training and after a resume."""

from functools import partial
from pathlib import Path

import pytest
import torch

from twicetold.data.examples import EpochBatches, LabelledPairs, train_loader
from twicetold.features.tokens import Words
from twicetold.models.siamese_lstm import SiameseLstm
from twicetold.objectives.closest_and_mean import ClosestAndMean
from twicetold.training.fit import fit
from twicetold.training.learner import Learner
from twicetold.training.schedule import Runtime, Schedule

HIGHEST = 0.01


def schedule_of(**settings):
    plain = {"epochs": 4, "batch_size": 5, "patience": None, "gradient_clip": None, "precision": "32-true"}
    return Schedule(**{**plain, **settings})


def test_the_rate_rises_on_a_line_and_falls_with_the_inverse_square_root_of_the_steps():
    rate = schedule_of(warmup_steps=400).rate
    assert rate(1) == pytest.approx(1 / 401)
    assert rate(200) == pytest.approx(200 / 401)
    assert rate(401) == 1
    assert rate(4 * 401) == pytest.approx(1 / 2)
    assert max(map(rate, range(1, 2000))) == 1


def test_without_warm_up_the_rate_is_constant():
    assert {schedule_of().rate(step) for step in (1, 10, 1000)} == {1.0}


class Recording(torch.optim.SGD):
    """Keeps the rate of every step."""

    rates: list[float]

    def step(self, closure=None):
        self.rates.append(self.param_groups[0]["lr"])
        return super().step(closure)


class Cut(Exception):
    """Stands for a kill."""


def train(corpus, folder, *, rates, cut=None, **settings):
    featuriser = Words().fit(corpus.texts_of("train"))
    rows = featuriser.transform(corpus.texts.to_pylist())
    torch.manual_seed(0)
    encoder = SiameseLstm(
        width=rows.width, embedding=4, hidden=3, bidirectional=False, pooling="mean", dropout=0.1, frozen=False
    )
    index = LabelledPairs(strategy="random", group="cluster").index(corpus, Path())
    make = type("", (Recording,), {"rates": rates})
    learner = Learner(
        encoder,
        ClosestAndMean(margin=0.25),
        make_optimizer=partial(make, lr=HIGHEST, momentum=0.9),
        validate=lambda encoder: ("auroc", float(len(rates))),
        seed=3,
    )

    def on_epoch(metrics, epoch):
        if epoch == cut:
            raise Cut

    fit(
        learner,
        train_loader(index, rows, EpochBatches(index, batch_size=5, seed=3), workers=0),
        schedule=schedule_of(**settings),
        runtime=Runtime("cpu", workers=0, progress=False),
        checkpoints=folder,
        on_epoch=on_epoch,
    )
    return encoder.state_dict()


def test_every_step_of_a_training_has_its_own_rate(questions, tmp_path):
    rates = []
    train(questions, tmp_path, rates=rates, warmup_steps=6)
    assert len(rates) == 4 * 7
    assert rates == [pytest.approx(HIGHEST * schedule_of(warmup_steps=6).rate(step)) for step in range(1, 29)]


def test_a_resumed_training_goes_on_with_the_rates_and_to_the_weights_of_an_undisturbed_one(questions, tmp_path):
    undisturbed, rates = [], []
    expected = train(questions, tmp_path / "whole", rates=undisturbed, warmup_steps=6)
    with pytest.raises(Cut):
        train(questions, tmp_path / "cut", rates=rates, warmup_steps=6, cut=1)
    actual = train(questions, tmp_path / "cut", rates=rates, warmup_steps=6)
    assert rates == undisturbed
    assert all(torch.equal(expected[name], actual[name]) for name in expected)
