"""Training: early stopping, best weights, and resuming after a kill with nothing changed."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_lightning import Callback
from pytorch_lightning.callbacks import EMAWeightAveraging
from safetensors.torch import load_file

from twicetold.features.bag_of_words import BagOfWords
from twicetold.models.dae import DenoisingAutoencoder
from twicetold.models.re2 import Re2
from twicetold.models.static_mlp import StaticMlp
from twicetold_lab.examples.batches import EpochBatches, train_loader
from twicetold_lab.examples.labelled import LabelledPairs, LabelledTexts
from twicetold_lab.objectives.denoising_triplet import DenoisingTriplet
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.objectives.pair_bce import PairBce
from twicetold_lab.training.adam_by_rows import AdamByRows
from twicetold_lab.training.fit import BEST, fit, keep_freed_memory
from twicetold_lab.training.learner import Diverged, Learner, clip_gradients
from twicetold_lab.training.schedule import Runtime, Schedule

RUNTIME = Runtime(accelerator="cpu", workers=0, progress=False)
ONE_EPOCH = Schedule(epochs=1, batch_size=7)


def learner_of(corpus, values=None, schedule=ONE_EPOCH):
    featuriser = BagOfWords().fit(corpus.texts_of("train"))
    rows = featuriser.transform(corpus.texts.to_pylist())
    torch.manual_seed(0)
    encoder = DenoisingAutoencoder(
        width=rows.width,
        hidden=4,
        activation="sigmoid",
        corruption="masking",
        corruption_level=0.3,
        decay_when_encoding=True,
    )
    scripted = iter(values or [])

    def validate(encoder):
        return "auroc", float(next(scripted)) if values else float(encoder.weight.detach().std())

    objective = DenoisingTriplet(alpha=10.0, negatives="all", reconstruction="cross_entropy")
    make = partial(torch.optim.Adam, lr=0.01, fused=True)
    learner = Learner(encoder, objective, make_optimizer=make, validate=validate, seed=3, schedule=schedule)
    index = LabelledTexts("category").index(corpus, Path())
    return learner, train_loader(index, rows, EpochBatches(index, batch_size=7, seed=3), workers=0)


def table_learner(corpus, make_optimizer, lr, schedule=ONE_EPOCH):
    """A table of which a batch has few rows."""
    rows = BagOfWords().fit(corpus.texts_of("train")).transform(corpus.texts.to_pylist())
    torch.manual_seed(0)
    settings = {"embedding": 6, "own": 2, "init_std": 0.5, "input_dropout": 0.0, "head": [8], "dropout": 0.1}
    encoder = StaticMlp(width=rows.width, scale=2.0, **settings)

    def validate(encoder):
        return "auroc", float(encoder.weight.detach().std())

    make = partial(make_optimizer, lr=lr)
    learner = Learner(encoder, PairBce(), make_optimizer=make, validate=validate, seed=3, schedule=schedule)
    index = LabelledPairs("random", "cluster").index(corpus, Path())
    return learner, train_loader(index, rows, EpochBatches(index, batch_size=3, seed=3), workers=0)


def run(
    corpus,
    folder,
    *,
    epochs=6,
    patience=None,
    values=None,
    on_epoch=lambda metrics, epoch: None,
    optimizer=None,
    lr=0.01,
    **more,
):
    schedule = Schedule(epochs=epochs, batch_size=7, patience=patience, gradient_clip=1.0, **more)
    if optimizer is None:
        learner, loader = learner_of(corpus, values, schedule)
    else:
        learner, loader = table_learner(corpus, optimizer, lr, schedule)
    fitted = fit(learner, loader, runtime=RUNTIME, checkpoints=folder, on_epoch=on_epoch)
    return fitted, {n: t.clone() for n, t in learner.encoder.state_dict().items()}


def equal(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def test_a_training_computes_what_a_plain_loop_computes(questions, tmp_path):
    make = partial(torch.optim.Adam, fused=True)
    trained, loader = table_learner(questions, make, 0.01, Schedule(epochs=2, batch_size=3, gradient_clip=0.1))
    rising = iter([0.1, 0.2])
    trained.validate = lambda encoder: ("auroc", next(rising))
    fit(trained, loader, runtime=RUNTIME, checkpoints=tmp_path, on_epoch=lambda *_: None)

    plain, loader = table_learner(questions, make, 0.01)
    optimizer = plain.make_optimizer(plain.parameters())
    for epoch in range(2):
        loader.batch_sampler.set_epoch(epoch)
        batches = list(loader)
        torch.manual_seed(3 + 1_000_003 * epoch)
        for batch in batches:
            optimizer.zero_grad()
            plain.objective(plain.encoded(batch))["loss"].backward()
            clip_gradients(plain.parameters(), 0.1)
            optimizer.step()
    assert equal(trained.encoder.state_dict(), plain.encoder.state_dict())


def test_the_best_epochs_weights_are_kept_and_training_stops_when_patience_is_out(news, tmp_path):
    values = [0.5, 0.9, 0.6, 0.7, 0.8, 0.8]
    fitted, weights = run(news, tmp_path / "a", epochs=6, patience=2, values=values)
    assert (fitted.epochs, fitted.best_epoch, fitted.best_value) == (4, 1, 0.9)
    _, until_best = run(news, tmp_path / "b", epochs=2, values=[0.5, 0.9])
    assert equal(weights, until_best)
    assert equal(weights, load_file(tmp_path / "a" / BEST))


def test_averages_of_the_weights_are_what_is_validated_and_kept(news, tmp_path):
    seen = []

    class Weights(Callback):
        def on_train_batch_end(self, trainer, learner, *_):
            seen.append(learner.encoder.weight.detach().clone())

    callbacks = {"seen": Weights(), "average": EMAWeightAveraging(decay=0.5)}
    fitted, weights = run(news, tmp_path, epochs=1, callbacks=callbacks)
    average = seen[0]
    for step in seen[1:]:
        average = average + 0.5 * (step - average)
    torch.testing.assert_close(weights["weight"], average)
    assert fitted.best_value == pytest.approx(float(average.std()))
    assert not torch.allclose(weights["weight"], seen[-1])


@pytest.mark.parametrize(
    ("callback", "answer"),
    [(EMAWeightAveraging(), "choose optimizer=adam"), ({"decay": 1}, "must name a callback of Lightning")],
)
def test_a_callback_that_cannot_do_its_work_is_refused(questions, tmp_path, callback, answer):
    with pytest.raises(ValueError, match=answer):
        run(questions, tmp_path, optimizer=AdamByRows, callbacks={"mine": callback})


class Cut(Exception):
    """Stands for a kill: nothing after it runs."""


FURTHER = {
    "nothing further": dict,
    "averaged weights": lambda: {"callbacks": {"ema": EMAWeightAveraging(decay=0.9)}},
}


@pytest.mark.parametrize("further", FURTHER.values(), ids=FURTHER)
@pytest.mark.parametrize("cut", [0, 1, 4])
def test_a_training_cut_after_any_epoch_resumes_to_the_very_same_weights(news, tmp_path, cut, further):
    undisturbed, expected = run(news, tmp_path / "whole", patience=3, **further())
    seen = []

    def stop(metrics, epoch):
        seen.append(epoch)
        if epoch == cut and len(seen) == cut + 1:
            raise Cut

    with pytest.raises(Cut):
        run(news, tmp_path / "cut", patience=3, on_epoch=stop, **further())
    resumed, weights = run(news, tmp_path / "cut", patience=3, on_epoch=stop, **further())
    assert equal(expected, weights)
    assert resumed == undisturbed
    assert seen == list(range(undisturbed.epochs))


def recording(rates):
    """An optimizer that keeps the rate of every step."""

    class Recording(torch.optim.SGD):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    return Recording


@pytest.mark.parametrize("settings", [{"warmup_steps": 6, "decay": "inverse_sqrt"}, {"decay": "linear"}])
def test_every_step_has_its_own_rate_also_after_a_resume(questions, tmp_path, settings):
    def stop(metrics, epoch):
        if epoch == 1:
            raise Cut

    undisturbed, rates = [], []
    _, expected = run(questions, tmp_path / "whole", epochs=4, optimizer=recording(undisturbed), **settings)
    schedule = Schedule(epochs=4, batch_size=7, **settings)
    assert len(undisturbed) == 4 * 12
    assert undisturbed == [pytest.approx(0.01 * schedule.rate(step, steps=48)) for step in range(1, 49)]
    with pytest.raises(Cut):
        run(questions, tmp_path / "cut", epochs=4, optimizer=recording(rates), on_epoch=stop, **settings)
    _, weights = run(questions, tmp_path / "cut", epochs=4, optimizer=recording(rates), **settings)
    assert rates == undisturbed
    assert equal(expected, weights)


def test_a_training_cut_when_early_stopping_had_decided_is_not_trained_further(news, tmp_path):
    def stop(metrics, epoch):
        if epoch == 3:
            raise Cut

    values = [0.5, 0.9, 0.6, 0.7]
    undisturbed, expected = run(news, tmp_path / "whole", patience=2, values=values)
    with pytest.raises(Cut):
        run(news, tmp_path / "cut", patience=2, values=values, on_epoch=stop)
    for folder in ("cut", "whole"):  # in the second, what came after training had failed
        resumed, weights = run(news, tmp_path / folder, patience=2, values=[0.95, 0.96])
        assert resumed == undisturbed
        assert equal(expected, weights)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("patience", [5, None])
def test_a_validation_metric_that_is_not_finite_is_an_error_that_leaves_nothing(news, tmp_path, value, patience):
    with pytest.raises(Diverged, match=r"diverged: val/auroc is .* in epoch 1\. Lower optimizer\.lr"):
        run(news, tmp_path / "a", epochs=3, patience=patience, values=[0.5, value, 0.5])
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, AdamByRows])
def test_weights_that_overflow_are_an_error_though_the_metric_is_finite(questions, tmp_path, optimizer):
    with pytest.raises(Diverged, match=r"diverged: .* in epoch 0"):
        run(questions, tmp_path / "a", optimizer=optimizer, lr=1e30)
    assert not (tmp_path / "a").exists()


def test_epoch_metrics_reach_the_listener(news, tmp_path):
    seen = []
    run(news, tmp_path, epochs=2, on_epoch=lambda metrics, epoch: seen.append((epoch, set(metrics))))
    expected = {"train/loss", "train/reconstruction", "train/triplet", "train/active", "val/auroc"}
    assert [epoch for epoch, _ in seen] == [0, 1]
    assert all(expected <= names for _, names in seen)


@pytest.mark.parametrize(("units", "expected"), [(True, "bf16-mixed"), (False, "32-true")])
def test_precision_follows_the_hardware_where_it_is_left_to_it(monkeypatch, units, expected):
    schedule = Schedule(epochs=1, batch_size=7, precision="auto")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": units}, raising=False)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: units and not including_emulation)
    for device in ("cpu", "cuda"):
        assert schedule.precision_on(torch.device(device)) == expected
        assert replace(schedule, precision="32-true").precision_on(torch.device(device)) == "32-true"


def test_bf16_trains(news, tmp_path):
    fitted, _ = run(news, tmp_path, epochs=1, precision="bf16-mixed")
    assert (fitted.epochs, fitted.precision) == (1, "bf16-mixed")


def test_a_family_of_pairs_alone_says_that_an_objective_of_vectors_moves_nothing(questions, tmp_path):
    rows = BagOfWords().fit(questions.texts_of("train")).transform(questions.texts.to_pylist())
    settings = {"embedding": 4, "init_std": 0.1, "hidden": 4, "blocks": 1, "layers": 1, "window": 3}
    encoder = Re2(width=rows.width, dropout=0.0, scale=5.0, **settings)
    settings = {"make_optimizer": torch.optim.Adam, "validate": lambda e: ("auroc", 0.5), "seed": 3}
    learner = Learner(encoder, InfoNce(temperature=0.1), schedule=ONE_EPOCH, **settings)
    index = LabelledPairs("random", "cluster").index(questions, Path())
    loader = train_loader(index, rows, EpochBatches(index, batch_size=3, seed=3), workers=0)
    with pytest.raises(ValueError, match=r"InfoNce needs trainable vectors .*, and Re2 has none.*pair_bce"):
        fit(learner, loader, runtime=RUNTIME, checkpoints=tmp_path, on_epoch=lambda m, e: None)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's settings")
def test_pages_of_freed_memory_are_not_taken_anew():
    import resource

    keep_freed_memory()
    size, taken = 40 << 20, []
    for _ in range(14):  # small allocations take pieces of what was freed, until there is a place for each
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(size // 4)
        taken.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    assert sorted(taken[7:])[3] < size // 4096 / 100  # the median: another thread may take some
