"""Fetch pretrained files: `download_pretrained.py pretrained=glove`; `TWICETOLD_MIRROR` is tried first."""

import checkout  # noqa: F401 (for its effects)
from twicetold.command_line import help_for

import os
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from twicetold.data.download import RemoteFile, fetch
from twicetold.errors import readable_errors
from twicetold_grid.code_identity import code_now
from twicetold_grid.settings import check_settings, run_script


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
    help_for("pretrained=glove")
    run_script(main)
