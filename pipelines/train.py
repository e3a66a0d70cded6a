"""Train one family on one dataset: `train.py data=quora model=dae`, or `-m` for a sweep; returns val/<primary>.

A sweep that was stopped goes on when it is called again: its folder is named by what the command says.
"""

import checkout  # noqa: F401 (for its effects)
from twicetold.command_line import help_for

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from twicetold import layout, tracking
from twicetold.data.corpus import Corpus
from twicetold.errors import Pruned, readable_errors
from twicetold.features.hashing_card import by_view, in_words
from twicetold.files import only_process, unchanged, write_json
from twicetold.printable import print
from twicetold.runs.environment import observed
from twicetold.runs.environment import tags as environment_tags
from twicetold.runs.identity import Identity, with_versions
from twicetold.trained.provenance import pretrained_on
from twicetold.training.cell import Trained, train_cell
from twicetold.training.parts import Places
from twicetold_grid.by_hand import check_data, prepare_data
from twicetold_grid.code_identity import code_now, learnt_from
from twicetold_grid.multirun import Job, Result, as_job, earlier, name_folder, record
from twicetold_grid.recipe import params_of, parts_of, runtime_of
from twicetold_grid.settings import check_used, run_script


@hydra.main(version_base="1.3", config_path="../conf", config_name="train")
def main(cfg: DictConfig) -> float:
    with readable_errors():
        out, job = Path(HydraConfig.get().runtime.output_dir), Job.current()
        return train(cfg, out).value if job is None else as_job(out, partial(train, cfg, out, job))


def train(cfg: DictConfig, out: Path, job: Job | None = None) -> Result:
    """Train, by itself or as a job of a sweep."""
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
    checkpoints = Path(cfg.paths.checkpoints, who.outcome)
    if job is not None and (there := earlier(out, who.outcome)) is not None:
        print(f"{who.data} {job.name(who)}: val {there.metric} {there.value:.4f}, from an earlier call")
        return there
    settings = tracking.Settings(**cfg.tracking, root=Path.cwd(), origin="sweep" if job else cfg.origin)
    environment = observed()
    parent = job.sweep.parents.get(who.data) if job else None

    def on_epoch(metrics: dict[str, float], epoch: int) -> None:
        run.log_metrics(metrics, step=epoch)
        if job is not None:
            job.on_epoch(metrics, epoch)

    with (
        only_process(checkpoints.with_suffix(".lock"), f"the training of {who.run_name} on {who.data}"),
        tracking.start(
            settings,
            experiment=who.data,
            name=job.name(who) if job else who.run_name,
            tags=who.tags | environment_tags(environment),
            params=params_of(cfg, who, job.sweep.varies if job else ()),
            parent=parent,
            resumed=checkpoints.is_dir(),
        ) as run,
    ):
        for split in ("train", "val"):
            run.log_dataset(who.data, split=split, digest=who.data_digest, source=f"{processed}", counts=corpus.card)
        try:
            trained = train_cell(
                corpus,
                parts,
                examples=examples,
                seed=who.seed,
                feature_key=who.feature_key,
                places=Places(triplets, Path(cfg.paths.features), checkpoints),
                runtime=runtime_of(cfg),
                on_epoch=on_epoch,
            )
        except Pruned:
            shutil.rmtree(checkpoints, ignore_errors=True)
            raise
        save(trained, out, config, corpus)
        shutil.rmtree(checkpoints, ignore_errors=True)
        observe(trained, out, run, {"fingerprint": who.fingerprint, "environment": environment})
        run.log_text(OmegaConf.to_yaml(cfg, resolve=True, sort_keys=True), "config.yaml")
        run.log_model(out / layout.MODEL, input_example=corpus.example())
        result = Result(trained.metric, trained.fitted.best_value, trained.fitted.epochs, with_versions(code))
        run.describe_data(who.data, kind=corpus.kind, counts=corpus.card, primary=result.metric)
        if job is not None:
            tracking.report_to_sweep(
                settings, parent, experiment=who.data, child=run, primary=result.metric, value=result.value
            )
            record(out, who.outcome, result)
    for view, card in by_view(getattr(trained.scorer.featuriser, "card_", None)).items():
        print(f"{who.data} {who.run_name}: word hashing{view and f' of {view}'}: {in_words(card)}")
    name = job.name(who) if job else who.run_name
    print(f"{who.data} {name}: val {result.metric} {result.value:.4f} after {result.epochs} epochs")
    if by_hand:
        print(f"the model is in {os.path.relpath(out / layout.MODEL)}")
        if run.tracked and parent is None and (page := tracking.addresses(settings, [who.data]).get(who.data)):
            print(f"all runs of {who.data}, with `make ui`: {page}")
    return result


def save(trained: Trained, out: Path, config: dict[str, Any], corpus: Corpus) -> None:
    """Write the model; metrics of an earlier model are removed (in the pipeline, DVC removes them)."""
    if config["origin"] != "dvc":
        for file in layout.EVALUATION:
            (out / file).unlink(missing_ok=True)
    trained.save(
        out / layout.MODEL,
        features=config["features"],
        encoder=config["encoder"],
        data={"name": corpus.name, "train": corpus.train_digest()},
        pretrained_on=pretrained_on(config),
    )


def observe(trained: Trained, out: Path, run: tracking.Run, further: dict[str, Any]) -> None:
    """Write training time, throughput and where it ran; no stage depends on them."""
    seen = {"train_seconds": trained.seconds, "texts_per_second": trained.texts_per_second}
    write_json(out / layout.OBSERVED, seen | further)
    run.log_metrics({**seen, "parameters": trained.parameters, f"best/{trained.metric}": trained.fitted.best_value})


if __name__ == "__main__":
    help_for("data=toy_news", "model=static")
    name_folder()
    run_script(main)
