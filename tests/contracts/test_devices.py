"""Every family trains on a device that is not the CPU, with the same losses and with no needless copies.

What the device can show, and what only a GPU can, is in docs/guides/devices.md.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import torch
from omegaconf import OmegaConf

from pretended_device import ITEM, TO_DEVICE, TO_HOST
from recipes import FAMILIES
from twicetold.encoding import SparseRows
from twicetold.trained.fitted import COSINE
from twicetold.trained.model_folder import load_trained
from twicetold.trained.scoring import Scorer
from twicetold_lab.examples.batches import Batch
from twicetold_lab.grid.recipe import parts_of
from twicetold_lab.mining import random
from twicetold_lab.training.cell import train_cell
from twicetold_lab.training.learner import Learner
from twicetold_lab.training.parts import Places
from twicetold_lab.training.schedule import Runtime

ON_CPU = Runtime(accelerator="cpu", workers=0, progress=False)
SETTINGS = ("data=toy_questions", "trainer.epochs=2", "trainer.batch_size=12", "trainer.precision=32-true")
CHANGES = {
    "bimpm": ["encoder.dropout=0.0", "encoder.hidden=20"],  # on a CPU it draws its masks in a way of its own
    "film": ["optimizer.iterations=3"],  # steps of an epoch; by default 1
    "film_bert": ["encoder.channels=32"],  # as wide as the tiny transformer here
    "ldc": ["encoder.dropout=0.0"],  # as bimpm
    "minilm": ["examples=duplicates", "objective=closest_and_mean", "optimizer=adam"],  # by default it learns nothing
    "re2": ["encoder.dropout=0.0", "encoder.hidden=40"],  # as bimpm
}
WAITS = {
    "bimpm": (5, 0),  # words of each text and letters of each word, for each side; words of each text of a pair
    "denoising_triplet": (1, 0),  # all triplets of a batch: the range of its dots and the size of its classes
    "ldc": (1, 0),  # words of each text
    "lstm_dssm": (2, 0),  # words of each text, for each side
    "minilm": (0, 2),  # transformers asks whether any token is padding, for each side
    "minilm_cross": (0, 1),
    "re2": (1, 0),  # words of each text
}
"""Copies to Python in a step, and numbers that it asks for, of an objective or a family; of all others, none."""
SOLVERS = {"film": (1, 0), "matcher": (1, 0), "mfilm": (3, 1)}
"""Copies in a step to the device and back: solvers compute on the CPU and write the map that they learn."""


@dataclass
class Run:
    """What a training did."""

    losses: list[float] = field(default_factory=list)
    """The sum of an epoch's losses up to each step."""
    steps: list[Counter[str]] = field(default_factory=list)
    """What each step copied and asked for, but the first of the training and the last of an epoch."""
    batch: int = 0
    """Tensors of a batch."""


@pytest.fixture
def recipe(composed, request):
    """The config of a family for a short training."""

    def of(model, *changes):
        cfg = composed("train", f"model={model}", *SETTINGS, *CHANGES.get(model, ()), *changes)
        if cfg.features._target_.endswith("ModelTokens"):
            cfg.features.model = str(request.getfixturevalue("tiny_bert"))
        return cfg

    return of


@pytest.fixture
def train(questions, tmp_path, monkeypatch):
    """Train a recipe on the tiny corpus, in a folder of its own."""
    sentences = [text.replace(" story", ". Story") for text in questions.texts.to_pylist()]  # as inverse cloze needs
    corpus = replace(questions, texts=pa.array(sentences))

    def trained(cfg, runtime, folder, traffic=None, on_epoch=lambda metrics, epoch: None):
        places = Places(*(tmp_path / folder / name for name in ("triplets", "features", "checkpoints")))
        strategy = cfg.examples.get("strategy", "random")
        random.mine(corpus, seed=0, label="cluster", per_anchor=1).save(places.triplets / f"{strategy}.parquet")
        run, sums, counts, step = Run(), [], [], Learner.training_step

        def training_step(learner, batch, number):
            if not number:  # between two epochs there is a validation
                counts.clear()
            counts.append(Counter(traffic or {}))
            run.steps.extend(Counter({name: b[name] - a[name] for name in b}) for a, b in pairwise(counts[-2:]))
            if isinstance(batch, Batch):
                run.batch = sum(map(tensors, vars(batch).values()))
            loss = step(learner, batch, number)
            sums.append(learner._sums["loss"].clone())
            return loss

        with monkeypatch.context() as patch:
            patch.setattr(Learner, "training_step", training_step)
            cell = train_cell(
                corpus, parts_of(cfg), seed=0, feature_key="key", places=places, runtime=runtime, on_epoch=on_epoch
            )
        run.losses, run.steps = [float(loss) for loss in sums], run.steps[1:]
        return run, cell

    return trained


def tensors(part):
    return 2 + (part.values is not None) if isinstance(part, SparseRows) else int(isinstance(part, torch.Tensor))


SIDES = ["bank rate. Story1", "film star. Story2"], ["bank cut. Story1", "drug trial. Story3"]


def scores_when_saved(cell, cfg, folder):
    """A saved model gives the scores of the trained one."""
    settings = {name: OmegaConf.to_container(cfg[name], resolve=True) for name in ("features", "encoder")}
    cell.save(folder, **settings, data={"name": cfg.data.name, "train": "0"})
    scores = Scorer(*load_trained(folder)[:2], COSINE).score(*SIDES)
    # some saved models are read without PyTorch, whose sums are rounded otherwise
    expected = Scorer(cell.featuriser, cell.encoder, COSINE).score(*SIDES)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-7)
    assert len(np.unique(scores)) > 1
    return scores


@pytest.mark.parametrize("model", FAMILIES)
def test_a_family_trains_is_saved_and_learns_on_a_device_what_it_learns_on_the_cpu(
    model, recipe, train, request, tmp_path
):
    cfg = recipe(model)
    expected, on_cpu = train(cfg, ON_CPU, "cpu")
    scores = scores_when_saved(on_cpu, cfg, tmp_path / "here")
    if cfg.objective._target_ is None:  # it learns nothing
        return
    pretended = request.getfixturevalue("pretended")
    found, on_device = train(cfg, pretended.runtime, "device", pretended.traffic)
    assert len(found.losses) >= 4
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-4)
    assert on_device.fitted.best_value == pytest.approx(on_cpu.fitted.best_value, abs=1e-4)
    assert found.steps
    objective = cfg.objective._target_.split(".")[2]
    copies, numbers = (sum(WAITS.get(name, (0, 0))[kind] for name in (objective, model)) for kind in (0, 1))
    for step in found.steps:  # no more than its batch to the device
        assert (step[TO_DEVICE], step[TO_HOST]) == SOLVERS.get(model, (found.batch, copies))
        assert step[ITEM] == numbers
    np.testing.assert_allclose(scores_when_saved(on_device, cfg, tmp_path / "there"), scores, rtol=1e-3, atol=1e-4)


# Adam, Adam by rows, solvers, negatives that the model mines itself
@pytest.mark.parametrize("model", ["siamese_cnn", "static_mlp", "film", "mfilm", "dssm negatives=self_mined"])
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(model, recipe, train, pretended):
    cfg = recipe(*model.split())

    class Stopped(Exception):
        pass

    def stop(metrics, epoch):
        raise Stopped

    whole, expected = train(cfg, pretended.runtime, "whole")
    with pytest.raises(Stopped):
        train(cfg, pretended.runtime, "stopped", on_epoch=stop)
    rest, found = train(cfg, pretended.runtime, "stopped")
    assert rest.losses == whole.losses[len(whole.losses) // 2 :]
    for name, weights in expected.encoder.state_dict().items():
        assert torch.equal(found.encoder.state_dict()[name], weights), name
