#!/usr/bin/env python
"""Check that every family learns on a GPU what it learns on the CPU, in 32 bits and in bf16.

Each family is trained for two epochs on the CPU, on the GPU, and on the GPU in bf16. The losses of the first steps and
validation in the end must be the CPU's, and validation a point better than untrained, or the check is too weak to tell.
Dropout is off, and other random numbers are drawn on the CPU: all trainings see the same ones. Exits with 0 if all
agree, 1 if one does not, 2 without a GPU, and 3 if some could not be told: too weak, a file is missing, or time was up.
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
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.pretrained import located
from twicetold.trained.provenance import pretrained_files
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.recipe import parts_of
from twicetold_lab.training.cell import train_cell
from twicetold_lab.training.parts import Places
from twicetold_lab.training.schedule import Runtime

TOP = Path(__file__).resolve().parents[1]
STEPS = 8  # whose losses are compared
LOSS, LOSS_BF16 = 1e-3, 3e-2  # largest difference of a loss, see `loss_difference`
VALUE, VALUE_BF16 = 0.005, 0.02  # largest difference of validation's primary metric
LEAST = 0.01  # by which validation must be better than untrained
SMALL_BATCH = 64  # on toy data, which have few examples: larger batches leave too few steps
NO_GPU, NOT_TOLD = 2, 3
LONG_TEXTS = "toy_articles"  # what families that learn from sentences in context are checked on, by --data
ADAM = 7 * 4  # bytes for a weight: weight, gradient and two means are read, weight and means are written
TABLE = "{:15}" + "{:>10}" * 4 + "{:>7}{:>10}" + "{:>9}" * 3 + "{:>7}" * 4 + "  {}"
HEAD = "family/untrained/cpu/device/bf16/loss/loss bf16/ms cpu/ms/ms bf16/ratio/MB/floor/bf16/".split("/")


@dataclass(eq=False)
class Leg(pl.Callback):
    """One training, which it watches as a callback."""

    untrained: float = float("nan")  # validation's primary metric before the first step
    value: float = float("nan")  # and after the last epoch
    losses: list[Any] = field(default_factory=list)  # of the first steps; of a solver, of the epochs
    step: float = float("nan")  # seconds of a step of the last epoch, with the making of its batch
    megabytes: float = 0.0  # peak memory: on a GPU of this training's tensors, on the CPU of the process so far
    operations: float = 0.0  # of a step in floating point, as far as PyTorch's counter knows them
    weights: int = 0  # with a gradient in the first step
    counting: ExitStack = field(default_factory=ExitStack)

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

    def on_train_batch_start(self, trainer: pl.Trainer, learner: Any, batch: Any, number: int) -> None:
        """Start the clock of the epoch, and count the operations of the first step."""
        if number == 0:
            self.began = now(learner.device)
        if trainer.global_step == 0 and self.by_steps:
            self.counter = self.counting.enter_context(FlopCounterMode(display=False))

    def on_before_optimizer_step(self, trainer: pl.Trainer, learner: Any, optimizer: Any) -> None:
        """Stop counting."""
        if trainer.global_step == 0:
            self.counting.close()
            self.operations = self.counter.get_total_flops()
            gradients = [p.grad for p in learner.parameters() if p.grad is not None]
            self.weights = sum((g.coalesce().values() if g.is_sparse else g).numel() for g in gradients)

    def on_train_batch_end(self, trainer: pl.Trainer, learner: Any, outputs: Any, batch: Any, number: int) -> None:
        """Keep the loss; it stays on the device, for which nothing waits."""
        if self.by_steps and len(self.losses) < STEPS:
            self.losses.append(outputs["loss"].detach())

    def on_train_epoch_end(self, trainer: pl.Trainer, learner: Any) -> None:
        """Stop the clock; validation follows."""
        self.step = (now(learner.device) - self.began) / trainer.num_training_batches
        of_process = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.megabytes = (torch.cuda.max_memory_allocated() if learner.device.type == "cuda" else of_process) / 1e6


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
    parser.add_argument("--seconds", type=float, default=0, help="end within this time, and say what was not checked")
    asked = parser.parse_args(arguments)
    if asked.accelerator == "gpu" and not torch.cuda.is_available():
        print("no GPU here: nothing was checked (--accelerator cpu makes all trainings on the CPU)")
        return NO_GPU
    every = sorted(path.stem for path in (TOP / "conf/sweep").glob("*.yaml"))
    answers = dict.fromkeys(asked.model or every, "no time for")
    signal.signal(signal.SIGALRM, signal.default_int_handler)  # the end of the time is a Ctrl-C
    try:
        signal.setitimer(signal.ITIMER_REAL, asked.seconds, 1)  # again each second, should one be swallowed
        prepare(asked.data)
        check(asked, answers)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
    for answer in sorted({*answers.values()} - {""}):
        print(f"{answer}: {', '.join(name for name in answers if answers[name] == answer)}")
    told = {*answers.values()}
    return 1 if {"differs", "failed"} & told else 0 if told <= {"ok", ""} else NOT_TOLD


def prepare(data: str) -> None:
    """Make the corpus and its triplets where they are missing."""
    if not Path("data/processed", data, layout.CARD).exists():
        for stage in ("download", "prepare", "mine"):
            subprocess.run([sys.executable, str(TOP / f"pipelines/{stage}.py"), f"data={data}"], check=True)


def check(asked: argparse.Namespace, answers: dict[str, str]) -> None:
    """Check family by family, print a line for each, and write its answer; "" where nothing is to be learnt."""
    device = "cuda" if asked.accelerator == "gpu" else "cpu"
    rates, card = measured_rates(device), torch.cuda.get_device_name() if device == "cuda" else "the CPU"
    print(f"{asked.data} on {card}, torch {torch.__version__}, {torch.get_num_threads()} threads on the CPU")
    print("10^9 a second:", ", ".join(f"{name} {rate / 1e9:,.0f}" for name, rate in rates.items()))
    print(TABLE.format(*HEAD), flush=True)
    settings = (("cpu", "32-true"), (asked.accelerator, "32-true"), (asked.accelerator, "bf16-mixed"))
    for family in answers:
        cfg = recipe(asked.data, family, asked.set)
        in_context = "masking_rate" in (cfg.examples or {}) and asked.data != LONG_TEXTS
        files = pretrained_files(OmegaConf.to_container(cfg, resolve=True))
        if cfg.objective._target_ is None or (asked.model is None and in_context):
            answers[family] = ""
        elif missing := [file for file in files if not Path(located(file)).exists()]:
            answers[family] = f"skipped, because {missing[0]} is missing (pipelines/download_pretrained.py)"
        else:
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    legs = [train(cfg, Path(scratch), *setting) for setting in settings]
                answers[family], note = verdict(legs)
                text = [*numbers(legs, rates), f"{answers[family]}{note}"]
            except Exception as error:  # the other families are checked all the same
                answers[family], text = "failed", [*[""] * 13, f"failed: {type(error).__name__}: {str(error)[:300]}"]
            print(TABLE.format(family, *text), flush=True)


def measured_rates(device: str) -> dict[str, float]:
    """What the device does in a second: operations of products of large matrices, and bytes of a copy."""
    size, rates = 8192 if device == "cuda" else 512, {}
    for name, kind in (("32-true", torch.float32), ("bf16-mixed", torch.bfloat16)):
        matrix = torch.ones(size, size, dtype=kind, device=device)
        rates[name] = 2 * size**3 / Timer("matrix @ matrix", globals={"matrix": matrix}).timeit(5).mean
    block = torch.ones(2**27 if device == "cuda" else 2**24, device=device)
    copy = Timer("target.copy_(block)", globals={"target": torch.empty_like(block), "block": block}).timeit(5).mean
    return rates | {"bytes": 2 * block.nbytes / copy}


def recipe(data: str, model: str, settings: Sequence[str] = ()) -> DictConfig:
    """A family's config, for two epochs."""
    given = [f"data={data}", f"model={model}", "trainer.epochs=2", "trainer.patience=null"]
    given += [f"trainer.batch_size={SMALL_BATCH}"] * data.startswith("toy") + [*settings]
    with initialize_config_dir(str(TOP / "conf"), version_base="1.3"):
        return compose("train", given)


def train(cfg: DictConfig, scratch: Path, accelerator: str, precision: str) -> Leg:
    """Train without saving or tracking anything; feature rows stay in `scratch`."""
    cfg.trainer.precision = precision
    parts, leg, curves = parts_of(cfg), Leg(), []
    on_cpu = {name: drawn_on_cpu(getattr(torch, name)) for name in ("rand", "randint", "multinomial")}
    with tempfile.TemporaryDirectory(dir=scratch) as checkpoints, leg.counting, mock.patch.multiple(torch, **on_cpu):
        train_cell(
            Corpus.load(Path(cfg.paths.processed, cfg.data.name)),
            replace(parts, schedule=replace(parts.schedule, callbacks={"leg": leg})),
            seed=cfg.seed,
            feature_key="features",
            places=Places(Path(cfg.paths.triplets, cfg.data.name), scratch, Path(checkpoints)),
            runtime=Runtime(accelerator=accelerator, workers=0, progress=False),
            on_epoch=lambda metrics, epoch: curves.append(dict(metrics)),
        )
    leg.losses = [float(loss) for loss in leg.losses] or [metrics["train/loss"] for metrics in curves]
    leg.value = next(value for name, value in curves[-1].items() if name.startswith("val/"))
    return leg


def drawn_on_cpu(draw: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of random numbers that draws them on the CPU, whose generator is another than a GPU's."""

    def drawn(*args: Any, device: Any = None, **settings: Any) -> Tensor:
        device = device or next((value.device for value in args if isinstance(value, Tensor)), "cpu")
        return draw(*(value.cpu() if isinstance(value, Tensor) else value for value in args), **settings).to(device)

    return drawn


def verdict(legs: Sequence[Leg]) -> tuple[str, str]:
    """`ok`, `differs` or `too weak to tell` of a training on the CPU, on the device, and there in bf16; and why."""
    cpu, device, half = legs
    different = []
    for leg, where, loss, value in ((device, "", LOSS, VALUE), (half, " in bf16", LOSS_BF16, VALUE_BF16)):
        different += [f"losses{where}"] * (not loss_difference(cpu, leg) <= loss)  # NaN differs, too
        different += [f"validation{where}"] * (not abs(cpu.value - leg.value) <= value)
    if different:
        return "differs", f": {', '.join(different)}"
    note = ", bf16 changes nothing" if (half.losses, half.value) == (device.losses, device.value) else ""
    return "ok" if all(leg.value - cpu.untrained >= LEAST for leg in legs) else "too weak to tell", note


def loss_difference(one: Leg, other: Leg) -> float:
    """The largest difference of a loss, relative to it or to the first, as some fall to almost 0; NaN if one is NaN."""
    losses, others = torch.tensor(one.losses), torch.tensor(other.losses)
    return float(((losses - others).abs() / losses.abs().clamp(min=losses[0].abs())).max())


def numbers(legs: Sequence[Leg], rates: dict[str, float]) -> list[str]:
    """A family's numbers, in the order of the table."""
    cpu, device, half = legs
    floors = [max(cpu.operations / rates[of], ADAM * cpu.weights / rates["bytes"]) for of in ("32-true", "bf16-mixed")]
    shares = [f"{floor / leg.step:.1%}" if floor else "-" for floor, leg in zip(floors, (device, half), strict=True)]
    values = [f"{value:.4f}" for value in (cpu.untrained, *(leg.value for leg in legs))]
    differences = [f"{loss_difference(cpu, leg):.0e}" for leg in (device, half)]
    times = [f"{1e3 * leg.step:.2f}" for leg in legs]
    return [*values, *differences, *times, f"{cpu.step / device.step:.1f}", f"{device.megabytes:.0f}", *shares]


if __name__ == "__main__":
    with readable_errors():
        sys.exit(main(sys.argv[1:]))
