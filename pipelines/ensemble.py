"""Make an ensemble of trained models.

Usage: python pipelines/ensemble.py data=<name> members=[<member>,<member>] [<key>=<value> ...]

Examples:
    python pipelines/ensemble.py data=quora_wang members=[re2,static_mlp]
    python pipelines/ensemble.py data=toy_questions members=[tfidf,static] stacking=logistic

Their log-odds are averaged, or weighted by logistic regression on validation (`stacking=logistic`).
A member is a family, whose run `runs/<data>-<family>-<seed>` is read, or a run folder. To evaluate an ensemble by hand:
`evaluate.py -cn ensemble` with the same settings.
"""

import checkout  # noqa: F401 (for its effects)

import os
import time
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_json
from twicetold.printable import print
from twicetold.trained.folder_files import recipes
from twicetold.trained.model_folder import save_ensemble
from twicetold_lab import tracking
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.recipe import READ_BY, params_of, selection_of
from twicetold_lab.grid.settings import check_settings, run_script
from twicetold_lab.runs.environment import observed
from twicetold_lab.runs.environment import tags as environment_tags
from twicetold_lab.runs.identity import Identity
from twicetold_lab.scoring.cache import cached_rows
from twicetold_lab.scoring.ensembling import load_members, make_ensemble
from twicetold_lab.scoring.model_checks import names_of


@hydra.main(version_base="1.3", config_path="../conf", config_name="ensemble")
def main(cfg: DictConfig) -> float:
    with readable_errors():
        check_settings(cfg, **READ_BY)
        return ensemble(cfg, Path(HydraConfig.get().runtime.output_dir))


def ensemble(cfg: DictConfig, out: Path) -> float:
    started = time.perf_counter()
    processed = Path(cfg.paths.processed, cfg.data.name)
    corpus, config = Corpus.load(processed), OmegaConf.to_container(cfg, resolve=True)
    models = models_of(cfg)
    members = load_members(models, corpus)
    code = code_now("ensemble", config, [recipes(model) for model in models.values()])
    who = Identity.of_ensemble(config, processed, models, code=code)
    settings = tracking.Settings(**cfg.tracking, root=Path.cwd(), origin=cfg.origin)
    environment = observed()
    tags = who.tags | environment_tags(environment)
    with tracking.start(settings, experiment=who.data, name=who.run_name, tags=tags, params=params_of(cfg, who)) as run:
        for split in ("train", "val"):
            run.log_dataset(who.data, split=split, digest=who.data_digest, source=f"{processed}", counts=corpus.card)
        rows_of = cached_rows(corpus, Path(cfg.paths.features), key=who.feature_key)
        made, thresholds, metric, value = make_ensemble(
            members, corpus, selection_of(cfg), rows_of, stacking=cfg.stacking
        )
        if cfg.origin != "dvc":  # metrics of an earlier model
            for file in layout.EVALUATION:
                (out / file).unlink(missing_ok=True)
        data = {"name": corpus.name, "train": corpus.train_digest()}
        save_ensemble(out / layout.MODEL, made, models, thresholds=thresholds, metric=metric, value=value, data=data)
        seen = {"train_seconds": time.perf_counter() - started, "fingerprint": who.fingerprint}
        write_json(out / layout.OBSERVED, {**seen, "environment": environment})
        run.log_metrics({f"val/{metric}": value, f"best/{metric}": value})
        run.describe_data(who.data, kind=corpus.kind, counts=corpus.card, primary=metric)
        run.log_text(OmegaConf.to_yaml(cfg, resolve=True, sort_keys=True), "config.yaml")
        run.log_model(out / layout.MODEL, input_example=corpus.example())
    weighted = [f"{weight:.3g} {name}" for weight, name in zip(made.stacked.members, members, strict=True)]
    print(f"{who.data} {who.run_name}: val {metric} {value:.4f} of {' + '.join(weighted)}")
    if cfg.origin != "dvc":
        print(f"the model is in {os.path.relpath(out / layout.MODEL)}")
    return value


def models_of(cfg: DictConfig) -> dict[str, Path]:
    """The model folder of each member, by name.

    Raises:
        ValueError: if `members` is no list of names, or two are of one name.
    """
    members = OmegaConf.to_container(cfg.members) if OmegaConf.is_list(cfg.members) else cfg.members
    if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
        raise ValueError(f"members must be a list of families or run folders, [re2,static_mlp] say; got {members!r}")
    runs = [
        Path(member) if "/" in member else Path(cfg.paths.runs, layout.cell(cfg.data.name, member, cfg.seed))
        for member in members
    ]
    models = {name: run / layout.MODEL for name, run in zip(names_of(members), runs, strict=True)}
    if len(models) < len(members):
        raise ValueError(f"members must have different names; got {members}")
    return models


if __name__ == "__main__":
    run_script(main)
