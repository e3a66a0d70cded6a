"""Data for a script that is run outside the pipeline: runs the stages whose output is missing or not current."""

import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from twicetold.features.vectors import require
from twicetold.files import TEMPORARY, make_once, one_at_a_time
from twicetold.pretrained import fetch
from twicetold.trained.provenance import named, pretrained_files
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.freshness import corpus_is_current, is_made_with, triplets_are_current
from twicetold_lab.grid.settings import choices, without_hydra

PIPELINES = Path(__file__).resolve().parents[3] / "pipelines"

OF_DATA = ("data.", "data@", "paths.", "profile=")
"""Prefixes of the overrides that are passed on to the data stages."""


def prepare_data(cfg: DictConfig, hydra: DictConfig | None = None) -> None:
    """Run `download` and `prepare` unless the corpus is that of the config, and `mine` where triplets are read.

    Of several commands that need the same data at the same time, one prepares them and the others wait.

    Args:
        cfg: of the training.
        hydra: Hydra's part of it; None: that of this process.

    Raises:
        ValueError: if a stage fails.
    """
    hydra = hydra or HydraConfig.get()
    prepare_pretrained(cfg, hydra.overrides.task)
    if not _missing(cfg):
        return
    choice, overrides = hydra.runtime.choices.data, hydra.overrides.task
    further = [override for override in overrides if override.lstrip("+~").startswith(OF_DATA)]
    with one_at_a_time(
        Path(cfg.paths.processed, f"{TEMPORARY}{cfg.data.name}.lock"),
        message=f"another command prepares {cfg.data.name}: waiting until it has",
    ):
        for stage in _missing(cfg):
            _run(stage, f"data={choice}", *further)


def prepare_pretrained(cfg: DictConfig, overrides: Iterable[str] = ()) -> None:
    """Fetch the pretrained files that a training reads, by the stage `download_pretrained`, where they are missing.

    Of several commands that need the same file at the same time, one fetches it and the others wait.

    Args:
        cfg: of the training.
        overrides: of the command; those of folders are passed on.

    Raises:
        ValueError: if the stage fails.
        FileNotFoundError: if a file of one's own is not there.
        ModelUnavailable: if the hub does not give a model.
    """
    published = choices("pretrained")
    folders = [override for override in overrides if override.startswith("paths.")]
    config = OmegaConf.to_container(without_hydra(cfg), resolve=True)
    for file in pretrained_files(config):
        below = Path(file).parts[len(Path(cfg.paths.pretrained).parts) :]
        if Path(file).is_relative_to(cfg.paths.pretrained) and below[0] in published:
            folder = Path(cfg.paths.pretrained, below[0])
            make_once(folder, partial(_run, "download_pretrained", f"pretrained={below[0]}", *folders))
    for model in named("model", config["features"]):
        fetch(model)
    for vectors in named("vectors", config["features"]):
        require(Path(vectors))


def _run(stage: str, *overrides: str) -> None:
    """Run a stage by its script."""
    if subprocess.run([sys.executable, str(PIPELINES / f"{stage}.py"), *overrides], check=False).returncode:
        raise ValueError(f"{stage} of {overrides[0].partition('=')[2]} failed, see above")


def _missing(cfg: DictConfig) -> list[str]:
    """Return the data stages whose output is missing or of other settings."""
    data = OmegaConf.to_container(cfg.data, resolve=True)
    processed, triplets = (Path(root, cfg.data.name) for root in (cfg.paths.processed, cfg.paths.triplets))
    mine = ["mine"] if reads_triplets(cfg) else []
    if not corpus_is_current(processed, data):
        return ["download", "prepare", *mine]
    if mine and triplets_are_current(triplets, Corpus.load(processed), label=cfg.data.label):
        return []
    return mine


def reads_triplets(cfg: DictConfig) -> bool:
    """Return true if a training may read the output of the stage `mine`: its examples name one of the strategies.

    Those count as its data then (`runs.identity`), also where a corpus has labelled pairs and none is read.
    """
    return cfg.examples.get("strategy") is not None


def check_data(cfg: DictConfig, corpus: Corpus, triplets: Path) -> None:
    """Check that what was loaded is what the config asks for: another command may have prepared other data meanwhile.

    Raises:
        ValueError: if it is not.
    """
    data = OmegaConf.to_container(cfg.data, resolve=True)
    mined = not reads_triplets(cfg) or triplets_are_current(triplets, corpus, label=cfg.data.label)
    if not (is_made_with(corpus.card, data) and mined):
        raise ValueError(
            f"the data of {corpus.name} in {cfg.paths.processed} and {cfg.paths.triplets} are of other settings than "
            "this command's: another command has prepared them since. Run this command again when that one has ended, "
            "or give each its own folders: paths.processed=... paths.triplets=..."
        )
