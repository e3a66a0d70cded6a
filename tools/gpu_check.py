#!/usr/bin/env python
"""Check that every family learns on a GPU what it learns on the CPU, in 32 bits and in bf16.

Each family is trained for two epochs on the CPU, on the GPU, and on the GPU in bf16. What must agree with the CPU are
the losses of the first steps and validation in the end; and validation must be better than untrained by a point, or
the check is too weak to tell. Dropout is off, and other random numbers are drawn on the CPU, so that all trainings see
the same ones. Exits with 0 if all agree, 1 if one does not, 2 without a GPU, and 3 if some could not be told, because
the check was too weak, a file is missing, or time was up.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import pytorch_lightning as pl
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.packages import PackageMissing
from twicetold.pretrained import located
from twicetold.trained.provenance import pretrained_files
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.recipe import parts_of
from twicetold_lab.training.cell import train_cell
from twicetold_lab.training.parts import Places
from twicetold_lab.training.schedule import Runtime

TOP = Path(__file__).resolve().parents[1]
STEPS = 8  # whose losses are compared
LOSS, LOSS_BF16 = 1e-3, 3e-2  # largest relative difference of a loss
VALUE, VALUE_BF16 = 0.005, 0.01  # largest difference of validation's primary metric
LEAST = 0.01  # by which validation must be better than untrained
SMALL_BATCH = 64  # on toy data, which have few examples: larger batches leave too few steps
NO_GPU, NOT_TOLD = 2, 3
LONG_TEXTS = "toy_articles"  # what families that learn from sentences in context are checked on, by --data
PASSES = 7  # of Adam over its weights: reads weight, gradient and two means, writes weight and means; 4 bytes each
COLUMNS = ("family", "untrained", "cpu", "device", "bf16", "loss", "loss bf16", "ms cpu", "ms", "ms bf16", "faster")
COLUMNS += ("MB", "floor", "bf16")


class TimeIsUp(BaseException):
    """The given number of seconds has passed."""


@dataclass(eq=False)
class Leg(pl.Callback):
    """One training, which it watches as a callback."""

    untrained: float = float("nan")
    """Validation's primary metric before the first step."""
    value: float = float("nan")
    """The same after the last epoch."""
    losses: list[Any] = field(default_factory=list)
    """Of the first steps; of a solver, of the epochs."""
    step: float = float("nan")
    """Seconds of a step, with the making of its batch, in the last epoch."""
    megabytes: float = 0.0
    """Peak memory: on a GPU that of this training's tensors, on the CPU that of the process so far."""
    operations: float = 0.0
    """Floating-point operations of a step, as far as PyTorch's counter knows them."""
    moved: int = 0
    """Weights with a gradient in a step."""
    counter: ExitStack = field(default_factory=ExitStack)

    def on_train_start(self, trainer: pl.Trainer, learner: Any) -> None:
        """Validate without training, and turn off dropout."""
        self.by_steps = learner.automatic_optimization
        self.untrained = learner.validate(learner.encoder)[1]
        for module in learner.modules():
            for name in ("dropout", "input_dropout", *(["p"] if isinstance(module, torch.nn.Dropout) else [])):
                if isinstance(getattr(module, name, None), float):
                    setattr(module, name, 0.0)
        if learner.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()

    def on_train_epoch_start(self, trainer: pl.Trainer, learner: Any) -> None:
        """Start the clock."""
        self.began = now(learner.device)

    def on_train_batch_start(self, trainer: pl.Trainer, learner: Any, batch: Any, number: int) -> None:
        """Count the operations of the first step."""
        if trainer.global_step == 0 and self.by_steps:
            self.mode = self.counter.enter_context(FlopCounterMode(display=False))

    def on_before_optimizer_step(self, trainer: pl.Trainer, learner: Any, optimizer: Any) -> None:
        """Stop counting."""
        if trainer.global_step == 0:
            self.counter.close()
            self.operations = self.mode.get_total_flops()
            gradients = [p.grad.coalesce().values() if p.grad.is_sparse else p.grad for p in graded(learner)]
            self.moved = sum(gradient.numel() for gradient in gradients)

    def on_train_batch_end(self, trainer: pl.Trainer, learner: Any, outputs: Any, batch: Any, number: int) -> None:
        """Keep the loss; it stays on the device, for which nothing waits."""
        if self.by_steps and len(self.losses) < STEPS:
            self.losses.append(outputs["loss"].detach())

    def on_train_epoch_end(self, trainer: pl.Trainer, learner: Any) -> None:
        """Stop the clock; validation follows."""
        self.step = (now(learner.device) - self.began) / trainer.num_training_batches
        if learner.device.type == "cuda":
            self.megabytes = torch.cuda.max_memory_allocated() / 1e6
        else:
            self.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

    def on_epoch(self, metrics: dict[str, float], epoch: int) -> None:
        """Keep an epoch's metric, and its loss if there is none of steps."""
        self.value = next(value for name, value in metrics.items() if name.startswith("val/"))
        if not self.by_steps:
            self.losses.append(metrics["train/loss"])


def graded(learner: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The parameters that have a gradient."""
    return [parameter for parameter in learner.parameters() if parameter.grad is not None]


def now(device: torch.device) -> float:
    """The time when the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def main(arguments: list[str]) -> int:
    """Check, print a table, and give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accelerator", choices=("gpu", "cpu"), default="gpu", help="cpu: all trainings on the CPU")
    parser.add_argument("--data", default="toy_questions", help="a dataset of conf/data; prepared if it is not yet")
    parser.add_argument("--model", nargs="+", help="families; by default all that learn, by gradients or a solver")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings, as of pipelines/train.py")
    parser.add_argument("--seconds", type=float, help="end within this time, and say what was not checked")
    asked = parser.parse_args(arguments)
    if asked.accelerator == "gpu" and not torch.cuda.is_available():
        print("no GPU here: nothing was checked (--accelerator cpu makes all trainings on the CPU)")
        return NO_GPU
    names = asked.model or sorted(path.stem for path in (TOP / "conf/sweep").glob("*.yaml"))
    answers = dict.fromkeys(names, "no time")
    try:
        with time_limit(asked.seconds):
            prepare(asked.data)
            compare(asked, names, answers)
    except TimeIsUp:
        print(f"time is up after {asked.seconds:.0f} s")
    for answer in sorted({*answers.values()} - {""}):
        print(f"{answer}: {', '.join(name for name in names if answers[name] == answer)}")
    if {"differs", "failed"} & {*answers.values()}:
        return 1
    return 0 if {*answers.values()} <= {"ok", ""} else NOT_TOLD


class time_limit(ExitStack):  # noqa: N801 (used like a function)
    """A context that `TimeIsUp` ends after a number of seconds, if one is given."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        if seconds is not None:
            before = signal.signal(signal.SIGALRM, raise_time_is_up)
            self.callback(signal.signal, signal.SIGALRM, before)
            self.callback(signal.setitimer, signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again each second, should one be swallowed


def raise_time_is_up(*_: object) -> None:
    """Answer the alarm."""
    raise TimeIsUp


def prepare(data: str) -> None:
    """Make the corpus and its triplets where they are missing."""
    if not Path("data/processed", data, layout.CARD).exists():
        for stage in ("download", "prepare", "mine"):
            subprocess.run([sys.executable, str(TOP / f"pipelines/{stage}.py"), f"data={data}"], check=True)


def compare(asked: argparse.Namespace, names: list[str], answers: dict[str, str]) -> None:
    """Check family by family, print a line for each, and write the answers; "" where nothing is to be learnt."""
    device = torch.device("cuda" if asked.accelerator == "gpu" else "cpu")
    speeds = rates(device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "the CPU"
    print(f"{asked.data} on {name}, torch {torch.__version__}, {torch.get_num_threads()} threads on the CPU")
    print(", ".join(f"{key}: {value / 1e9:,.0f}" for key, value in speeds.items()), "(10^9 a second, as measured here)")
    print("".join([COLUMNS[0].ljust(18), *(column.rjust(10) for column in COLUMNS[1:])]), flush=True)
    settings = [("cpu", "32-true"), (asked.accelerator, "32-true"), (asked.accelerator, "bf16-mixed")]
    for family in names:
        cfg = recipe(asked.data, family, asked.set)
        of_sentences = "masking_rate" in (cfg.examples or {}) and asked.data != LONG_TEXTS
        if cfg.objective._target_ is None or (asked.model is None and of_sentences):
            answers[family] = ""
            continue
        files = pretrained_files(OmegaConf.to_container(cfg, resolve=True))
        if missing := [file for file in files if not Path(located(file)).exists()]:
            answers[family] = f"skipped without {', '.join(missing)} (pipelines/download_pretrained.py)"
            continue
        try:
            with tempfile.TemporaryDirectory() as scratch:
                legs = [train(cfg, Path(scratch), *setting) for setting in settings]
        except PackageMissing as error:
            answers[family] = f"skipped: {error}"
        except Exception as error:  # noqa: BLE001 (the other families are checked all the same)
            answers[family] = "failed"
            print(f"{family:18}failed: {type(error).__name__}: {str(error)[:300]}", flush=True)
        else:
            answers[family], reasons = verdict(legs)
            print(line(family, legs, speeds), f" {answers[family]}{reasons}", flush=True)


def rates(device: torch.device) -> dict[str, float]:
    """What the device does in a second: operations of products of large matrices, and bytes of a copy."""

    def seconds(work: Callable[[], Any]) -> float:
        work()
        began = now(device)
        for _ in range(5):
            work()
        return (now(device) - began) / 5

    size, kinds = 8192 if device.type == "cuda" else 512, {"32-true": torch.float32, "bf16-mixed": torch.bfloat16}
    measured = {}
    for name, kind in kinds.items():
        matrix = torch.ones(size, size, dtype=kind, device=device)
        measured[name] = 2 * size**3 / seconds(lambda matrix=matrix: matrix @ matrix)
    block = torch.ones(2**27 if device.type == "cuda" else 2**24, device=device)
    target = torch.empty_like(block)
    return measured | {"bytes": 2 * 4 * len(block) / seconds(lambda: target.copy_(block))}


def recipe(data: str, model: str, settings: Sequence[str] = ()) -> DictConfig:
    """A family's config, for two epochs."""
    given = [f"data={data}", f"model={model}", "trainer.epochs=2", "trainer.patience=null", *settings]
    with initialize_config_dir(str(TOP / "conf"), version_base="1.3"):
        cfg = compose("train", given)
    if data.startswith("toy") and not any(one.startswith("trainer.batch_size=") for one in settings):
        cfg.trainer.batch_size = min(cfg.trainer.batch_size, SMALL_BATCH)
    return cfg


def train(cfg: DictConfig, scratch: Path, accelerator: str, precision: str) -> Leg:
    """Train without saving or tracking anything.

    Args:
        cfg: of the training.
        scratch: folder of the family, whose trainings share the features.
        accelerator: `cpu` or `gpu`.
        precision: Lightning's name.
    """
    cfg.trainer.precision = precision
    parts, leg = parts_of(cfg), Leg()
    on_cpu = {name: drawn_on_cpu(getattr(torch, name)) for name in ("rand", "randint", "multinomial")}
    with tempfile.TemporaryDirectory(dir=scratch) as checkpoints, leg.counter, mock.patch.multiple(torch, **on_cpu):
        train_cell(
            Corpus.load(Path(cfg.paths.processed, cfg.data.name)),
            replace(parts, schedule=replace(parts.schedule, callbacks={"leg": leg})),
            seed=cfg.seed,
            feature_key="features",
            places=Places(Path(cfg.paths.triplets, cfg.data.name), scratch, Path(checkpoints)),
            runtime=Runtime(accelerator=accelerator, workers=0, progress=False),
            on_epoch=leg.on_epoch,
        )
    leg.losses = [float(loss) for loss in leg.losses]
    return leg


def drawn_on_cpu(draw: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of random numbers that draws them on the CPU, whose generator is another than a GPU's."""

    def drawn(*args: Any, device: Any = None, **settings: Any) -> Tensor:
        tensors = [value for value in args if isinstance(value, Tensor)]
        given = [value.cpu() if isinstance(value, Tensor) else value for value in args]
        return draw(*given, **settings).to(device or (tensors[0].device if tensors else "cpu"))

    return drawn


def verdict(legs: Sequence[Leg]) -> tuple[str, str]:
    """`ok`, `differs` or `too weak to tell`, and why or what else is of note.

    Args:
        legs: on the CPU, on the device, and there in bf16.
    """
    cpu, same, half = legs
    within = {
        "losses": loss_difference(cpu, same) <= LOSS,
        "losses in bf16": loss_difference(cpu, half) <= LOSS_BF16,
        "validation": abs(cpu.value - same.value) <= VALUE,
        "validation in bf16": abs(cpu.value - half.value) <= VALUE_BF16,
    }
    if different := [what for what, holds in within.items() if not holds]:  # NaN differs, too
        return "differs", f": {', '.join(different)}"
    note = ", bf16 changes nothing" if (half.losses, half.value) == (same.losses, same.value) else ""
    if not all(leg.value - cpu.untrained >= LEAST for leg in legs):
        return "too weak to tell", note
    return "ok", note


def loss_difference(one: Leg, other: Leg) -> float:
    """The largest relative difference of a loss; NaN if there are not as many."""
    if not one.losses or len(one.losses) != len(other.losses):
        return float("nan")
    differences = [abs(a - b) / max(abs(a), 1e-6) for a, b in zip(one.losses, other.losses, strict=True)]
    return float(torch.tensor(differences).max())  # NaN if one is


def line(family: str, legs: Sequence[Leg], speeds: dict[str, float]) -> str:
    """A family's numbers, in the order of `COLUMNS`."""
    cpu, same, half = legs
    shares = [
        max(cpu.operations / speeds[precision], 4 * PASSES * cpu.moved / speeds["bytes"]) / leg.step
        for leg, precision in ((same, "32-true"), (half, "bf16-mixed"))
    ]
    values = [f"{value:.4f}" for value in (cpu.untrained, *(leg.value for leg in legs))]
    differences = [f"{loss_difference(cpu, leg):.0e}" for leg in (same, half)]
    times = [f"{1e3 * leg.step:.2f}" for leg in legs]
    rest = [f"{cpu.step / same.step:.1f}", f"{same.megabytes:.0f}"]
    rest += [f"{share:.1%}" if cpu.moved else "-" for share in shares]
    return family.ljust(18) + "".join(text.rjust(10) for text in (*values, *differences, *times, *rest))


if __name__ == "__main__":
    with readable_errors():
        sys.exit(main(sys.argv[1:]))
