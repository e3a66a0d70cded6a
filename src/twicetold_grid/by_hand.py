"""Data for a script that is run outside the pipeline: runs the data stages if data is missing or not current."""

import subprocess
import sys
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from twicetold.data.corpus import Corpus
from twicetold.data.freshness import corpus_is_current, is_made_with, triplets_are_current
from twicetold.files import TEMPORARY, one_at_a_time

PIPELINES = Path(__file__).resolve().parents[2] / "pipelines"

OF_DATA = ("data.", "data@", "paths.", "profile=")
"""Prefixes of the overrides that are passed on to the data stages."""


def prepare_data(cfg: DictConfig, hydra: DictConfig | None = None) -> None:
    """Run `download`, `prepare` and `mine`, or `mine` alone, unless corpus and triplets are those of the config.

    Of several commands that need the same data at the same time, one prepares them and the others wait.

    Args:
        cfg: of the training.
        hydra: Hydra's part of it; None: that of this process.

    Raises:
        ValueError: if a stage fails.
    """
    if not _missing(cfg):
        return
    hydra = hydra or HydraConfig.get()
    choice, overrides = hydra.runtime.choices.data, hydra.overrides.task
    further = [override for override in overrides if override.lstrip("+~").startswith(OF_DATA)]
    with one_at_a_time(
        Path(cfg.paths.processed, f"{TEMPORARY}{cfg.data.name}.lock"),
        waiting=f"another command prepares {cfg.data.name}: waiting until it has",
    ):
        for stage in _missing(cfg):
            command = [sys.executable, str(PIPELINES / f"{stage}.py"), f"data={choice}", *further]
            if subprocess.run(command, check=False).returncode:
                raise ValueError(f"{stage} of {choice} failed, see above")


def _missing(cfg: DictConfig) -> list[str]:
    """The data stages whose output is missing or of other settings."""
    data = OmegaConf.to_container(cfg.data, resolve=True)
    processed, triplets = (Path(root, cfg.data.name) for root in (cfg.paths.processed, cfg.paths.triplets))
    if not corpus_is_current(processed, data):
        return ["download", "prepare", "mine"]
    if not triplets_are_current(triplets, Corpus.load(processed), label=cfg.data.label):  # prepare ran alone
        return ["mine"]
    return []


def check_data(cfg: DictConfig, corpus: Corpus, triplets: Path) -> None:
    """Check that what was loaded is what the config asks for: another command may have prepared other data meanwhile.

    Raises:
        ValueError: if it is not.
    """
    data = OmegaConf.to_container(cfg.data, resolve=True)
    if not (is_made_with(corpus.card, data) and triplets_are_current(triplets, corpus, label=cfg.data.label)):
        raise ValueError(
            f"the data of {corpus.name} in {cfg.paths.processed} and {cfg.paths.triplets} are of other settings than "
            "this command's: another command has prepared them since. Run this command again when that one has ended, "
            "or give each its own folders: paths.processed=... paths.triplets=..."
        )
