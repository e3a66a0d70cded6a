"""Checkpoints that are damaged, or made to run code: a message that says what to delete, and no traceback."""

import io
import pickle
import re
import shutil
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from twicetold.features.bag_of_words import BagOfWords
from twicetold.models.dae import DenoisingAutoencoder
from twicetold_lab.examples.batches import EpochBatches, train_loader
from twicetold_lab.examples.labelled import LabelledTexts
from twicetold_lab.objectives.denoising_triplet import DenoisingTriplet
from twicetold_lab.training.fit import BEST, LAST, fit
from twicetold_lab.training.learner import Learner
from twicetold_lab.training.schedule import Runtime, Schedule


class Killed(Exception):
    """Stands for a kill."""


@pytest.fixture
def train(news):
    """Train two epochs with checkpoints in a folder."""
    rows = BagOfWords().fit(news.texts_of("train")).transform(news.texts.to_pylist())
    index = LabelledTexts("category").index(news, Path())

    def _train(folder, on_epoch=lambda metrics, epoch: None, hidden=4):
        torch.manual_seed(0)
        noise = {"corruption": "masking", "corruption_level": 0.3, "decay_when_encoding": True}
        encoder = DenoisingAutoencoder(width=rows.width, hidden=hidden, activation="sigmoid", **noise)
        objective = DenoisingTriplet(alpha=10.0, negatives="all", reconstruction="cross_entropy")
        make = partial(torch.optim.Adam, lr=0.01)
        settings = {"make_optimizer": make, "validate": lambda encoder: ("auroc", 0.5), "seed": 0}
        learner = Learner(encoder, objective, schedule=Schedule(epochs=2, batch_size=16, patience=2), **settings)
        loader = train_loader(index, rows, EpochBatches(index, batch_size=16, seed=0), workers=0)
        runtime = Runtime(accelerator="cpu", workers=0, progress=False)
        return fit(learner, loader, runtime=runtime, checkpoints=folder, on_epoch=on_epoch)

    return _train


@pytest.fixture
def cut(train, tmp_path):
    """The checkpoints of a training that was killed after its first epoch."""

    def kill(metrics, epoch):
        raise Killed

    with pytest.raises(Killed):
        train(tmp_path / "cut", kill)
    return tmp_path / "cut"


def message_of(call, *, otherwise):
    """What a ValueError says."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return otherwise


def refused(train, folder, reason=None):
    with pytest.raises(ValueError, match=reason) as caught:
        train(folder)
    said = str(caught.value)
    assert re.match(f"cannot resume from the checkpoint {re.escape(str(folder / LAST))}: ", said)
    assert said.endswith(f"delete the folder {folder} to train from the start")
    assert "\n" not in said
    return said


class Opens:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def archive(pickled):
    """A checkpoint in the format of PyTorch around any pickle."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name, content in {"data.pkl": pickled, "version": b"3\n", "byteorder": b"little"}.items():
            target.writestr(f"archive/{name}", content)
    return made.getvalue()


@pytest.mark.parametrize("wrap", [bytes, archive], ids=["a pickle", "an archive"])
def test_a_checkpoint_runs_no_code(train, cut, tmp_path, wrap):
    (cut / LAST).write_bytes(wrap(pickle.dumps({"state_dict": {}, "epoch": Opens(tmp_path / "ran")}, protocol=2)))
    refused(train, cut)
    assert not (tmp_path / "ran").exists()
    pickle.loads(pickle.dumps(Opens(tmp_path / "ran"))).close()  # noqa: S301
    assert (tmp_path / "ran").exists(), "the trap works where it is unpickled"


def test_a_checkpoint_that_is_cut_off_is_refused(train, cut):
    whole = (cut / LAST).read_bytes()
    for length in (0, 1, 4, 100, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        (cut / LAST).write_bytes(whole[:length])
        refused(train, cut)


def test_a_checkpoint_with_flipped_bits_is_refused_or_read(train, cut):
    """Never anything but the message; a bit between the parts of an archive means nothing."""
    whole, best = (cut / LAST).read_bytes(), (cut / BEST).read_bytes()
    for place in np.random.default_rng(0).integers(0, 8 * len(whole), 12).tolist():
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        (cut / LAST).write_bytes(damaged)
        (cut / BEST).write_bytes(best)
        assert str(cut) in message_of(lambda: train(cut), otherwise=str(cut))


def test_a_checkpoint_with_a_flipped_bit_in_any_part_is_refused(train, cut):
    whole = (cut / LAST).read_bytes()
    with zipfile.ZipFile(cut / LAST) as parts:
        found = {part.filename: whole.find(parts.read(part)) for part in parts.infolist() if part.file_size > 16}
    assert len(found) > 5
    for name, place in found.items():
        (cut / LAST).write_bytes(whole[: place + 8] + bytes([whole[place + 8] ^ 1]) + whole[place + 9 :])
        refused(train, cut, f"{re.escape(name)} differs from its checksum")


@pytest.mark.parametrize("content", [{}, [], 5, "checkpoint", {"state_dict": {}}, {"epoch": 1}], ids=str)
def test_a_checkpoint_of_something_else_is_refused(train, cut, content):
    torch.save(content, cut / LAST)
    refused(train, cut)


@pytest.mark.parametrize("key", ["state_dict", "optimizer_states", "loops", "callbacks"])
@pytest.mark.parametrize("value", [None, 5, [], {"a": torch.zeros(1)}], ids=str)
def test_a_checkpoint_with_other_parts_is_refused_or_read(train, cut, key, value):
    content = torch.load(cut / LAST, weights_only=True)
    torch.save({**content, key: value}, cut / LAST)
    assert str(cut) in message_of(lambda: train(cut), otherwise=str(cut))


def test_the_checkpoint_of_another_training_is_refused(train, cut, tmp_path):
    train(tmp_path / "other", hidden=5)
    shutil.copy(tmp_path / "other" / LAST, cut / LAST)
    refused(train, cut, "size mismatch|state_dict")


@pytest.mark.parametrize("damage", ["missing", "cut off", "another encoder's", "no tensors"])
def test_best_weights_that_are_damaged_are_seen_before_training_goes_on(train, cut, damage):
    weights = load_file(cut / BEST)
    if damage == "missing":
        (cut / BEST).unlink()
    if damage == "cut off":
        (cut / BEST).write_bytes((cut / BEST).read_bytes()[:-10])
    if damage == "another encoder's":
        save_file({name: torch.zeros(3) for name in weights}, cut / BEST)
    if damage == "no tensors":
        save_file({}, cut / BEST)
    epochs = []
    with pytest.raises(ValueError, match="delete the folder"):
        train(cut, lambda metrics, epoch: epochs.append(epoch))
    assert epochs == []


def test_an_error_of_the_training_itself_is_not_blamed_on_the_checkpoint(train, cut):
    def fail(metrics, epoch):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(cut, fail)


def test_after_the_folder_is_deleted_the_same_command_works(train, cut):
    (cut / LAST).write_bytes(b"")
    refused(train, cut)
    shutil.rmtree(cut)
    assert train(cut).epochs == 2
