"""Compose many configs in one process: what `hydra.compose` gives, in less time.

For each config, Hydra parses every file anew, and composes its own settings as well, which are as many files as ours
and are then dropped. Here each file is parsed once, and Hydra's own settings are left out.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf._utils import get_yaml_loader

HYDRAS = "override hydra/"
"""Beginning of an entry of a defaults list that chooses a part of Hydra's own settings."""


def compose(primary: str, overrides: Sequence[str]) -> DictConfig:
    """A config, unresolved; within `hydra.initialize`.

    Args:
        primary: name of the primary config.
        overrides: of ours only, one value each.

    Raises:
        HydraException, OmegaConfBaseException: as `hydra.compose` does.
    """
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    loader = GlobalHydra.instance().config_loader()
    loader.validate_sweep_overrides_legal(parsed, run_mode=RunMode.RUN, from_shell=False)
    files = _Files(loader.get_sources())
    defaults = create_defaults_list(
        repo=files, config_name=primary, overrides_list=parsed, prepend_hydra=False, skip_missing=False
    )
    config = loader._compose_config_from_defaults_list(defaults.defaults, files)
    OmegaConf.set_struct(config, True)
    loader._apply_overrides_to_config(defaults.config_overrides, config)
    with open_dict(config):
        config.pop("hydra", None)
    return config


class _Files(ConfigRepository):  # type: ignore[misc]
    """The files of one config, which is made of the objects that are read here."""

    def __init__(self, sources: Sequence[ConfigSource]) -> None:
        self.sources = [_ParsedOnce(s.provider, s.path) if s.scheme() == "file" else s for s in sources]
        self.read: dict[str, ConfigResult | None] = {}

    def load_config(self, config_path: str) -> ConfigResult | None:
        if config_path not in self.read:
            self.read[config_path] = super().load_config(config_path)
        return self.read[config_path]


class _ParsedOnce(FileConfigSource):  # type: ignore[misc]
    """A folder of config files, each of which is parsed once."""

    def load_config(self, config_path: str) -> ConfigResult:
        file = Path(self.path, self._normalize_file_name(config_path))
        if not file.is_file():
            raise ConfigLoadError(f"Config not found : {file}")
        content, header = _parsed(file.read_text(encoding="utf-8"))
        return ConfigResult(self.provider, f"{self.scheme()}://{self.path}", OmegaConf.create(content), dict(header))


@cache
def _parsed(text: str) -> tuple[Any, dict[str, str | None]]:
    """What a file says, without choices of Hydra's own settings, and its header."""
    content = yaml.load(text, Loader=get_yaml_loader()) or {}
    if isinstance(content, dict) and "defaults" in content:
        content["defaults"] = [entry for entry in content["defaults"] if not _is_hydras(entry)]
    return content, FileConfigSource._get_header_dict(text[:512])


def _is_hydras(entry: Any) -> bool:
    return isinstance(entry, dict) and any(f"{key}".startswith(HYDRAS) for key in entry)
