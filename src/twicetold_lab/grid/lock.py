"""Settings that a stage depends on, as a line of digests, and staleness of dvc.lock: stages that it records otherwise.

dvc.lock would list every value that a stage reads. The line has a digest for each key: `seed:5feceb66`. So the lock is
short, and yet says which part has changed. Staleness is read from files in Git alone, without the data and without DVC,
which would also compare files.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from twicetold_lab.runs.identity import ENSEMBLE_KEYS, LEARNING_KEYS

RENDERED = "${paths.rendered}/"  # in dvc.yaml, before a file that compose writes
READS = {
    "download": ("data.download",),
    "download_pretrained": ("pretrained",),
    "prepare": ("data.name", "data.source", "own_file"),
    "mine": ("data.name", "data.label", "mining"),
    "train": LEARNING_KEYS,
    "evaluate": ("evaluator", "matched", "tuned_how"),
    "mine_with_model": ("data.name", "data.label", "mining"),
    "ensemble": ENSEMBLE_KEYS,
    "evaluate_elsewhere": ("others", "evaluator"),
}
"""Keys of its rendered config that a stage reads; what is not here, such as devices and tracking, changes no output."""
FOLDERS = {"download": "prepare", "prepare": "prepare", "mine": "prepare", "download_pretrained": "pretrained"}
FOLDERS |= {"mine_with_model": "self_training", "evaluate_elsewhere": "elsewhere"}
"""Stage -> folder of its rendered settings; train: of all others."""
ROWS = ("${key}", "${item}")  # what dvc.yaml calls the name of a row, by `foreach` over a mapping or a list
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the safe one in C takes a tenth of the time


def is_stale(root: Path) -> bool:
    """Say if a stage of a checkout's grid would run with other code or settings than the lock has.

    Raises:
        ValueError: if the grid cannot be composed.
    """
    with rendered(root) as folder:
        return bool(stale_stages(_read(root / "dvc.yaml")["stages"], locked_stages(root), folder))


@contextmanager
def rendered(root: Path) -> Iterator[Path]:
    """Provide a folder with what `compose` renders of a checkout now, for the time of the block.

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
    """Return the entries of a checkout's dvc.lock, by stage; none where no stage has run."""
    file = root / "dvc.lock"
    return dict(_read(file)["stages"]) if file.exists() else {}


def stale_stages(stages: Mapping[str, Any], locked: Mapping[str, Any], rendered: Path) -> set[str]:
    """Return the stages of the rendered files whose keys are others in the lock.

    Args:
        stages: of dvc.yaml.
        locked: of dvc.lock.
        rendered: folder that compose wrote.
    """
    return {
        f"{stage}@{key}"
        for file in sorted(rendered.glob("*/*.json"))
        for config in [json.loads(file.read_text(encoding="utf-8"))]
        for stage, key, names in _reading(stages, file, config)
        if {name: _at(config, name) for name in names} != _recorded(locked.get(f"{stage}@{key}", {}))
    }


def settings_of(stage: str, config: Mapping[str, Any]) -> str:
    """Return the keys that a stage reads of its config, each with a digest of its value.

    Examples:
        >>> settings_of("evaluate", {"evaluator": {"bins": 8}, "tuned_how": "by hand", "runtime": {}})
        'evaluator:987048cb tuned_how:2c6899bb'
    """
    return " ".join(f"{key}:{_digest(_at(config, key))}" for key in READS[stage])


def settings_file(stage: str, rendered: Path) -> Path:
    """Return the rendered settings of a stage."""
    kind, _, key = stage.partition("@")
    return rendered / FOLDERS.get(kind, "train") / f"{key}.yaml"


def changes(stale: Iterable[str], rendered: Path, ran_with: Path) -> list[str]:
    """Return the settings that differ from those of the last run of stages: `train@x: optimizer.lr 0.1 -> 0.2`.

    Args:
        stale: the stages.
        rendered: folder that compose wrote.
        ran_with: folder with the settings of each stage's last run, `<stage>.yaml`, as far as they are known.
    """
    from twicetold_lab.tracking.notes import dotted  # compose, which needs none of this, is to begin soon

    lines = []
    for stage in sorted(stale):
        files = [ran_with / f"{stage}.yaml", settings_file(stage, rendered)]
        if all(file.is_file() for file in files):
            reads = READS.get(stage.partition("@")[0].removesuffix("_ensemble"), ())
            one, other = (dotted({name: _at(config, name) for name in reads}) for config in map(_read, files))
            differing = [key for key in {**one, **other} if one.get(key) != other.get(key)]
            lines += [f"{stage}: {key} {one.get(key)!r} -> {other.get(key)!r}" for key in differing]
    return lines


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def _reading(stages: Mapping[str, Any], file: Path, config: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the stages that read a rendered file, and the keys that they track of it."""
    for stage, about in stages.items():
        (tracked,) = [entry for entry in about.get("do", {}).get("params", []) if isinstance(entry, dict)] or [{}]
        files = [f"{RENDERED}{file.parent.name}/{row}.json" for row in ROWS]
        names: list[str] = next((tracked[name] for name in files if name in tracked), [])
        of_ensembles = "ensemble" in stage
        if names and (file.parent.name != "train" or of_ensembles == ("ensemble" in config["settings"])):
            yield stage, file.stem, names


def _recorded(locked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that the lock has of a stage's rendered file."""
    return {name: value for keys in locked.get("params", {}).values() for name, value in keys.items()}


def _at(config: Any, name: str) -> Any:
    """Return the value at a dotted key; None where there is none, as DVC records it."""
    for part in name.split("."):
        config = (config or {}).get(part)
    return config


def _read(file: Path) -> Any:
    return LOADER(file.read_text(encoding="utf-8")).get_single_data()
