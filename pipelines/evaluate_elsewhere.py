"""Evaluate a trained model on test texts of other datasets, at the threshold it brings, and on those of its own.

Usage: python pipelines/evaluate_elsewhere.py run=<run folder> others=[<data>,...] [<key>=<value> ...]

Examples:
    python pipelines/evaluate_elsewhere.py run=runs/toy_news-tfidf-0 others=[toy_questions]
    python pipelines/evaluate_elsewhere.py run=runs/uci_news-static-0 others=[quora_disjoint,stsb]

It follows a training. The other datasets must be prepared, and of another kind: their texts must not be what the model
learnt from.
"""

import checkout  # noqa: F401 (for its effects)

from dataclasses import asdict
from pathlib import Path

import hydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_json
from twicetold.printable import print
from twicetold.trained.folder_files import recipes
from twicetold.trained.model_folder import load_model, trained_on
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.recipe import READ_BY
from twicetold_lab.grid.settings import check_settings, run_script
from twicetold_lab.scoring.cross_domain import evaluate_cross_domain, shared_texts
from twicetold_lab.scoring.model_checks import require_trained_on


@hydra.main(version_base="1.3", config_path="../conf", config_name="evaluate_elsewhere")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        check_settings(cfg, **READ_BY)
        config = OmegaConf.to_container(cfg, resolve=True)
        run, processed = Path(cfg.run), Path(cfg.paths.processed)
        source = Corpus.load(processed / trained_on(run / layout.MODEL)["name"])
        require_trained_on(run / layout.MODEL, source)
        code_now("evaluate_elsewhere", config, [recipes(run / layout.MODEL), config["evaluator"]])
        model, evaluator = load_model(run / layout.MODEL), instantiate(cfg.evaluator)
        content = {}
        for name in (source.name, *cfg.others):
            corpus = source if name == source.name else Corpus.load(processed / name)
            shared = 0 if corpus is source else shared_texts(source, corpus)
            content[name] = asdict(evaluate_cross_domain(model, corpus, evaluator)) | {"shared_texts": shared}
            shown = ", ".join(f"{metric} {value:.4f}" for metric, value in content[name]["metrics"].items())
            print(f"{run.name} on {name}: {shown}; {shared} test texts are known to {source.name}")
        write_json(run / layout.ELSEWHERE, content)


if __name__ == "__main__":
    run_script(main)
