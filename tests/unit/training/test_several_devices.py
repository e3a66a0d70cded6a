"""One training on several devices: what one device learns, with files and messages of one process."""

import itertools
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import distributed, nn

from twicetold.examples.batches import EpochBatches, ExampleIndex, train_loader
from twicetold.features.rows import CsrRows
from twicetold.models.dae import DenoisingAutoencoder
from twicetold.models.dssm import Dssm
from twicetold.models.mv_dssm import MultiViewDssm
from twicetold.models.siamese_lstm import SiameseLstm
from twicetold.models.static import Static
from twicetold.models.static_mlp import StaticMlp
from twicetold.objectives.agreement import Agreement
from twicetold.objectives.closest_and_mean import ClosestAndMean
from twicetold.objectives.contrastive import Contrastive
from twicetold.objectives.denoising_triplet import DenoisingTriplet
from twicetold.objectives.info_nce import InfoNce
from twicetold.objectives.pair_bce import PairBce
from twicetold.objectives.triplet import Triplet
from twicetold.objectives.two_levels import TwoLevels
from twicetold.objectives.weighted_sum import WeightedSum
from twicetold.training import several_devices
from twicetold.training.adam_by_rows import AdamByRows
from twicetold.training.cell import train_cell
from twicetold.training.fit import LAST, fit
from twicetold.training.learner import Diverged, Learner
from twicetold.training.schedule import Runtime, Schedule
from twicetold.training.solvers.protocol import Solver
from twicetold.training.sparse_gradients import clip_gradients

WIDTH, TEXTS, EXAMPLES, BATCH = 40, 90, 21, 8  # batches of 8, 8 and 5 examples
SCHEDULE = Schedule(epochs=1, batch_size=BATCH, patience=None, gradient_clip=None, precision="32-true")
INFO_NCE = {"temperature": 0.2, "similarity": "cosine", "negatives": None, "several_positives": True}


def rows():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 6, TEXTS)
    indices = rng.integers(1, WIDTH, lengths.sum()).astype(np.int32)
    return CsrRows(indptr=np.concatenate([[0], lengths.cumsum()]), indices=indices, values=None, width=WIDTH)


def pairs(*sides):
    """Pairs with labels and clusters, and further sides of examples."""
    rng = np.random.default_rng(1)
    numbers, cluster = rng.permutation(TEXTS), rng.integers(-1, 6, (3, EXAMPLES))
    columns = {side: numbers[n * EXAMPLES :][:EXAMPLES] for n, side in enumerate(("anchor", "positive", *sides))}
    groups = dict(zip(("group", "positive_group"), cluster[:2], strict=True))
    groups |= {"negative_group": cluster[2]} if "negative" in sides else {}
    return ExampleIndex(**columns, **groups, label=(rng.random(EXAMPLES) < 0.7).astype(np.float32))


def texts():
    rng = np.random.default_rng(1)
    category = rng.integers(0, 3, EXAMPLES)
    return ExampleIndex(np.arange(EXAMPLES), label=category, group=category * 3 + rng.integers(0, 3, EXAMPLES))


def static(dropout=0.0):
    return Static(width=WIDTH, embedding=6, init_std=0.5, input_dropout=dropout)


def static_mlp():
    settings = {"embedding": 6, "own": 2, "init_std": 0.5, "input_dropout": 0.0, "head": [5], "dropout": 0.0}
    return StaticMlp(width=WIDTH, scale=2.0, **settings)


def dssm(*, batch_norm=False, shared=True, kind=Dssm, **views):
    settings = {"hidden": [7], "embedding": 5, "activation": "tanh", "dropout": 0.0, "input_dropout": 0.0}
    own = {"shared": shared} if kind is Dssm else {}
    return kind(width=WIDTH, batch_norm=batch_norm, **settings, **own, **views)


def lstm():
    settings = {"hidden": 5, "bidirectional": True, "pooling": "mean", "dropout": 0.0, "frozen": False}
    return SiameseLstm(width=WIDTH, embedding=4, shortcut=False, **settings)


def dae(corruption):
    settings = {"hidden": 4, "activation": "sigmoid", "corruption_level": 0.3, "decay_when_encoding": True}
    return DenoisingAutoencoder(width=WIDTH, corruption=corruption, **settings)


def triplet(similarity, activation, margin, negatives):
    return Triplet(similarity=similarity, activation=activation, margin=margin, negatives=negatives, average="nonzero")


def both(weight):
    parts = {"pairs": PairBce(pos_weight=2.0), "batch": InfoNce(**INFO_NCE, symmetric=False, length_penalty=0.0)}
    return WeightedSum(parts=parts, weights={"pairs": 1.0, "batch": weight})


def consistent():
    own = triplet("cosine", "hinge", 0.5, "given")
    return WeightedSum(parts={"own": own, "consistency": Agreement()}, weights={"own": 1, "consistency": 2.0})


def train(folder, encoder, objective, examples, devices, *, optimizer=None, epochs=1, on_epoch=None, **changes):
    """The weights after the last epoch, in which validation is best, and the curves of the epochs."""
    torch.manual_seed(0)
    epochs_so_far = len(list(folder.glob(LAST)))
    values = itertools.count(0.5 + epochs_so_far / 10, 0.1)
    learner = Learner(
        encoder(),
        objective(),
        make_optimizer=optimizer or partial(torch.optim.SGD, lr=0.5),
        validate=changes.pop("validate", lambda encoder: ("auroc", next(values))),
        seed=3,
        micro_batch=changes.pop("micro_batch", None),
        sharing=several_devices if devices > 1 else None,
    )
    loader = train_loader(examples, rows(), EpochBatches(examples, batch_size=BATCH, seed=3), workers=0)
    curves = []

    def listen(metrics, epoch):
        curves.append(metrics)
        if on_epoch is not None:
            on_epoch(metrics, epoch)

    fit(
        learner,
        loader,
        schedule=replace(SCHEDULE, epochs=epochs, **changes),
        runtime=Runtime("cpu", workers=0, progress=False, devices=devices),
        checkpoints=folder,
        on_epoch=listen,
    )
    learner.encoder.cpu()
    return {name: weight.clone() for name, weight in learner.state_dict().items()}, curves


def agree(one, other, tolerance=1e-5):
    (weights, curves), (expected, expected_curves) = one, other
    for name, weight in expected.items():
        torch.testing.assert_close(weights[name], weight, rtol=tolerance, atol=tolerance)
    for curve, expected_curve in zip(curves, expected_curves, strict=True):
        assert curve == pytest.approx(expected_curve, rel=tolerance, abs=tolerance)


@pytest.fixture(scope="module", autouse=True)
def no_server():
    """Ends the server of forks that other tests may have started; they start another one."""
    from fork_server import forks  # here: programs of these tests run this file, and do not have it

    if forks.cache_info().currsize:
        forks().end()
        forks.cache_clear()


@pytest.fixture(autouse=True)
def no_process_stays():
    yield
    with pytest.raises(ChildProcessError):  # of waitpid: there is none
        os.waitpid(-1, os.WNOHANG)
    assert not distributed.is_initialized()


CASES = {
    "info_nce both ways": (static, lambda: InfoNce(**INFO_NCE, symmetric=True, length_penalty=0.0), pairs("negative")),
    "info_nce of views": (
        partial(dssm, kind=MultiViewDssm, bounds=[0, 15, WIDTH]),
        lambda: InfoNce(**INFO_NCE | {"negatives": 3}, symmetric=False, length_penalty=0.0),
        pairs(),
    ),
    "info_nce of two towers": (
        partial(dssm, shared=False),
        lambda: InfoNce(**INFO_NCE | {"similarity": "dot"}, symmetric=True, length_penalty=0.1),
        pairs(),
    ),
    "triplet semi_hard": (static, lambda: triplet("euclidean", "hinge", 0.3, "semi_hard"), pairs("negative")),
    "triplet all": (static, lambda: triplet("dot", "softplus", None, "all"), texts()),
    "triplet drawn": (static, lambda: triplet("euclidean", "hinge", 0.3, "distance_weighted"), pairs()),
    "triplet given, consistency": (static, consistent, pairs("negative", "copy")),
    "contrastive": (static, lambda: Contrastive(margin=1.0, negatives="in_batch"), pairs()),
    "closest_and_mean": (lstm, lambda: ClosestAndMean(margin=0.5, semi_hard=False), pairs()),
    "two_levels": (static, lambda: TwoLevels(boundaries=[0.2, 0.6], weights=[1.0, 1.0], scale=5.0), texts()),
    "pair_bce of cosines": (static, lambda: PairBce(pos_weight=2.0, scale=3.0, threshold=0.1), pairs()),
    "pair_bce and info_nce": (static_mlp, partial(both, 0.5), pairs()),
    "pair_bce alone": (static_mlp, partial(both, 0.0), pairs()),
}


@pytest.mark.parametrize("case", CASES)
def test_two_processes_have_the_loss_and_the_gradient_of_one(case, tmp_path):
    # steps of gradient descent, so that the weights are off by what gradients are off
    agree(train(tmp_path / "2", *CASES[case], 2), train(tmp_path / "1", *CASES[case], 1))


HAS_THREADS = """
import runpy, sys
from pathlib import Path

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("gpu")
torch.set_num_threads(4)
torch.rand(1000, 1000) @ torch.rand(1000, 1000).exp()
here, folder = runpy.run_path(sys.argv[1]), Path(sys.argv[2])
train, case = here["train"], here["CASES"]["info_nce of views"]
here["agree"](train(folder / "2", *case, 2), train(folder / "1", *case, 1))
assert torch.get_num_threads() == 4
train(folder / "again", *case, 2)
"""
"""Trains in a process that has OpenMP's threads, and from its first gradient on those of autograd for a GPU."""


def test_processes_start_from_one_with_threads_on_a_machine_with_a_gpu(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", HAS_THREADS, __file__, tmp_path], capture_output=True, text=True, timeout=120
    )
    last = run.stderr.strip().splitlines()[-1]
    assert "ValueError: runtime.devices=2: this process has computed gradients already" in last, run.stderr
    assert "run each training in a process of its own" in last


def test_some_processes_may_have_no_share_of_a_batch(tmp_path):
    case = CASES["info_nce both ways"]  # the last batch has 5 examples for 6 processes
    agree(train(tmp_path / "6", *case, 6), train(tmp_path / "1", *case, 1))


def test_adam_by_rows_clipping_and_chunks_agree_with_one_device(tmp_path):
    settings = {"optimizer": partial(AdamByRows, lr=0.01), "epochs": 2, "gradient_clip": 0.1, "micro_batch": 3}
    case = CASES["pair_bce and info_nce"]
    agree(train(tmp_path / "2", *case, 2, **settings), train(tmp_path / "1", *case, 1, **settings), 1e-4)


def test_one_device_computes_what_a_plain_loop_computes(tmp_path):
    encoder, objective, examples = CASES["pair_bce of cosines"]
    settings = {"optimizer": partial(torch.optim.Adam, lr=0.01, fused=True), "epochs": 2, "gradient_clip": 0.1}
    weights, _ = train(tmp_path, encoder, objective, examples, 1, **settings)

    torch.manual_seed(0)
    parts = nn.ModuleDict({"encoder": encoder(), "objective": objective()})
    learner = Learner(*parts.values(), make_optimizer=None, validate=None, seed=3)
    optimizer = settings["optimizer"](parts.parameters())
    batches = EpochBatches(examples, batch_size=BATCH, seed=3)
    for epoch in range(2):
        torch.manual_seed(3 + 1_000_003 * epoch)
        batches.set_epoch(epoch)
        for batch in train_loader(examples, rows(), batches, workers=0):
            optimizer.zero_grad()
            learner.objective(learner.encoded(batch))["loss"].backward()
            clip_gradients(parts.parameters(), 0.1)
            optimizer.step()
    for name, weight in parts.state_dict().items():
        assert torch.equal(weights[name], weight), name


class Cut(Exception):
    """Stands for a kill: nothing after it runs."""


@pytest.mark.parametrize("devices", [1, 2])
def test_a_training_that_was_cut_on_two_devices_goes_on_there_and_on_one(devices, tmp_path):
    settings = {"optimizer": partial(torch.optim.Adam, lr=0.01, fused=True), "epochs": 3}
    case = CASES["info_nce both ways"]

    def stop(metrics, epoch):
        raise Cut

    whole, curves = train(tmp_path / "whole", *case, 2, **settings)
    with pytest.raises(Cut):
        train(tmp_path / "cut", *case, 2, **settings, on_epoch=stop)
    weights, rest = train(tmp_path / "cut", *case, devices, **settings)
    agree((weights, rest), (whole, curves[1:]))
    if devices == 2:
        assert all(torch.equal(weights[name], whole[name]) for name in whole)


def test_one_process_validates_and_reports_for_all(tmp_path):
    def validate(encoder):
        with (tmp_path / "validations").open("a") as file:
            file.write(f"{os.getpid()}\n")
        return "auroc", float(encoder.weight.detach().std())

    seen = []
    case = CASES["contrastive"]
    train(tmp_path / "2", *case, 2, epochs=3, validate=validate, on_epoch=lambda metrics, epoch: seen.append(epoch))
    assert (tmp_path / "validations").read_text().split() == [f"{os.getpid()}"] * 3
    assert seen == [0, 1, 2]
    assert {file.name for file in (tmp_path / "2").iterdir()} == {"best.safetensors", LAST}


@pytest.mark.parametrize("how", [signal.SIGKILL, "error"])
def test_a_process_that_is_lost_ends_the_training_with_one_message(how, tmp_path, capfd):
    class Lost(Contrastive):
        steps = 0

        def forward(self, batch):
            if distributed.is_initialized() and distributed.get_rank() == 1:
                self.steps += 1
                if self.steps == 5 and how == "error":
                    raise MemoryError("no memory left")
                if self.steps == 5:
                    os.kill(os.getpid(), how)
            return super().forward(batch)

    said = "MemoryError: no memory left" if how == "error" else "by SIGKILL"
    with pytest.raises(ChildProcessError, match=rf"process of a device ended before its time \({said}\).*2 devices.*"):
        train(tmp_path, static, partial(Lost, margin=1.0, negatives="in_batch"), pairs(), 2, epochs=3)
    assert (tmp_path / LAST).exists()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", ["epoch", "step"])
def test_a_signal_stops_all_processes_and_keeps_the_checkpoint(after, number, tmp_path):
    class Stopped(Contrastive):
        steps = 0

        def forward(self, batch):
            self.steps += distributed.is_initialized() and distributed.get_rank() == 0
            if self.steps == 5 and after == "step":
                os.kill(os.getpid(), number)
            return super().forward(batch)

    def interrupt(metrics, epoch):
        if after == "epoch":
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt, match="run the same command again"):
        train(
            tmp_path,
            static,
            partial(Stopped, margin=1.0, negatives="in_batch"),
            pairs(),
            2,
            epochs=4,
            on_epoch=interrupt,
        )
    assert (tmp_path / LAST).exists()


def test_an_error_of_all_processes_is_raised_as_on_one(tmp_path):
    with pytest.raises(Diverged, match="val/auroc is nan in epoch 0"):
        train(tmp_path / "2", *CASES["contrastive"], 2, validate=lambda encoder: ("auroc", float("nan")))
    assert not (tmp_path / "2").exists()


@pytest.mark.parametrize(
    ("encoder", "objective", "examples", "message"),
    [
        (partial(static, 0.3), CASES["contrastive"][1], pairs(), r"Static draws random numbers.*input_dropout"),
        (partial(dssm, batch_norm=True), CASES["contrastive"][1], pairs(), r"batch normalisation of Dssm"),
        (
            partial(dae, "none"),
            lambda: DenoisingTriplet(alpha=1.0, negatives="all", reconstruction="cross_entropy"),
            texts(),
            r"logits of the encoding.*got LinearLogits.*set runtime.devices=1",
        ),
    ],
)
def test_what_several_devices_would_not_learn_is_refused_before_anything_is_trained(
    encoder, objective, examples, message, tmp_path
):
    train(tmp_path, encoder, objective, examples, 1)
    with pytest.raises(ValueError, match=message) as refusal:
        train(tmp_path, encoder, objective, examples, 2)
    assert "cannot resume" not in f"{refusal.value}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"devices": 0}, "whole number from 1 on; got 0"),
        ({"devices": "two"}, "whole number from 1 on; got 'two'"),
        ({"devices": 2, "strategy": "fsdp"}, "strategy must be ddp.*got 'fsdp'"),
    ],
)
def test_devices_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Runtime("cpu", workers=0, progress=False, **settings)


def test_a_solver_is_refused_before_anything_is_read():
    runtime = Runtime("cpu", workers=0, progress=False, devices=2)
    rest = {"seed": 0, "feature_key": "key", "places": None, "runtime": runtime, "on_epoch": None}
    with pytest.raises(ValueError, match=r"the solver Solver computes in one process: set runtime\.devices=1"):
        train_cell(None, SimpleNamespace(make_optimizer=Solver()), **rest)
