"""The steps of a training, by hand, in the pipeline or as a job of a sweep: `pipelines/train.py` says their order."""

import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold import layout, tracking
from twicetold.data.corpus import Corpus
from twicetold.errors import Pruned
from twicetold.examples.batches import ExampleIndex
from twicetold.features.hashing_card import by_view, in_words
from twicetold.files import only_process, unchanged, write_json
from twicetold.printable import print
from twicetold.runs.environment import observed
from twicetold.runs.environment import tags as environment_tags
from twicetold.runs.identity import Identity, with_versions
from twicetold.trained.provenance import pretrained_on
from twicetold.training.cell import Trained, train_cell
from twicetold.training.parts import Parts, Places
from twicetold_grid.by_hand import check_data, prepare_data
from twicetold_grid.code_identity import code_now, learnt_from
from twicetold_grid.jobs import Job, Result, earlier, record
from twicetold_grid.recipe import params_of, parts_of, runtime_of
from twicetold_grid.settings import check_used


@dataclass(frozen=True)
class Training:
    """What a training starts from.

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
        """Of its run in MLflow."""
        return self.job.name(self.who) if self.job else self.who.run_name

    @property
    def checkpoints(self) -> Path:
        """Folder of what it resumes from after a kill."""
        return Path(self.cfg.paths.checkpoints, self.who.outcome)

    @property
    def tracking(self) -> tracking.Settings:
        """Whether and where it is tracked."""
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
    by_hand = cfg.origin != "dvc"
    if by_hand and job is None:  # a sweep has checked all its jobs together
        check_used(cfg, HydraConfig.get().overrides.task)
    parts, config = parts_of(cfg), OmegaConf.to_container(cfg, resolve=True)
    code = code_now("train", config, learnt_from(config))
    if by_hand:
        prepare_data(cfg)
    processed, triplets = (Path(root, cfg.data.name) for root in (cfg.paths.processed, cfg.paths.triplets))
    with unchanged(processed, triplets, missing_ok=True):
        corpus = Corpus.load(processed)
        if by_hand:
            check_data(cfg, corpus, triplets)
        who = Identity.of(config, processed, triplets, code=code)
        examples = None if parts.examples is None else parts.examples.index(corpus, triplets)
    return Training(cfg, parts, corpus, examples, who, code, observed(), job)


def finished_earlier(training: Training, out: Path) -> Result | None:
    """The result of a job that an earlier call of its sweep has finished; None if it has to run."""
    if training.job is None or (there := earlier(out, training.who.outcome)) is None:
        return None
    print(f"{training.who.data} {training.name}: val {there.metric} {there.value:.4f}, from an earlier call")
    return there


@contextmanager
def tracked(training: Training) -> Iterator[tracking.TrackedRun]:
    """Its run in MLflow, which SIGTERM ends as Ctrl-C does; no other process trains the same meanwhile.

    Raises:
        BlockingIOError: if another process does.
    """
    who, corpus = training.who, training.corpus
    with (
        _sigterm_as_ctrl_c(),
        only_process(training.checkpoints.with_suffix(".lock"), f"the training of {who.run_name} on {who.data}"),
        tracking.start(
            training.tracking,
            experiment=who.data,
            name=training.name,
            tags=who.tags | environment_tags(training.environment),
            params=params_of(training.cfg, who, training.job.sweep.varies if training.job else ()),
            parent=training.parent,
            resumed=training.checkpoints.is_dir(),
        ) as run,
    ):
        source = f"{Path(training.cfg.paths.processed, training.cfg.data.name)}"
        for split in ("train", "val"):
            run.log_dataset(who.data, split=split, digest=who.data_digest, source=source, counts=corpus.card)
        yield run


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM in the block, so that what is open is closed."""
    if threading.current_thread() is not threading.main_thread():  # no other may set handlers
        yield
        return
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def fit(training: Training, run: tracking.TrackedRun) -> Trained:
    """Train, and choose the decision on validation. A training that a search stops early leaves no checkpoints."""
    cfg, who, job = training.cfg, training.who, training.job
    loggers = own_loggers(cfg)
    for logger in loggers:
        logger.log_hyperparams(dict(who.learning))

    def on_epoch(metrics: dict[str, float], epoch: int) -> None:
        run.log_metrics(metrics, step=epoch)
        for logger in loggers:
            logger.log_metrics(metrics, step=epoch)
        if job is not None:
            job.on_epoch(metrics, epoch)

    ended = "failed"
    try:
        trained = train_cell(
            training.corpus,
            training.parts,
            examples=training.examples,
            seed=who.seed,
            feature_key=who.feature_key,
            places=Places(Path(cfg.paths.triplets, cfg.data.name), Path(cfg.paths.features), training.checkpoints),
            runtime=runtime_of(cfg),
            on_epoch=on_epoch,
        )
        ended = "success"
        return trained
    except Pruned:
        shutil.rmtree(training.checkpoints, ignore_errors=True)
        raise
    finally:
        for logger in loggers:
            logger.finalize(ended)


def own_loggers(cfg: DictConfig) -> list[Any]:
    """Lightning's loggers that the settings name, beside MLflow.

    Raises:
        ValueError: if one is no logger.
    """
    named = instantiate(cfg.tracking.loggers, _convert_="all")
    if not named:
        return []
    from pytorch_lightning.loggers import Logger  # takes seconds

    for name, logger in named.items():
        if not isinstance(logger, Logger):
            raise ValueError(
                f"tracking.loggers.{name} must name a logger of Lightning by `_target_`; got {type(logger).__name__}"
            )
    return list(named.values())


def save(training: Training, trained: Trained, out: Path) -> None:
    """Write the model; metrics of an earlier model are removed (in the pipeline, DVC removes them)."""
    config = OmegaConf.to_container(training.cfg, resolve=True)
    assert isinstance(config, dict)
    if training.cfg.origin != "dvc":
        for file in layout.EVALUATION:
            (out / file).unlink(missing_ok=True)
    trained.save(
        out / layout.MODEL,
        features=config["features"],
        encoder=config["encoder"],
        data={"name": training.corpus.name, "train": training.corpus.train_digest()},
        pretrained_on=pretrained_on(config),
    )
    shutil.rmtree(training.checkpoints, ignore_errors=True)


def log(training: Training, trained: Trained, out: Path, run: tracking.TrackedRun) -> Result:
    """Write what was observed, which no stage depends on, and log it with the model; a job tells its sweep."""
    who, corpus, job = training.who, training.corpus, training.job
    seen = {"train_seconds": trained.seconds, "texts_per_second": trained.texts_per_second}
    further = {"fingerprint": who.fingerprint, "environment": training.environment}
    write_json(out / layout.OBSERVED, seen | further)
    run.log_metrics({**seen, "parameters": trained.parameters, f"best/{trained.metric}": trained.fitted.best_value})
    run.log_text(OmegaConf.to_yaml(training.cfg, resolve=True, sort_keys=True), "config.yaml")
    run.log_model(out / layout.MODEL, input_example=corpus.example())
    result = Result(trained.metric, trained.fitted.best_value, trained.fitted.epochs, with_versions(training.code))
    run.describe_data(who.data, kind=corpus.kind, counts=corpus.card, primary=result.metric)
    if job is not None:
        tracking.report_to_sweep(
            training.tracking,
            training.parent,
            experiment=who.data,
            child=run,
            primary=result.metric,
            value=result.value,
        )
        record(out, who.outcome, result)
    return result


def tell(training: Training, trained: Trained, result: Result, out: Path, run: tracking.TrackedRun) -> None:
    """Say on the terminal what came out and where it is."""
    who = training.who
    for view, card in by_view(trained.scorer.featuriser.card_).items():
        print(f"{who.data} {who.run_name}: word hashing{view and f' of {view}'}: {in_words(card)}")
    print(f"{who.data} {training.name}: val {result.metric} {result.value:.4f} after {result.epochs} epochs")
    if training.cfg.origin == "dvc":
        return
    print(f"the model is in {os.path.relpath(out / layout.MODEL)}")
    if run.tracked and training.parent is None:
        page = tracking.addresses(training.tracking, [who.data]).get(who.data)
        if page:
            print(f"all runs of {who.data}, with `make ui`: {page}")
