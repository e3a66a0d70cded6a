"""Fetch pretrained files; the folder or address `TWICETOLD_MIRROR` is tried first.

Usage: python pipelines/download_pretrained.py pretrained=<name> [<key>=<value> ...]

Examples:
    python pipelines/download_pretrained.py pretrained=glove
    TWICETOLD_MIRROR=mirror python pipelines/download_pretrained.py pretrained=potion
"""

import checkout  # noqa: F401 (for its effects)

import os
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from twicetold.errors import readable_errors
from twicetold_lab.data.download import RemoteFile, fetch
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.settings import check_settings, run_script


@hydra.main(version_base="1.3", config_path="../conf", config_name="download_pretrained")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        check_settings(cfg)
        code_now("download_pretrained", OmegaConf.to_container(cfg), {})
        fetch(
            [RemoteFile.from_config(file) for file in OmegaConf.to_container(cfg.pretrained.download, resolve=True)],
            Path(cfg.paths.pretrained, cfg.pretrained.name),
            mirror=os.environ.get("TWICETOLD_MIRROR"),
            store=Path(cfg.paths.downloads),
        )


if __name__ == "__main__":
    run_script(main)
