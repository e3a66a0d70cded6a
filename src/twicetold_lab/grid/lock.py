"""Staleness of dvc.lock: stages whose settings or code differ from those that it records.

Read from files in Git alone, without the data and without DVC, which would also compare files.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

RENDERED = "${paths.rendered}/"  # in dvc.yaml, before a file that compose writes
ROWS = ("${key}", "${item}")  # what dvc.yaml calls the name of a row, by `foreach` over a mapping or a list
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the safe one in C takes a tenth of the time


def changed_keys(root: Path) -> dict[str, set[str]]:
    """The stale stages of a checkout's grid, each with the keys of its config that are others in the lock.

    Raises:
        ValueError: if the grid cannot be composed.
    """
    with rendered(root) as folder:
        return compared(_read(root / "dvc.yaml")["stages"], locked_stages(root), folder)


@contextmanager
def rendered(root: Path) -> Iterator[Path]:
    """A folder with what `compose` renders of a checkout now, for the time of the block.

    Raises:
        ValueError: if the grid cannot be composed.
    """
    with TemporaryDirectory() as folder:
        command = [sys.executable, str(root / "pipelines/compose.py"), folder]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"cannot compose the grid of {root}: {done.stderr.strip()}")
        yield Path(folder)


def locked_stages(root: Path) -> dict[str, Any]:
    """The entries of a checkout's dvc.lock, by stage."""
    stages: dict[str, Any] = _read(root / "dvc.lock")["stages"]
    return stages


def compared(stages: Mapping[str, Any], locked: Mapping[str, Any], rendered: Path) -> dict[str, set[str]]:
    """The stages of the rendered files whose keys are others in the lock, and these keys.

    Args:
        stages: of dvc.yaml.
        locked: of dvc.lock.
        rendered: folder that compose wrote.
    """
    return {
        f"{stage}@{key}": changed
        for file in sorted(rendered.glob("*/*.yaml"))
        for config in [_read(file)]
        for stage, key, names in _reading(stages, file, config)
        if (changed := _differing({n: _at(config, n) for n in names}, _recorded(locked.get(f"{stage}@{key}", {}))))
    }


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """The keys that only one has, or that have another value; classes that moved to the lab alone are the same."""
    keys = {**one, **other}
    return {key for key in keys if key not in one or key not in other or _moved(one[key]) != _moved(other[key])}


def _moved(value: Any) -> Any:
    """A value with classes and functions of either package as if they were in one."""
    if isinstance(value, dict):
        return {name: _moved(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(each) for each in value]
    return value.replace("twicetold_lab.", "twicetold.", 1) if isinstance(value, str) else value


def _reading(stages: Mapping[str, Any], file: Path, config: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """The stages that read a rendered file, and the keys that they track of it."""
    for stage, about in stages.items():
        (tracked,) = [entry for entry in about.get("do", {}).get("params", []) if isinstance(entry, dict)] or [{}]
        files = [f"{RENDERED}{file.parent.name}/{row}.yaml" for row in ROWS]
        names: list[str] = next((tracked[name] for name in files if name in tracked), [])
        of_ensembles = "ensemble" in stage
        if names and (file.parent.name != "train" or of_ensembles == ("members" in config)):
            yield stage, file.stem, names


def _recorded(locked: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that the lock has of a stage's rendered file."""
    return {name: _number(value) for keys in locked.get("params", {}).values() for name, value in keys.items()}


def _at(config: Any, name: str) -> Any:
    """The value at a dotted key; None where there is none, as DVC records it."""
    for part in name.split("."):
        config = (config or {}).get(part)
    return _number(config)


def _number(value: Any) -> Any:
    """A value with numbers as numbers: DVC writes 1e-05, which is a text for PyYAML."""
    if isinstance(value, dict):
        return {key: _number(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_number(inner) for inner in value]
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _read(file: Path) -> Any:
    return LOADER(file.read_text(encoding="utf-8")).get_single_data()
