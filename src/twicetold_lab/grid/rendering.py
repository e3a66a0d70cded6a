"""Composition of each row of params.yaml, and its config as a file. Imports neither torch nor the library.

`compose` gives what `hydra.compose` gives, in less time. For each config, Hydra parses every file anew, and composes
its own settings as well, which are as many files as ours and are then dropped. Here each file is parsed once, and
Hydra's own settings are left out. What was composed is kept for the next call, as long as conf/ is the same.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf._utils import get_yaml_loader
from omegaconf.errors import OmegaConfBaseException

from twicetold.files import write_text
from twicetold_lab.grid.code_identity import Config
from twicetold_lab.grid.rows import CELLS
from twicetold_lab.grid.settings import CONF

KEPT: dict[str, str] = {}
"""What was composed, as JSON, by primary config and overrides."""
HYDRAS = "override hydra/"
"""Beginning of an entry of a defaults list that chooses a part of Hydra's own settings."""


def cell(key: str, row: Mapping[str, Any], grid: Config) -> Config:
    """The config of a training."""
    # tracking compares with the defaults of the family
    return composed("train", *for_cell(key, row, grid)) | {"family": row["model"]}


def for_cell(key: str, row: Mapping[str, Any], grid: Config) -> list[str]:
    """The overrides of a training."""
    names = [f"data={row['data']}", f"model={row['model']}", f"seed={row['seed']}"]
    profile = f"profile={row.get('profile', grid['profile'])}"
    name = f"name={name_of(key, row)}"
    return [*names, profile, *grid["overrides"], *row.get("overrides", []), name]


def for_data(key: str, grid: Config) -> list[str]:
    """The overrides of the data stages."""
    return [f"data={key}", f"profile={grid['profile']}", *of_data(grid)]


def data_of(*overrides: str) -> Config:
    """The settings of a dataset with which the data stages run."""
    return dict(composed("prepare", *overrides)["data"])


def digest_of(source: Mapping[str, Any]) -> str | None:
    """Digest of the file of one's own that a dataset is read from, with which DVC notices that it has changed."""
    if "path" not in source:
        return None
    from twicetold_lab.data.freshness import own_file_digest  # imports pyarrow, which public data do not need here

    return own_file_digest(source)


def name_of(key: str, row: Mapping[str, Any]) -> str:
    """The middle of <data>-<name>-<seed>."""
    return key.removeprefix(f"{row['data']}-").removesuffix(f"-{row['seed']}")


def of_data(grid: Config) -> list[str]:
    """The grid's overrides that concern data and mining."""
    return [o for o in grid["overrides"] if o.lstrip("+~").startswith(("data.", "data@", "mining."))]


def tracked(grid: Config) -> list[str]:
    """The grid's overrides of tracking."""
    return [o for o in grid["overrides"] if o.startswith("tracking")]


def composed(primary: str, *overrides: str) -> Config:
    """A resolved config.

    Raises:
        ValueError: if Hydra refuses. Not SystemExit: a process of a pool that exits makes the pool wait for ever.
    """
    if (key := " ".join((primary, *overrides))) not in KEPT:
        try:
            KEPT[key] = json.dumps(OmegaConf.to_container(compose(primary, overrides), resolve=True))
        except (HydraException, OmegaConfBaseException) as error:
            raise ValueError(f"cannot compose {primary} from {' '.join(overrides)}:\n{error}") from error
    config: Config = json.loads(KEPT[key])
    return config


def kept_in(file: Path) -> None:
    """Take what an earlier call has composed, if conf/ and this file are as they were then."""
    if file.is_file():
        stored = json.loads(file.read_text(encoding="utf-8"))
        KEPT.update(stored["composed"] if stored["of"] == _sources() else {})


def keep_in(file: Path) -> None:
    """Write what has been composed, for a later call."""
    write_text(file, json.dumps({"of": _sources(), "composed": KEPT}))


def _sources() -> str:
    """Digest of all that a composition depends on, beside Hydra."""
    files = [Path(__file__), *sorted(file for file in CONF.rglob("*.yaml") if file.name != CELLS.name)]
    return hashlib.sha256(b"".join(f"{file}\n".encode() + file.read_bytes() for file in files)).hexdigest()


class Dumper(yaml.CSafeDumper):
    """Writes what `OmegaConf.to_yaml` writes, ten times as fast."""

    def text(self, value: str) -> yaml.ScalarNode:
        """A string, in quotes if OmegaConf would read it as a number: 1e5 is none in YAML 1.1."""
        try:
            float(value)
        except ValueError:
            return self.represent_scalar("tag:yaml.org,2002:str", value)
        return self.represent_scalar("tag:yaml.org,2002:str", value, style="'")


Dumper.add_representer(str, Dumper.text)


def write(target: Path, config: Config) -> None:
    """Write a config as YAML."""
    target.write_text(yaml.dump(config, Dumper=Dumper, allow_unicode=True), encoding="utf-8")


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
    """Content of a file, without choices of Hydra's own settings, and its header."""
    content = yaml.load(text, Loader=get_yaml_loader()) or {}
    if isinstance(content, dict) and "defaults" in content:
        content["defaults"] = [entry for entry in content["defaults"] if not _is_hydras(entry)]
    return content, FileConfigSource._get_header_dict(text[:512])


def _is_hydras(entry: Any) -> bool:
    return isinstance(entry, dict) and any(f"{key}".startswith(HYDRAS) for key in entry)
