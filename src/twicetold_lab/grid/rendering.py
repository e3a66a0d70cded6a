"""Composition of each row of params.yaml, and its config as a file. Imports neither torch nor the library.

What was composed is kept for the next call, as long as conf/ is the same: Hydra takes most of the time.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from hydra import compose
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from twicetold.files import write_text
from twicetold_lab.grid.code_identity import Config
from twicetold_lab.grid.rows import CELLS
from twicetold_lab.grid.settings import CONF

KEPT: dict[str, str] = {}
"""What was composed, as JSON, by primary config and overrides."""


def cell(key: str, row: Mapping[str, Any], grid: Config) -> Config:
    """Compose the config of a training; where a variant's profile says nothing of data, the grid's is taken."""
    # tracking compares with the defaults of the family
    config = composed("train", *for_cell(key, row, grid)) | {"family": row["model"]}
    config |= {} if row.get("matched", True) else {"matched": None}
    if "profile" not in row:
        return config
    own, plain = (data_of(f"data={row['data']}", f"profile={name}") for name in (row["profile"], "full"))
    return config | ({"data": data_of(*for_data(row["data"], grid))} if own == plain else {})


def for_cell(key: str, row: Mapping[str, Any], grid: Config) -> list[str]:
    """Return the overrides of a training."""
    names = [f"data={row['data']}", f"model={row['model']}", f"seed={row['seed']}"]
    profile = f"profile={row.get('profile', grid['profile'])}"
    name = f"name={name_of(key, row)}"
    return [*names, profile, *grid["overrides"], *row.get("overrides", []), name]


def for_data(key: str, grid: Config) -> list[str]:
    """Return the overrides of the data stages."""
    return [f"data={key}", f"profile={grid['profile']}", *of_data(grid)]


def data_of(*overrides: str) -> Config:
    """Return the settings of a dataset with which the data stages run."""
    return dict(composed("prepare", *overrides)["data"])


def digest_of(source: Mapping[str, Any]) -> str | None:
    """Digest of the file of one's own that a dataset is read from, with which DVC notices that it has changed."""
    if "path" not in source:
        return None
    from twicetold_lab.data.freshness import own_file_digest  # imports pyarrow, which public data do not need here

    return own_file_digest(source)


def name_of(key: str, row: Mapping[str, Any]) -> str:
    """Return the middle of <data>-<name>-<seed>."""
    return key.removeprefix(f"{row['data']}-").removesuffix(f"-{row['seed']}")


def of_data(grid: Config) -> list[str]:
    """Return the grid's overrides that concern data and mining."""
    return [o for o in grid["overrides"] if o.lstrip("+~").startswith(("data.", "data@", "mining."))]


def tracked(grid: Config) -> list[str]:
    """Return the grid's overrides of tracking."""
    return [o for o in grid["overrides"] if o.startswith("tracking")]


def composed(primary: str, *overrides: str) -> Config:
    """Return a resolved config.

    Raises:
        ValueError: if Hydra refuses. Not SystemExit: a process of a pool that exits makes the pool wait for ever.
    """
    if (key := " ".join((primary, *overrides))) not in KEPT:
        try:
            KEPT[key] = json.dumps(OmegaConf.to_container(compose(primary, [*overrides]), resolve=True))
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
    """Return the digest of all that a composition depends on, beside Hydra."""
    files = [Path(__file__), *sorted(file for file in CONF.rglob("*.yaml") if file.name != CELLS.name)]
    return hashlib.sha256(b"".join(f"{file}\n".encode() + file.read_bytes() for file in files)).hexdigest()


class Dumper(yaml.CSafeDumper):
    """Writes what `OmegaConf.to_yaml` writes, ten times as fast."""

    def text(self, value: str) -> yaml.ScalarNode:
        """Return a string, in quotes if OmegaConf would read it as a number: 1e5 is none in YAML 1.1."""
        try:
            float(value)
        except ValueError:
            return self.represent_scalar("tag:yaml.org,2002:str", value)
        return self.represent_scalar("tag:yaml.org,2002:str", value, style="'")


Dumper.add_representer(str, Dumper.text)


def write(target: Path, config: Config) -> None:
    """Write a config as YAML."""
    target.write_text(yaml.dump(config, Dumper=Dumper, allow_unicode=True), encoding="utf-8")
