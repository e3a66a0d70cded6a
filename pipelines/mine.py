"""Choose training triplets from the whole train split, by every strategy of the config.

Usage: python pipelines/mine.py data=<name> [<key>=<value> ...]

Examples:
    python pipelines/mine.py data=quora
    python pipelines/mine.py data=toy_news profile=smoke
"""

import checkout  # noqa: F401 (for its effects)

from pathlib import Path

import hydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_folder
from twicetold.printable import print
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.settings import check_settings, run_script
from twicetold_lab.mining.groups import NoTriplets
from twicetold_lab.mining.triplets import no_triplets


@hydra.main(version_base="1.3", config_path="../conf", config_name="prepare")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        check_settings(cfg)
        config = OmegaConf.to_container(cfg, resolve=True)
        code_now("mine", config, config["mining"])
        with write_folder(Path(cfg.paths.triplets, cfg.data.name)) as folder:
            corpus = Corpus.load(Path(cfg.paths.processed, cfg.data.name))
            for name, strategy in cfg.mining.strategies.items():
                try:
                    triplets = instantiate(strategy)(corpus, seed=cfg.mining.seed, label=cfg.data.label)
                except NoTriplets as error:  # most families need none
                    triplets = no_triplets(corpus, label=cfg.data.label, reason=f"{error}")
                    print(f"warning: {error}")
                triplets.save(layout.mined_file(folder, name))
                print(f"{cfg.data.name}: {len(triplets):,} triplets by {name}")


if __name__ == "__main__":
    run_script(main)
