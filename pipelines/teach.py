"""Let a trained model choose examples for a second training: `teach.py data=quora lesson=pseudo_labels run=runs/try`.

Then `train.py data=quora model=static examples=pseudo_labels`. The lessons are the leaves of `conf/lesson/`.
"""

from dataclasses import replace
from pathlib import Path

import hydra
from hydra.utils import instantiate
from omegaconf import DictConfig

from twicetold import layout
from twicetold.command_line import help_for
from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.files import write_folder
from twicetold.provenance import pretrained_on_of
from twicetold.teaching import TrainedTeacher


@hydra.main(version_base="1.3", config_path="../conf", config_name="teach")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        teach(cfg)


def teach(cfg: DictConfig) -> None:
    corpus = Corpus.load(Path(cfg.paths.processed, cfg.data.name))
    run = Path(cfg.run)
    teacher = TrainedTeacher.load(run / layout.MODEL, corpus)
    found = instantiate(cfg.lesson.strategy)(corpus, teacher, label=cfg.data.label)
    who = {"teacher": run.name, "pretrained_on": pretrained_on_of(run / layout.MODEL)}
    found = replace(found, card={**found.card, **who, "train": corpus.train_digest()})
    with write_folder(Path(cfg.taught)) as folder:
        found.save(layout.taught_file(folder, cfg.lesson.name))
    print(f"{cfg.data.name}: {len(found):,} examples of {cfg.lesson.name} by {run.name}")
    if "reason" in found.card:
        print(f"no pairs, and a training with them is one without: {found.card['reason']}")


if __name__ == "__main__":
    help_for("data=toy_questions", "lesson=pseudo_labels")
    main()
