"""The steps of a training, by hand, in the pipeline or as a job of a sweep: `pipelines/train.py` says their order."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import Pruned
from twicetold.files import remove_folder, unchanged
from twicetold.printable import print
from twicetold.trained.provenance import pretrained_on, seen
from twicetold_lab import tracking
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.grid.code_identity import code_now, learnt_from
from twicetold_lab.grid.jobs import Job, Result, earlier
from twicetold_lab.grid.recipe import parts_of, runtime_of
from twicetold_lab.grid.settings import check_used
from twicetold_lab.grid.standalone import check_data, prepare_data
from twicetold_lab.runs.environment import observed
from twicetold_lab.runs.identity import Identity
from twicetold_lab.training.cell import Trained, train_cell
from twicetold_lab.training.parts import Parts, Places
from twicetold_lab.training.schedule import OnEpoch


@dataclass(frozen=True)
class Training:
    """A training that is ready to begin.

    Args:
        cfg: its settings.
        parts: built from them.
        corpus: its data.
        examples: those of the recipe; None if nothing is trained.
        who: its identity.
        code: hash of its code.
        environment: where it runs.
        job: which job of a sweep it is; None if it is none.
    """

    cfg: DictConfig
    parts: Parts
    corpus: Corpus
    examples: ExampleIndex | None
    who: Identity
    code: str
    environment: Mapping[str, Any]
    job: Job | None

    @property
    def name(self) -> str:
        """Name of its run in MLflow."""
        return self.job.name(self.who) if self.job else self.who.run_name

    @property
    def checkpoints(self) -> Path:
        """Folder of what it resumes from after a kill."""
        return Path(self.cfg.paths.checkpoints, self.who.outcome)

    @property
    def tracking(self) -> tracking.Settings:
        """Settings of its tracking."""
        return tracking.Settings(**self.cfg.tracking, root=Path.cwd(), origin="sweep" if self.job else self.cfg.origin)

    @property
    def parent(self) -> str | None:
        """The sweep's run in MLflow."""
        return self.job.sweep.parents.get(self.who.data) if self.job else None


def begin(cfg: DictConfig, job: Job | None) -> Training:
    """Check the settings, see to the data, and read them.

    Raises:
        ValueError: if settings make no sense, or the data or the code are others than those asked for.
    """
    standalone = cfg.origin != "dvc"
    if standalone and job is None:  # a sweep has checked all its jobs together
        check_used(cfg, HydraConfig.get().overrides.task)
    parts, config = parts_of(cfg), OmegaConf.to_container(cfg, resolve=True)
    code = code_now("train", config, learnt_from(config))
    if standalone:
        prepare_data(cfg)
    processed, triplets = (Path(root, cfg.data.name) for root in (cfg.paths.processed, cfg.paths.triplets))
    with unchanged(processed, triplets, missing_ok=True):
        corpus = Corpus.load(processed)
        if standalone:
            check_data(cfg, corpus, triplets)
        who = Identity.of(config, processed, triplets, code=code)
        examples = None if parts.examples is None else parts.examples.index(corpus, triplets)
    return Training(cfg, parts, corpus, examples, who, code, observed(), job)


def finished_earlier(training: Training, out: Path) -> Result | None:
    """Return the result of a job that an earlier call of its sweep has finished; None if it has to run."""
    if training.job is None or (result := earlier(out, training.who.outcome)) is None:
        return None
    print(f"{training.who.data} {training.name}: val {result.metric} {result.value:.4f}, from an earlier call")
    return result


def fit(training: Training, on_epoch: OnEpoch) -> Trained:
    """Train. A training that a search stops early leaves no checkpoints."""
    cfg, who = training.cfg, training.who
    try:
        return train_cell(
            training.corpus,
            training.parts,
            examples=training.examples,
            seed=who.seed,
            feature_key=who.feature_key,
            places=Places(Path(cfg.paths.triplets, cfg.data.name), Path(cfg.paths.features), training.checkpoints),
            runtime=runtime_of(cfg),
            on_epoch=on_epoch,
        )
    except Pruned:
        shutil.rmtree(training.checkpoints, ignore_errors=True)
        raise


def save(training: Training, trained: Trained, out: Path) -> None:
    """Write what was trained; an earlier model and its metrics are removed (in the pipeline, DVC removes them)."""
    config = OmegaConf.to_container(training.cfg, resolve=True)
    assert isinstance(config, dict)
    if training.cfg.origin != "dvc":
        for file in layout.EVALUATION:
            (out / file).unlink(missing_ok=True)
        remove_folder(out / layout.MODEL)
    trained.save(
        out / layout.TRAINED,
        features=config["features"],
        encoder=config["encoder"],
        data={"name": training.corpus.name, "train": training.corpus.train_digest()},
        pretrained_on=pretrained_on(config),
        seen=seen(config),
    )
    shutil.rmtree(training.checkpoints, ignore_errors=True)
