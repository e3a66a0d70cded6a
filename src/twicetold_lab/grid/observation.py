"""Observation of a training: its run in MLflow, the terminal. No stage depends on any of it."""

import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra.utils import instantiate
from omegaconf import OmegaConf

from twicetold import layout
from twicetold.files import only_process, write_json, write_text
from twicetold.printable import print
from twicetold_lab import tracking
from twicetold_lab.grid.jobs import Result, record
from twicetold_lab.grid.recipe import params_of
from twicetold_lab.grid.training import Training
from twicetold_lab.runs.environment import tags as environment_tags
from twicetold_lab.runs.identity import with_versions
from twicetold_lab.scoring.cache import cached_rows
from twicetold_lab.scoring.deciding import decide, read_trained
from twicetold_lab.training.cell import Trained
from twicetold_lab.training.schedule import OnEpoch


@contextmanager
def tracked(training: Training) -> Iterator[tracking.TrackedRun]:
    """Provide its run in MLflow, which SIGTERM ends as Ctrl-C does; no other process trains the same meanwhile.

    Raises:
        BlockingIOError: if another process does.
    """
    who, corpus = training.who, training.corpus
    alone = only_process(training.checkpoints.with_suffix(".lock"), f"the training of {who.run_name} on {who.data}")
    with _sigterm_as_ctrl_c(), alone:
        remove_remains(training.checkpoints)
        with tracking.start(
            training.tracking,
            experiment=who.data,
            name=training.name,
            tags=who.tags | environment_tags(training.environment),
            params=params_of(training.cfg, who, training.job.sweep.varies if training.job else ()),
            parent=training.parent,
            resumed=training.checkpoints.is_dir(),
        ) as run:
            source = f"{Path(training.cfg.paths.processed, training.cfg.data.name)}"
            for split in ("train", "val"):
                run.log_dataset(who.data, split=split, digest=who.data_digest, source=source, counts=corpus.card)
            yield run


def remove_remains(checkpoints: Path) -> None:
    """Remove checkpoints whose removal was cut off by a kill: without the best weights, no training can resume."""
    if checkpoints.is_dir():
        from twicetold_lab.training.fit import BEST

        if not (checkpoints / BEST).exists():
            shutil.rmtree(checkpoints)


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


def logger_of(training: Training, run: tracking.TrackedRun) -> OnEpoch:
    """Return a callback for the metrics of each epoch: MLflow and the sweep."""
    job = training.job

    def on_epoch(metrics: dict[str, float], epoch: int) -> None:
        run.log_metrics(metrics, step=epoch)
        if job is not None:
            job.on_epoch(metrics, epoch)

    return on_epoch


def log(training: Training, trained: Trained, out: Path, run: tracking.TrackedRun) -> Result:
    """Write what was observed, and log it; by hand, decide on validation as well. A job tells its sweep."""
    who, corpus, job = training.who, training.corpus, training.job
    seen = {"train_seconds": trained.seconds, "texts_per_second": trained.texts_per_second}
    further = {"fingerprint": who.fingerprint, "environment": training.environment}
    write_json(out / layout.OBSERVED, seen | further)
    run.log_metrics({**seen, "parameters": trained.parameters, f"best/{trained.metric}": trained.fitted.best_value})
    run.log_text(OmegaConf.to_yaml(training.cfg, resolve=True, sort_keys=True), "config.yaml")
    if training.cfg.origin != "dvc":  # in the pipeline, `evaluate` decides
        rows_of = cached_rows(corpus, Path(training.cfg.paths.features), key=who.feature_key)
        read = read_trained(out / layout.TRAINED, rows_of).keeping(corpus.members["val"])
        matched = instantiate(training.cfg.matched)
        decide(out / layout.TRAINED, out / layout.MODEL, read, corpus, training.parts.selection, matched)
        run.log_model(out / layout.MODEL)
    result = Result(trained.metric, trained.fitted.best_value, trained.fitted.epochs, with_versions(training.code))
    run.describe_data(who.data, kind=corpus.kind, counts=corpus.card, primary=result.metric)
    if job is not None:
        record(out, who.outcome, result)
    return result


def tell(training: Training, trained: Trained, result: Result, out: Path, run: tracking.TrackedRun) -> None:
    """Say on the terminal what came out and where it is."""
    who = training.who
    for view, card in _by_view(trained.featuriser.card_).items():
        print(f"{who.data} {who.run_name}: word hashing{view and f' of {view}'}: {_in_words(card)}")
    print(f"{who.data} {training.name}: val {result.metric} {result.value:.4f} after {result.epochs} epochs")
    if training.cfg.origin == "dvc":
        return
    print(f"the model is in {os.path.relpath(out / layout.MODEL)}")
    if run.tracked and training.parent is None:
        page = tracking.addresses(training.tracking, [who.data]).get(who.data)
        if page:
            print(f"all runs of {who.data}, with `make ui`: {page}")


def write_card(out: Path, *, cards: Path) -> None:
    """Write the model card of a run folder into it.

    Args:
        out: the run folder, with what its evaluation wrote.
        cards: folder of the cards of datasets.
    """
    from twicetold_lab.reporting.model_card import model_card

    write_text(out / layout.MODEL_CARD, model_card(out, cards=cards, use=os.path.relpath(out)))


def _by_view(reports: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """Return the reports in a featuriser's `card_`, by view; the name is empty where there are no views."""
    if not reports:
        return {}
    return {"": reports} if "published" in reports else dict(reports)


def _in_words(one: Mapping[str, Any]) -> str:
    """Return a report as a line of text."""
    published = one["published"]
    own, theirs = (f"{each['collisions_percent']:.2g} %" for each in (one, published))
    return (
        f"{one['words']:,} words into {one['letter_grams']:,} letter n-grams, {own} of the words collide "
        f"(Huang et al. 2013: {published['words']:,} into {published['letter_grams']:,}, {theirs})"
    )
