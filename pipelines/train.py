"""Train one family on one dataset: `train.py data=quora model=dae`, or `-m` for a sweep; returns val/<primary>."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.types import RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold import layout, tracking
from twicetold.augmentation.augment import Augmentation
from twicetold.command_line import help_for
from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.features.hashing_card import by_view, in_words
from twicetold.files import write_text
from twicetold.identity import Identity
from twicetold.provenance import pretrained_on
from twicetold.scoring import Scorer, load_scorer, other_parts
from twicetold.training.cell import Parts, Places, Trained, train_cell
from twicetold.training.schedule import Runtime, Schedule


@hydra.main(version_base="1.3", config_path="../conf", config_name="train")
def main(cfg: DictConfig) -> float:
    with readable_errors():
        return train(cfg, Path(HydraConfig.get().runtime.output_dir))


def train(cfg: DictConfig, out: Path) -> float:
    processed, triplets = (Path(root, cfg.data.name) for root in (cfg.paths.processed, cfg.paths.triplets))
    if cfg.origin != "dvc":
        prepare_when_stale(cfg, processed, triplets)
    corpus = Corpus.load(processed)
    config = OmegaConf.to_container(cfg, resolve=True)
    who = Identity.of(config, processed, triplets)
    checkpoints = Path(cfg.paths.checkpoints, who.fingerprint)
    settings, parent = tracking_of(cfg, who)
    with tracking.start(
        settings,
        experiment=who.data,
        name=who.run_name,
        tags=who.tags,
        params=who.learning,
        parent=parent,
        resumed=checkpoints.is_dir(),
    ) as run:
        run.log_dataset(who.data, context="training", digest=who.data_digest, source=f"{processed}", counts=corpus.card)
        trained = train_cell(
            corpus,
            parts_of(cfg),
            seed=who.seed,
            feature_key=who.feature_key,
            places=Places(triplets, Path(cfg.paths.features), checkpoints),
            runtime=runtime_of(cfg),
            on_epoch=lambda metrics, epoch: run.log_metrics(metrics, step=epoch),
        )
        for view, card in by_view(getattr(trained.scorer.featuriser, "card_", None)).items():
            print(f"{who.data} {who.run_name}: word hashing{view and f' of {view}'}: {in_words(card)}")
        if cfg.origin != "dvc":  # what was measured of a model that was here before
            for file in layout.EVALUATION:
                (out / file).unlink(missing_ok=True)
        trained.save(
            out / layout.MODEL,
            features=config["features"],
            encoder=config["encoder"],
            data={"name": corpus.name, "train": corpus.train_digest()},
            pretrained_on=pretrained_on(config),
        )
        shutil.rmtree(checkpoints, ignore_errors=True)
        observe(trained, out, run)
        run.log_text(OmegaConf.to_yaml(cfg, resolve=True, sort_keys=True), "config.yaml")
        run.log_model(out / layout.MODEL, input_example=example_of(corpus))
        metric, value = trained.metric, trained.fitted.best_value
        tracking.report_to_sweep(settings, parent, experiment=who.data, child=run, primary=metric, value=value)
    print(f"{who.data} {who.run_name}: val {metric} {value:.4f} after {trained.fitted.epochs} epochs")
    if cfg.origin != "dvc":
        print(f"the model is in {os.path.relpath(out / layout.MODEL)}")
    return value


def parts_of(cfg: DictConfig) -> Parts:
    def built(part: str, **shape: Any) -> Any:
        if cfg[part]._target_ is None:
            return None
        try:
            return instantiate(cfg[part], **shape)
        except InstantiationException as error:
            if "unexpected keyword" not in str(error):
                raise
            raise ValueError(
                f"{part} has a setting that {cfg[part]._target_} does not know: {error.__cause__}. Where it comes from "
                f"conf/tuned/, whose values are for the recipe's own {part}, add tuned=none"
            ) from error

    if not isinstance(rate := cfg.optimizer.get("lr", 1.0), int | float):
        raise ValueError(f"optimizer.lr is a number; got {rate!r}")
    return Parts(
        featuriser=built("features"),
        encoder_of=lambda shape: built("encoder", **shape),
        examples=built("examples"),
        objective=built("objective"),
        make_optimizer=built("optimizer"),
        schedule=Schedule(**cfg.trainer),
        evaluator=instantiate(cfg.evaluator),
        augmentation=Augmentation.of(cfg.augmentation, weight=cfg.consistency.weight),
        committee=cfg.committee,
        joined=earlier_generation(cfg),
    )


def earlier_generation(cfg: DictConfig) -> Scorer | None:
    """The model of the run that `joined` names."""
    if cfg.joined is None:
        return None
    model = Path(cfg.joined, layout.MODEL)
    scorer = load_scorer(model)
    if other := other_parts(model, OmegaConf.to_container(cfg, resolve=True)):
        raise ValueError(
            f"joined={cfg.joined} was trained with other {' and '.join(other)}, and a model has one recipe: give the "
            "same settings, or joined=null"
        )
    return scorer


def runtime_of(cfg: DictConfig) -> Runtime:
    progress = sys.stderr.isatty() if cfg.runtime.progress == "auto" else cfg.runtime.progress
    return Runtime(accelerator=cfg.runtime.accelerator, workers=cfg.runtime.workers, progress=progress)


def tracking_of(cfg: DictConfig, who: Identity) -> tuple[tracking.Settings, str | None]:
    """Where to track, and the parent run of a sweep's job."""
    sweep = HydraConfig.get().mode == RunMode.MULTIRUN
    settings = tracking.Settings(**cfg.tracking, root=Path.cwd(), origin="sweep" if sweep else cfg.origin)
    if not sweep:
        return settings, None
    name = f"sweep {Path(HydraConfig.get().sweep.dir).name}"
    return settings, tracking.sweep_parent(
        settings, experiment=who.data, sweep_id=str(HydraConfig.get().sweep.dir), name=name
    )


def prepare_when_stale(cfg: DictConfig, processed: Path, triplets: Path) -> None:
    """Bring corpus and triplets up to date with the config, for a person who trains without the pipeline."""
    data = OmegaConf.to_container(cfg.data, resolve=True)
    if not prepared(processed, data):
        stages = ["download", "prepare", "mine"]
    elif not chosen(triplets, Corpus.load(processed), label=data["label"]):  # an interrupt may have come between
        stages = ["mine"]
    else:
        return
    choice = HydraConfig.get().runtime.choices.data
    begins = ("data.", "data@", "paths.", "profile=")
    further = [o for o in HydraConfig.get().overrides.task if o.lstrip("+~").startswith(begins)]
    for stage in stages:
        command = [sys.executable, str(Path(__file__).with_name(f"{stage}.py")), f"data={choice}", *further]
        if subprocess.run(command, check=False).returncode:
            raise ValueError(f"{stage} of {choice} failed, see above")


def prepared(processed: Path, data: dict[str, Any]) -> bool:
    """Whether the corpus is there, made from these settings and these files."""
    card = processed / layout.CARD
    if not card.exists():
        return False
    made = json.loads(card.read_text(encoding="utf-8"))["card"]
    own = data["source"].get("path")
    return made.get("source") == data["source"] and (own is None or Path(own).stat().st_mtime < card.stat().st_mtime)


def chosen(triplets: Path, corpus: Corpus, *, label: str) -> bool:
    """Whether triplets are there, chosen from the train texts of this corpus and by this label."""
    cards = [json.loads(file.read_text(encoding="utf-8")) for file in triplets.glob(f"*{layout.TRIPLETS_CARD}")]
    now = {"train": corpus.train_digest(), "label": label}
    return triplets.is_dir() and all({name: card.get(name) for name in now} == now for card in cards)


def observe(trained: Trained, out: Path, run: tracking.Run) -> None:
    """Keep what this machine took; no stage depends on it."""
    seen = {"train_seconds": trained.seconds, "texts_per_second": trained.texts_per_second}
    write_text(out / layout.OBSERVED, json.dumps(seen) + "\n")
    run.log_metrics({**seen, "parameters": trained.parameters, f"best/{trained.metric}": trained.fitted.best_value})


def example_of(corpus: Corpus) -> dict[str, list[str]]:
    if corpus.kind == "documents":
        return {"text": corpus.texts_of("val")[:3]}
    pairs = corpus.pairs["val"]
    sides = {"left": pairs.left[:3], "right": pairs.right[:3]}
    return {side: [corpus.texts[int(i)].as_py() for i in texts] for side, texts in sides.items()}


if __name__ == "__main__":
    help_for("data=toy_news", "model=static")
    main()
