"""Measure what a trained model costs in use: size, memory, texts a second, milliseconds a pair; some seconds.

Usage: python pipelines/measure.py data=<name> model=<family> hydra.run.dir=<run folder> [<key>=<value> ...]

Examples:
    python pipelines/measure.py data=quora model=dae hydra.run.dir=runs/quora-dae-0
    python pipelines/measure.py -cn ensemble data=quora members=[dae,static] hydra.run.dir=runs/quora-ensemble-0

The run folder is that of `train.py` or `ensemble.py`, which got the same settings. It writes cost.json there, with the
name of the processor. The texts are those of validation.
"""

import checkout  # noqa: F401 (for its effects)

from dataclasses import asdict
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_json
from twicetold.printable import print
from twicetold.trained.folder_files import recipes
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.settings import check_settings, run_script
from twicetold_lab.runs.environment import processor
from twicetold_lab.scoring.cost import FILE
from twicetold_lab.scoring.measuring import measure_cost, texts_to_measure
from twicetold_lab.scoring.model_checks import require_trained_on


@hydra.main(version_base="1.3", config_path="../conf", config_name="train")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        check_settings(cfg)
        out = Path(HydraConfig.get().runtime.output_dir)
        corpus = Corpus.load(Path(cfg.paths.processed, cfg.data.name))
        require_trained_on(out / layout.MODEL, corpus)
        code_now("measure", OmegaConf.to_container(cfg, resolve=True), recipes(out / layout.MODEL))
        texts = texts_to_measure(corpus)
        del corpus  # or its memory would be given back, and taken anew by the model, while that is measured
        cost = measure_cost(out / layout.MODEL, texts, processor=processor())
        write_json(out / FILE, asdict(cost))
        speed = f"{cost.texts_per_second_256:,.0f} texts a second, " if cost.texts_per_second_256 else ""
        print(f"{out.name}: {cost.model_bytes / 1e6:,.2f} MB, {speed}{cost.pair_milliseconds_p50:.3g} ms a pair")


if __name__ == "__main__":
    run_script(main)
