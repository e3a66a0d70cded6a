#!/usr/bin/env python
"""Compare one epoch of training of every family on a GPU and on the CPU, in 32 bits and in bf16.

Exits with 1 if validation differs by more than half a point from the CPU in 32 bits, and with 2 if there is no
GPU. `--accelerator cpu` compares bf16 with 32 bits on the CPU instead.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import subprocess
import tempfile

import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.recipe import parts_of
from twicetold_lab.grid.standalone import prepare_pretrained
from twicetold_lab.training.cell import Trained, train_cell
from twicetold_lab.training.parts import Places
from twicetold_lab.training.schedule import Runtime

TOP = Path(__file__).resolve().parents[1]
TOLERANCE = 0.005  # of validation's primary metric
NO_GPU = 2
LONG_TEXTS = "toy_articles"  # what families that learn from sentences in context are checked on, by --data


def main(arguments: list[str]) -> int:
    """Check, print a table, and give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accelerator", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--data", default="toy_questions", help="a dataset of conf/data; prepared if it is not yet")
    parser.add_argument(
        "--model", nargs="+", help="families; by default all that learn, FILM and its solvers among them"
    )
    asked = parser.parse_args(arguments)
    if asked.accelerator == "gpu" and not torch.cuda.is_available():
        print("no GPU here: nothing was checked (--accelerator cpu compares bf16 with 32 bits on the CPU)")
        return NO_GPU
    prepare(asked.data)
    names = asked.model or sorted(path.stem for path in (TOP / "conf/sweep").glob("*.yaml"))
    recipes = {name: recipe(asked.data, name) for name in names}
    if asked.model is None and asked.data != LONG_TEXTS:
        recipes = {name: cfg for name, cfg in recipes.items() if "masking_rate" not in (cfg.examples or {})}
    learnt = {name: cfg for name, cfg in recipes.items() if cfg.objective._target_ is not None}
    settings = [("cpu", "32-true"), ("gpu", "32-true"), ("gpu", "bf16-mixed")]
    if asked.accelerator == "cpu":
        settings = [("cpu", "32-true"), ("cpu", "bf16-mixed")]
    print(f"{asked.data}: validation after one epoch")
    print("".join(["family".ljust(14), *(" ".join(s).rjust(16) for s in settings), "largest difference".rjust(20)]))
    for cfg in learnt.values():
        prepare_pretrained(cfg)
    failed = []
    for name, cfg in learnt.items():
        values = [validation(cfg, *setting) for setting in settings]
        differences = [abs(value - values[0]) for value in values[1:]]
        if not all(difference <= TOLERANCE for difference in differences):  # NaN fails, too
            failed.append(name)
        numbers = "".join(f"{value:16.4f}" for value in values)
        print(f"{name:14}{numbers}{max(differences):20.4f}{'  too large' if name in failed else ''}", flush=True)
    if failed:
        print(f"more than {TOLERANCE} from the CPU in 32 bits: {', '.join(failed)}")
    return 1 if failed else 0


def prepare(data: str) -> None:
    """Make the corpus and its triplets where they are missing."""
    if not Path("data/processed", data, layout.CARD).exists():
        for stage in ("download", "prepare", "mine"):
            subprocess.run([sys.executable, str(TOP / f"pipelines/{stage}.py"), f"data={data}"], check=True)


def recipe(data: str, model: str) -> DictConfig:
    """A family's config, for one epoch."""
    with initialize_config_dir(str(TOP / "conf"), version_base="1.3"):
        return compose("train", [f"data={data}", f"model={model}", "trainer.epochs=1", "trainer.patience=null"])


def validation(cfg: DictConfig, accelerator: str, precision: str) -> float:
    """The primary metric on validation after training."""
    cfg.trainer.precision = precision
    return train(cfg, Corpus.load(Path(cfg.paths.processed, cfg.data.name)), accelerator=accelerator).fitted.best_value


def train(cfg: DictConfig, corpus: Corpus, *, accelerator: str) -> Trained:
    """Train without saving or tracking anything."""
    with tempfile.TemporaryDirectory() as scratch:
        return train_cell(
            corpus,
            parts_of(cfg),
            seed=cfg.seed,
            feature_key="features",
            places=Places(Path(cfg.paths.triplets, cfg.data.name), Path(scratch), Path(scratch, "checkpoints")),
            runtime=Runtime(accelerator=accelerator, workers=0, progress=False),
            on_epoch=lambda metrics, epoch: None,
        )


if __name__ == "__main__":
    with readable_errors():
        sys.exit(main(sys.argv[1:]))
