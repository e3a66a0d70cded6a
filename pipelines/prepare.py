"""Read, clean and split a dataset into a corpus.

Usage: python pipelines/prepare.py data=<name> [<key>=<value> ...]

Examples:
    python pipelines/prepare.py data=quora
    python pipelines/prepare.py data=toy_news profile=smoke
"""

import checkout  # noqa: F401 (for its effects)

import json
from dataclasses import replace
from pathlib import Path

import hydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.printable import print
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.freshness import own_file_digest
from twicetold_lab.data.sources.source_table import left_out
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.settings import check_settings, run_script


@hydra.main(version_base="1.3", config_path="../conf", config_name="prepare")
def main(cfg: DictConfig) -> None:
    raw = Path(cfg.paths.raw, cfg.data.name)
    with readable_errors():
        check_settings(cfg)
        config = OmegaConf.to_container(cfg, resolve=True)
        code_now("prepare", config, config["data"])
        corpus: Corpus = instantiate(cfg.data.source, raw, name=cfg.data.name)
        downloaded = raw / layout.MANIFEST
        if cfg.data.download and not downloaded.exists():
            raise FileNotFoundError(f"no {downloaded}: run `python pipelines/download.py data={cfg.data.name}` first")
        manifest = json.loads(downloaded.read_text(encoding="utf-8")) if downloaded.exists() else {"files": []}
        # Where the bytes came from stays out of the corpus: another address for the same bytes changes nothing.
        files = [{"name": f["name"], "size": f["size"], "sha256": f["sha256"]} for f in manifest["files"]]
        source = config["data"]["source"]
        made_of = {"files": files, "source": source, "own_file": own_file_digest(source)}
        corpus = replace(corpus, card={**corpus.card, **made_of})
        corpus.save(folder := Path(cfg.paths.processed, cfg.data.name))
    sizes = {split: len(members) for split, members in corpus.members.items()}
    listed = f", listed in {folder / layout.LEFT_OUT}" if corpus.left_out else ""
    print(f"{cfg.data.name}: {len(corpus):,} texts, by split {sizes}; {left_out(corpus.card)}{listed}")


if __name__ == "__main__":
    run_script(main)
