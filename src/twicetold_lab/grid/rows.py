"""Rows of params.yaml that make no sense, refused in words: which row, what was expected, what to do.

DVC depends on what a row says. So a row says it in its own keys, no override says it anew, and what is composed from
the row reads the files that the row names.
"""

import os.path
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from twicetold.trained.provenance import pretrained_files
from twicetold_lab.grid.settings import APPENDED, CONF, check_added, check_used, choices, no_such, part_of

Config = Mapping[str, Any]
SECTIONS = {
    "data": ("<data>", ("data",), ("seed", "mined", "pretrained")),
    "cells": ("<data>-<name>-<seed>", ("data", "model", "seed", "mined", "pretrained"), ("profile", "overrides")),
    "self_training": (
        "<data>-<mining>-<teacher>-<seed>",
        ("data", "mining", "teacher", "seed"),
        ("mined", "pretrained"),
    ),
    "ensembles": ("<data>-<name>-<seed>", ("data", "members", "seed"), ("mined", "pretrained", "stacking")),
    "elsewhere": ("<data>-<name>-<seed>", ("data", "others", "seed"), ("mined", "pretrained")),
}
"""Sections of params.yaml: the pattern of a row's name, its required keys, and its optional keys."""
OF_ALL = ("profile", "overrides")
"""Keys of params.yaml that hold for all rows."""
SET_BY_ROW = {
    "data": "the key `data` of a row chooses data, and other data are another file in conf/data/",
    "model": "`model` is a key of the row",
    "seed": "`seed` is a key of the row",
    "name": "it is the middle of the row's name, <data>-<name>-<seed>",
    "profile": "`profile` is a key of params.yaml and of a row",
    "paths": "conf/paths.yaml says where folders are, to DVC as well",
    "origin": "dvc.yaml says it",
    "hydra": "dvc.yaml says how stages run",
}
"""Parts that no override may set, and what sets them instead."""
OF_DATA = ("data.", "data@")
"""Beginnings of overrides that may stand for all rows, since the data stages get them as well."""
MOST_MEMBERS = 4  # of an ensemble, whose stage in dvc.yaml depends on so many
OTHERS = (2, 3)  # datasets that a model is evaluated on beside its own: the stage in dvc.yaml depends on so many


def check_grid(grid: Config) -> None:
    """Check params.yaml before anything is composed: keys, names, and that every row that another one names exists.

    Raises:
        ValueError: for what makes no sense.
    """
    _check_keys("params.yaml", grid, (*SECTIONS, "pretrained", *OF_ALL))
    _check_pretrained(grid["pretrained"])
    _check_choices("params.yaml", grid, of_all=True)
    for section in SECTIONS:
        if not isinstance(grid[section], dict):
            raise ValueError(f"params.yaml: {section} must be a mapping of rows, {{}} if none; got {grid[section]!r}")
        for key, row in grid[section].items():
            _check_row(section, key, row, grid)
    for key, row in grid["ensembles"].items():
        _check_members(key, row, grid["cells"])
    for key, row in grid["elsewhere"].items():
        _check_others(key, row, grid)
    for key, row in grid["self_training"].items():
        if run_of(row, row["teacher"]) not in grid["cells"]:
            raise ValueError(f"params.yaml: the teacher of {key} is no cell: {run_of(row, row['teacher'])}")


def check_data(key: str, config: Config) -> None:
    """Check that a file of one's own is where DVC sees when it changes.

    Raises:
        ValueError: if it is elsewhere.
    """
    path, own = config["data"]["source"].get("path"), config["paths"]["own"]
    if path and not Path(os.path.abspath(path)).is_relative_to(os.path.abspath(own)):  # noqa: PTH100 (follows no link)
        raise ValueError(
            f"params.yaml: data: {key} reads {path}, and DVC would not see when it changes: move it to {own}/, or put "
            f"a link to it there, and set `path: {own}/{Path(path).name}` in conf/data/{key}.yaml"
        )


def check_cell(key: str, row: Config, config: Config, *, data: Config, overrides: Iterable[str]) -> None:
    """Check that a training reads what its row names, and all that its row sets.

    Args:
        key: its name.
        row: of params.yaml.
        config: composed from it.
        data: the settings with which the data stages run.
        overrides: all that the config was composed with.

    Raises:
        ValueError: if it does not.
    """
    where = f"params.yaml: cells: {key}"
    if other := sorted(_differences(config["data"], data, "data")):
        cause = f"profile: {row['profile']}" if "profile" in row else "its model, or a file in conf/tuned/,"
        raise ValueError(
            f"{where}: {cause} changes {', '.join(other)}, and the stages that prepare {row['data']} run without it. "
            "A row's profile may change its training only, since the data are shared: set one that changes data for "
            "the whole grid, with `profile:` at the top of params.yaml"
        )
    reads = config["examples"].get("mined") or f"{config['paths']['triplets']}/{config['data']['name']}"
    if reads != row["mined"]:
        raise ValueError(
            f"{where}: its examples are read from {reads}, and its row says `mined: {row['mined']}`, which is what DVC "
            f"depends on: set `mined: {reads}`, or choose other examples in `overrides`"
        )
    _check_pretrained_of(where, row, config)
    try:
        check_used(config, row.get("overrides", []))
        check_added("train", overrides)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _check_pretrained(names: Any) -> None:
    """Check the list of pretrained files to fetch."""
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"params.yaml: pretrained must be a list of names in conf/pretrained/; got {names!r}")
    if unknown := [name for name in names if name not in choices("pretrained")]:
        raise ValueError(f"params.yaml: {no_such(f'pretrained: {unknown[0]}', unknown[0], choices('pretrained'))}")


def _check_pretrained_of(where: str, row: Config, config: Config) -> None:
    """Check that pretrained files are read where DVC sees when they change."""
    declared = Path(row["pretrained"])
    unseen = [file for file in pretrained_files(config) if not Path(file).is_relative_to(declared)]
    if unseen:
        below = Path(config["paths"]["pretrained"])
        file = Path(unseen[0])
        folder = below / file.relative_to(below).parts[0] if file.is_relative_to(below) else file
        raise ValueError(
            f"{where}: it reads {file}, and its row says `pretrained: {declared}`, which is what DVC depends on: set "
            f"`pretrained: {folder}`. What is not in conf/pretrained/ must be in {config['paths']['own']}/"
        )


def run_of(row: Config, model: str) -> str:
    """The cell of another model on the same data with the same seed."""
    return f"{row['data']}-{model}-{row['seed']}"


def members_of(grid: Config, key: str) -> list[str]:
    """The cells of an ensemble; a cell alone is its own."""
    row = grid["ensembles"].get(key)
    return [key] if row is None else [run_of(row, member) for member in row["members"]]


def _check_row(section: str, key: str, row: Any, grid: Config) -> None:
    """Check a row by itself, and that its data and pretrained files are among those of the grid."""
    where = f"params.yaml: {section}: {key}"
    name, needed, optional = SECTIONS[section]
    if not isinstance(row, dict):
        raise ValueError(f"{where} must be a row with the keys {', '.join(needed)}; got {row!r}")
    _check_keys(where, row, needed, optional)
    _check_choices(where, row)
    if (files := Path(f"{row.get('pretrained', '')}").name) in set(choices("pretrained")) - set(grid["pretrained"]):
        raise ValueError(
            f"{where}: {row['pretrained']} is no output of a stage: add {files} to `pretrained:` of params.yaml"
        )
    if row["data"] not in grid["data"]:
        raise ValueError(f"{where}: {no_such('data=' + str(row['data']), str(row['data']), grid['data'])}")
    if not _is_named(key, name, row):
        raise ValueError(f"{where} is not named {name} after its row, {row}")


def _check_members(key: str, row: Config, cells: Config) -> None:
    """Check that the members of an ensemble are cells, and as many as dvc.yaml has room for."""
    if not isinstance(row["members"], list):
        raise ValueError(f"params.yaml: ensembles: {key}: members must be a list; got {row['members']!r}")
    if not 2 <= len(row["members"]) <= MOST_MEMBERS:
        raise ValueError(
            f"params.yaml: the ensemble {key} has {len(row['members'])} members, and dvc.yaml lists two to "
            f"{MOST_MEMBERS} of them: make it by hand, with pipelines/ensemble.py"
        )
    if missing := {run_of(row, member) for member in row["members"]} - set(cells):
        raise ValueError(f"params.yaml: the ensemble {key} has members that are no cells: {sorted(missing)}")


def _check_others(key: str, row: Config, grid: Config) -> None:
    """Check that a row of `elsewhere` is a cell or an ensemble, and names other datasets of the grid."""
    where, others = f"params.yaml: elsewhere: {key}", row["others"]
    _check_trained(where, key, grid)
    other_data = [name for name in grid["data"] if name != row["data"]]
    if not isinstance(others, list) or not OTHERS[0] <= len(others) <= OTHERS[1] or not {*others} <= {*other_data}:
        raise ValueError(
            f"{where}: others must be a list of {OTHERS[0]} or {OTHERS[1]} of {other_data}; got {others!r}"
        )


def _check_trained(where: str, key: str, grid: Config) -> None:
    """Check that there is a trained model of this name."""
    if key not in {**grid["cells"], **grid["ensembles"]}:
        raise ValueError(f"{where} is no cell and no ensemble: name one of them")


def _check_keys(where: str, row: Config, needed: Collection[str], optional: Collection[str] = ()) -> None:
    expected = [*needed, *optional]
    if unknown := [name for name in row if name not in expected]:
        raise ValueError(f"{where}: {no_such(f'key {unknown[0]!r}', f'{unknown[0]}', expected)}")
    if missing := [name for name in needed if name not in row]:
        raise ValueError(f"{where} has no {' and no '.join(missing)}. Expected keys: {', '.join(expected)}")


def _check_choices(where: str, row: Config, *, of_all: bool = False) -> None:
    """Check seed, profile and overrides, as far as there are any."""
    seed, profile, overrides = (
        row.get(name, default) for name, default in (("seed", 0), ("profile", ""), ("overrides", []))
    )
    if type(seed) is not int:
        raise ValueError(f"{where}: seed must be a whole number; got {seed!r}")
    if profile not in ("", *choices("profile")):
        raise ValueError(f"{where}: {no_such(f'profile: {profile}', f'{profile}', choices('profile'))}")
    if not (isinstance(overrides, list) and all(isinstance(override, str) for override in overrides)):
        raise ValueError(f"{where}: overrides must be a list such as [optimizer.lr=0.01]; got {overrides!r}")
    for override in overrides:
        if part_of(override) == APPENDED:
            _check_experiment(where, override)
        owner = SET_BY_ROW.get(part_of(override))
        if owner and not (of_all and override.lstrip("+~").startswith(OF_DATA)):
            raise ValueError(f"{where}: overrides must not set {override}: {owner}")


def _check_experiment(where: str, override: str) -> None:
    """Check that an experiment chooses neither data nor model, which are keys of the row."""
    name = override.partition("=")[2]
    if name not in choices(APPENDED):
        raise ValueError(f"{where}: {no_such(f'{APPENDED}={name}', name, choices(APPENDED))}")
    if choice := re.search(r"override /(data|model):", (CONF / APPENDED / f"{name}.yaml").read_text(encoding="utf-8")):
        raise ValueError(
            f"{where}: {override} chooses {choice[1]}, which is a key of the row: choose another experiment"
        )


def _is_named(key: str, name: str, row: Config) -> bool:
    """Check that a row is named after its own keys; keys that it lacks are free."""
    pattern = re.sub(r"<(\w+)>", lambda part: re.escape(f"{row[part[1]]}") if part[1] in row else ".+", name)
    return re.fullmatch(pattern, key) is not None


def _differences(one: Any, other: Any, key: str) -> Iterator[str]:
    """The keys in which two configs differ."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        if one != other:
            yield key
        return
    for name in {*one, *other}:
        yield from _differences(one.get(name), other.get(name), f"{key}.{name}")
