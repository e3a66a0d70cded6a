"""The learning rate of each step, in training and after a resume."""

from functools import partial
from pathlib import Path

import pytest
import torch

from twicetold.features.tokens import Words
from twicetold.models.siamese_lstm import SiameseLstm
from twicetold_lab.examples.batches import EpochBatches, train_loader
from twicetold_lab.examples.labelled import LabelledPairs
from twicetold_lab.objectives.closest_and_mean import ClosestAndMean
from twicetold_lab.training.fit import fit
from twicetold_lab.training.learner import Learner
from twicetold_lab.training.schedule import Runtime, Schedule

HIGHEST = 0.01


def schedule_of(**settings):
    return Schedule(**{"epochs": 4, "batch_size": 5, **settings})


def test_the_rate_rises_on_a_line_and_falls_with_the_inverse_square_root_of_the_steps():
    rate = partial(schedule_of(warmup_steps=400, decay="inverse_sqrt").rate, steps=2000)
    assert rate(1) == pytest.approx(1 / 401)
    assert rate(200) == pytest.approx(200 / 401)
    assert rate(401) == 1
    assert rate(4 * 401) == pytest.approx(1 / 2)
    assert max(map(rate, range(1, 2000))) == 1


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("epochs", 0, "a whole number from 1 on; got 0"),
        ("epochs", True, "a whole number from 1 on; got True"),
        ("batch_size", -5, "a whole number from 1 on; got -5"),
        ("batch_size", None, "a whole number from 1 on; got None"),
        ("patience", 1.5, "a whole number from 0 on or null; got 1.5"),
        ("warmup_steps", "all", "a whole number from 0 on or null; got 'all'"),
        ("gradient_clip", 0, "a number above 0, or null; got 0"),
        ("precision", "16", "32-true, bf16-mixed or auto; got '16'"),
    ],
)
def test_a_schedule_says_what_it_expects(name, value, expected):
    with pytest.raises(ValueError, match=f"trainer.{name} must be {expected}"):
        schedule_of(**{name: value})


def test_the_rate_falls_on_a_line_to_zero_after_the_last_step():
    rate = partial(schedule_of(decay="linear").rate, steps=10)
    assert [rate(step) for step in range(1, 11)] == pytest.approx([1 - step / 10 for step in range(10)])
    warm = partial(schedule_of(warmup_steps=3, decay="linear").rate, steps=10)
    assert [warm(step) for step in (1, 2, 3, 4, 7, 10)] == pytest.approx([1 / 4, 1 / 2, 3 / 4, 1, 4 / 7, 1 / 7])


def test_without_a_decay_the_rate_stays_where_it_is():
    assert {schedule_of().rate(step, steps=1000) for step in (1, 10, 1000)} == {1.0}
    assert schedule_of(warmup_steps=1).rate(1, steps=1000) == 1 / 2
    assert {schedule_of(warmup_steps=1).rate(step, steps=1000) for step in (2, 10, 1000)} == {1.0}


@pytest.mark.parametrize("settings", [{"decay": "cosine"}, {"decay": "inverse_sqrt"}])
def test_a_decay_that_cannot_be_is_refused(settings):
    with pytest.raises(ValueError, match=r"trainer\.decay"):
        schedule_of(**settings)


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
        width=rows.width,
        embedding=4,
        hidden=3,
        bidirectional=False,
        pooling="mean",
        dropout=0.1,
        frozen=False,
        shortcut=False,
    )
    index = LabelledPairs(strategy="random", group="cluster").index(corpus, Path())
    make = type("", (Recording,), {"rates": rates})
    learner = Learner(
        encoder,
        ClosestAndMean(margin=0.25, semi_hard=False),
        make_optimizer=partial(make, lr=HIGHEST, momentum=0.9),
        validate=lambda encoder: ("auroc", float(len(rates))),
        seed=3,
        schedule=schedule_of(**settings),
    )

    def on_epoch(metrics, epoch):
        if epoch == cut:
            raise Cut

    fit(
        learner,
        train_loader(index, rows, EpochBatches(index, batch_size=5, seed=3), workers=0),
        runtime=Runtime("cpu", workers=0, progress=False),
        checkpoints=folder,
        on_epoch=on_epoch,
    )
    return encoder.state_dict()


@pytest.mark.parametrize("settings", [{"warmup_steps": 6, "decay": "inverse_sqrt"}, {"decay": "linear"}])
def test_every_step_of_a_training_has_its_own_rate(questions, tmp_path, settings):
    rates = []
    train(questions, tmp_path, rates=rates, **settings)
    assert len(rates) == 4 * 7
    assert rates == [pytest.approx(HIGHEST * schedule_of(**settings).rate(step, steps=28)) for step in range(1, 29)]


def test_a_resumed_training_goes_on_with_the_rates_and_to_the_weights_of_an_undisturbed_one(questions, tmp_path):
    settings = {"warmup_steps": 6, "decay": "linear"}
    undisturbed, rates = [], []
    expected = train(questions, tmp_path / "whole", rates=undisturbed, **settings)
    with pytest.raises(Cut):
        train(questions, tmp_path / "cut", rates=rates, cut=1, **settings)
    actual = train(questions, tmp_path / "cut", rates=rates, **settings)
    assert rates == undisturbed
    assert all(torch.equal(expected[name], actual[name]) for name in expected)
