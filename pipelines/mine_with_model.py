"""Mine examples with a trained model, for the training of another one.

Usage: python pipelines/mine_with_model.py data=<name> mining=<strategy> [teacher=<family>] [<key>=<value> ...]

Examples:
    python pipelines/mine_with_model.py data=quora mining=pseudo_labels teacher=static
    python pipelines/mine_with_model.py data=quora mining=similarities run=runs/quora-dssm-0

Then `train.py data=quora model=static examples=pseudo_labels teacher=static name=static-pseudo_labels` trains a
student. The teacher is in runs/<data>-<teacher>-<seed>, or elsewhere: run=<folder>.
"""

import checkout  # noqa: F401 (for its effects)

from dataclasses import replace
from pathlib import Path

import hydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_folder
from twicetold.printable import print
from twicetold.trained.folder_files import recipes
from twicetold.trained.provenance import pretrained_on_of, seen_of
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.settings import check_settings, run_script
from twicetold_lab.scoring.teacher import load_teacher


@hydra.main(version_base="1.3", config_path="../conf", config_name="mine_with_model")
def main(cfg: DictConfig) -> None:
    run, strategy = Path(cfg.run), cfg.mining.name
    with readable_errors():
        check_settings(cfg)
        corpus = Corpus.load(Path(cfg.paths.processed, cfg.data.name))
        teacher = load_teacher(run / layout.MODEL, corpus)
        config = OmegaConf.to_container(cfg, resolve=True)
        code_now("mine_with_model", config, [config["mining"], recipes(run / layout.MODEL)])
        examples = instantiate(cfg.mining.strategy)(corpus, teacher, label=cfg.data.label, seed=cfg.seed)
        model = run / layout.MODEL
        who = {"teacher": run.name, "pretrained_on": pretrained_on_of(model), "seen": seen_of(model)}
        examples = replace(examples, card={**examples.card, **who})
        with write_folder(Path(cfg.mined)) as folder:
            examples.save(layout.mined_file(folder, strategy))
    print(f"{cfg.data.name}: {len(examples):,} examples by {strategy} with {run.name}")
    if "reason" in examples.card:
        print(f"nothing is added to the labelled pairs: {examples.card['reason']}")


if __name__ == "__main__":
    run_script(main)
