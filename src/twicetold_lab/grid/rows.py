"""The rows of the grid, expanded from the names in params.yaml; what makes no sense is refused in words.

params.yaml lists recipes for each dataset. DVC needs a row for each training, with the files that it reads: `expanded`
makes the rows from names, `with_files` adds the files from the composed settings, and `compose` writes them to
conf/cells.yaml, which dvc.yaml loops over. So no file is named twice, and no override says anew what a row says.
"""

import json
import os.path
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from twicetold.files import write_text
from twicetold.trained.provenance import pretrained_files
from twicetold_lab.grid.settings import APPENDED, CONF, check_added, check_used, choices, no_such, part_of

Config = Mapping[str, Any]
PARAMS, CELLS = Path("params.yaml"), Path("conf/cells.yaml")
HEAD = "# Written by pipelines/compose.py from params.yaml, for dvc.yaml. Do not edit.\n"
TOP = ("profile", "overrides", "grid")
OF_DATA = ("models", "seeds", "variants", "matched", "ensembles", "elsewhere")
OF_VARIANT = ("models", APPENDED, "profile", "overrides")
SET_BY_ROW = {
    "data": "the grid names its data, and other data are another file in conf/data/",
    "model": "`models` names them",
    "seed": "`seeds` names them",
    "name": "it is the middle of the row's name, <data>-<name>-<seed>",
    "profile": "`profile` is a key of params.yaml and of a variant",
    "paths": "conf/paths.yaml says where folders are, to DVC as well",
    "origin": "dvc.yaml says it",
    "hydra": "dvc.yaml says how stages run",
}
"""Parts that no override may set, and what sets them instead."""
SET_FOR_DATA = ("data.", "data@")
"""Beginnings of overrides that may stand for all rows, since the data stages get them as well."""
MOST_MEMBERS = 4  # of an ensemble, whose stage in dvc.yaml depends on so many
OTHERS = (2, 3)  # datasets that a model is evaluated on beside its own: the stage in dvc.yaml depends on so many


def read_grid(root: Path) -> dict[str, Any]:
    """Return the grid of a checkout: profile and overrides of params.yaml, and the rows of conf/cells.yaml.

    Examples:
        >>> sorted(read_grid(CONF.parent))[:4]
        ['cells', 'data', 'elsewhere', 'ensembles']
    """
    params, rows = (yaml.safe_load((root / file).read_text(encoding="utf-8")) for file in (PARAMS, CELLS))
    return {"profile": params["profile"], "overrides": params["overrides"], **rows}


def expanded(params: Any) -> dict[str, Any]:
    """Return the grid with a row for each training, ensemble and evaluation, by name.

    Args:
        params: content of params.yaml.

    Returns:
        Profile and overrides, and the sections `data`, `cells`, `ensembles` and `elsewhere`; `with_files`
        adds what is known from the composed settings alone.

    Raises:
        ValueError: for what makes no sense.
    """
    _check_keys("params.yaml", params, TOP)
    _check_choices("params.yaml", params, of_all=True)
    grid: dict[str, Any] = {name: params[name] for name in ("profile", "overrides")}
    grid |= {"data": {}, "cells": {}, "ensembles": {}, "elsewhere": {}}
    for data, about in _mapping("params.yaml: grid", params["grid"]).items():
        where = f"params.yaml: grid: {data}"
        _check_keys(where, _mapping(where, about), ("models",), OF_DATA)
        _check_known(where, "data", [data])
        grid["data"][data] = {"data": data}
        grid["cells"] |= _cells(where, data, about)
        for name, row in _mapping(f"{where}: ensembles", about.get("ensembles", {})).items():
            grid["ensembles"][f"{data}-{name}-0"] = _ensemble(f"{where}: ensembles: {name}", data, row, grid["cells"])
    for data, about in params["grid"].items():
        _add_evaluations(f"params.yaml: grid: {data}", data, about, grid)
    return grid


def with_files(grid: Config, files: Mapping[str, Config]) -> dict[str, Any]:
    """Return the grid with the files that trainings read, and the rows of the stages that make these.

    Args:
        grid: of `expanded`.
        files: cell -> what `files_of` found in its settings.

    Raises:
        ValueError: if a training learns from what the model of no cell mines.
    """
    cells = {key: {**row, **{n: files[key][n] for n in ("mined", "pretrained")}} for key, row in grid["cells"].items()}
    mining = {Path(each["mined"]).name: each["mining"] for each in files.values() if each["mining"]}
    for key, row in mining.items():
        if (teacher := run_of(row, row["teacher"])) not in cells:
            raise ValueError(f"params.yaml: the teacher of {key} is no cell: {teacher}")
    names = {Path(row["pretrained"]).name for row in cells.values()} & {*choices("pretrained")}
    return {**grid, "pretrained": sorted({"none", *names}), "cells": cells, "self_training": mining}


def written(grid: Config, file: Path) -> bool:
    """Write the rows for DVC, unless the file has them; true if it had others."""
    rows = {name: each for name, each in grid.items() if name not in ("profile", "overrides")}
    lines = [HEAD]
    for section, entries in rows.items():
        named = entries.items() if isinstance(entries, Mapping) else ()
        flow = [f"  {key}: {json.dumps(row)}\n" for key, row in named]
        lines += [f"{section}:\n", *flow] if flow else [f"{section}: {json.dumps(entries)}\n"]
    text = "".join(lines)
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    write_text(file, text)
    return True


def files_of(key: str, row: Config, config: Config) -> dict[str, Any]:
    """Return the files that a training reads, by its composed settings, beside its data.

    Returns:
        `mined`, a folder of examples; `pretrained`, a folder or file; and `mining`, the row of the stage that makes the
        examples with a trained model, None for other examples.

    Raises:
        ValueError: if DVC would not see when they change.
    """
    paths, data = config["paths"], row["data"]
    mined, mining = config["examples"].get("mined"), None
    if mined:
        made = Path(mined).name
        end = f"-{config['teacher']}-{row['seed']}"
        if Path(mined).parent != Path(paths["self_training"]) or not made.endswith(end):
            raise ValueError(f"params.yaml: {key}: its examples are read from {mined}, which no stage makes")
        way = made.removeprefix(f"{data}-").removesuffix(end)
        mining = {"data": data, "mining": way, "teacher": config["teacher"], "seed": row["seed"]}
    below = Path(paths["pretrained"])
    read = {
        below / Path(file).relative_to(below).parts[0] if Path(file).is_relative_to(below) else Path(file)
        for file in pretrained_files(config)
    }
    known = [below / name for name in choices("pretrained")]
    if unseen := [file for file in read if file not in known and not file.is_relative_to(paths["own"])]:
        raise ValueError(
            f"params.yaml: {key}: it reads {unseen[0]}, and DVC would not see when it changes: what is not in "
            f"conf/pretrained/ must be in {paths['own']}/"
        )
    if len(read) > 1:
        raise ValueError(
            f"params.yaml: {key}: it reads {sorted(map(str, read))}, and dvc.yaml has room for one of them"
        )
    return {
        "mined": mined or f"{paths['triplets']}/{data}",
        "pretrained": f"{next(iter(read), below / 'none')}",
        "mining": mining,
    }


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
    """Check that a training reads the data of the data stages, and all that its row sets.

    Args:
        key: its name.
        row: of `expanded`.
        config: composed from it.
        data: the settings with which the data stages run.
        overrides: all that the config was composed with.

    Raises:
        ValueError: if it does not.
    """
    where = f"params.yaml: {key}"
    if other := sorted(_differences(config["data"], data, "data")):
        cause = f"profile: {row['profile']}" if "profile" in row else "its model, or a file in conf/tuned/,"
        raise ValueError(
            f"{where}: {cause} changes {', '.join(other)}, and the stages that prepare {row['data']} run without it. "
            "A variant's profile may change its training only, since the data are shared: set one that changes data "
            "for the whole grid, with `profile:` at the top of params.yaml"
        )
    try:
        check_used(config, row.get("overrides", []))
        check_added("train", overrides)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def run_of(row: Config, model: str) -> str:
    """Return the cell of another model on the same data with the same seed."""
    return f"{row['data']}-{model}-{row['seed']}"


def members_of(grid: Config, key: str) -> list[str]:
    """Return the cells of an ensemble; a cell alone is its own."""
    row = grid["ensembles"].get(key)
    return [key] if row is None else [run_of(row, member) for member in row["members"]]


def _cells(where: str, data: str, about: Config) -> dict[str, dict[str, Any]]:
    """Return the rows of trainings on one dataset."""
    models = _recipes(where, about["models"])
    seeds = _mapping(f"{where}: seeds", about.get("seeds", {}))
    named: list[tuple[str, dict[str, Any]]] = [(model, {"data": data, "model": model}) for model in models]
    for variant, how in _mapping(f"{where}: variants", about.get("variants", {})).items():
        place = f"{where}: variants: {variant}"
        _check_keys(place, _mapping(place, how), ("models",), OF_VARIANT)
        _check_choices(place, how)
        chosen = [f"+{APPENDED}={how[APPENDED]}"] if APPENDED in how else []
        own = {"profile": how["profile"]} if "profile" in how else {}
        own |= {"overrides": both} if (both := [*chosen, *how.get("overrides", [])]) else {}
        named += [
            (f"{model}_{variant}", {"data": data, "model": model, **own}) for model in _recipes(place, how["models"])
        ]
    names = [name for name, _ in named]
    _check_keys(f"{where}: seeds", seeds, (), names)
    if not isinstance(matched := about.get("matched", names), list):
        raise ValueError(f"{where}: matched must be a list of its models; got {matched!r}")
    _check_keys(f"{where}: matched", matched, (), names)
    cells: dict[str, dict[str, Any]] = {}
    for name, row in named:
        for seed in _seeds(f"{where}: seeds: {name}", seeds.get(name, [0])):
            if (key := f"{data}-{name}-{seed}") in cells:
                raise ValueError(f"{where} names {key} twice")
            cells[key] = {**row, "seed": seed, **({} if name in matched else {"matched": False})}
    return cells


def _ensemble(where: str, data: str, row: Any, cells: Config) -> dict[str, Any]:
    """Return the row of an ensemble, whose members are cells, and as many as dvc.yaml has room for."""
    _check_keys(where, _mapping(where, row), ("members",), ("stacking",))
    members = row["members"]
    if not (isinstance(members, list) and 2 <= len(members) <= MOST_MEMBERS):
        raise ValueError(
            f"{where}: members must be a list of two to {MOST_MEMBERS} trainings, which is what dvc.yaml has room for; "
            f"got {members!r}. Make others by hand, with pipelines/ensemble.py"
        )
    made = {"data": data, **row, "seed": 0}
    if missing := [member for member in members if run_of(made, member) not in cells]:
        raise ValueError(f"{where} has members that are no cells with seed 0: {missing}")
    return made


def _add_evaluations(where: str, data: str, about: Config, grid: Config) -> None:
    """Add the rows of further evaluations of trained models, which are named without their seed, 0."""
    elsewhere = _mapping(f"{where}: elsewhere", about.get("elsewhere", {"others": [], "models": []}))
    _check_keys(f"{where}: elsewhere", elsewhere, ("others", "models"))
    others, possible = elsewhere["others"], [name for name in grid["data"] if name != data]
    fits = isinstance(others, list) and OTHERS[0] <= len(others) <= OTHERS[1] and {*others} <= {*possible}
    if elsewhere["models"] and not fits:
        raise ValueError(
            f"{where}: elsewhere: others must be a list of {OTHERS[0]} or {OTHERS[1]} of {possible}; got {others!r}"
        )
    for model in elsewhere["models"]:
        if (key := f"{data}-{model}-0") not in {**grid["cells"], **grid["ensembles"]}:
            raise ValueError(f"{where}: elsewhere: {key} is no cell and no ensemble: name one of them")
        grid["elsewhere"][key] = {"data": data, "seed": 0, "others": others}


def _recipes(where: str, models: Any) -> list[str]:
    """Return a list of names in conf/model/."""
    if not isinstance(models, list):
        raise ValueError(f"{where}: models must be a list of names in conf/model/; got {models!r}")
    _check_known(where, "model", models)
    return models


def _seeds(where: str, seeds: Any) -> list[int]:
    if not (isinstance(seeds, list) and all(type(seed) is int for seed in seeds)):
        raise ValueError(f"{where} must be a list of whole numbers; got {seeds!r}")
    return seeds


def _mapping(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a mapping, {{}} if there is nothing; got {value!r}")
    return value


def _check_known(where: str, group: str, names: Iterable[str]) -> None:
    """Check that names are files of a group of conf/."""
    known = choices(group)
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{where}: {no_such(f'{group}={unknown[0]}', f'{unknown[0]}', known)}")


def _check_keys(where: str, row: Collection[str], needed: Collection[str], optional: Collection[str] = ()) -> None:
    expected = list(dict.fromkeys([*needed, *optional]))
    if unknown := [name for name in row if name not in expected]:
        raise ValueError(f"{where}: {no_such(f'key {unknown[0]!r}', f'{unknown[0]}', expected)}")
    if missing := [name for name in needed if name not in row]:
        raise ValueError(f"{where} has no {' and no '.join(missing)}. Expected keys: {', '.join(expected)}")


def _check_choices(where: str, row: Config, *, of_all: bool = False) -> None:
    """Check profile, experiment and overrides, as far as there are any."""
    overrides = row.get("overrides", [])
    if "profile" in row:
        _check_known(where, "profile", [row["profile"]])
    if APPENDED in row:
        _check_experiment(where, row[APPENDED])
    if not (isinstance(overrides, list) and all(isinstance(override, str) for override in overrides)):
        raise ValueError(f"{where}: overrides must be a list such as [optimizer.lr=0.01]; got {overrides!r}")
    for override in overrides:
        if part_of(override) == APPENDED:
            raise ValueError(f"{where}: overrides must not set {override}: `{APPENDED}` is a key of a variant")
        owner = SET_BY_ROW.get(part_of(override))
        if owner and not (of_all and override.lstrip("+~").startswith(SET_FOR_DATA)):
            raise ValueError(f"{where}: overrides must not set {override}: {owner}")


def _check_experiment(where: str, name: str) -> None:
    """Check that an experiment chooses neither data nor model, which the grid names."""
    _check_known(where, APPENDED, [name])
    if choice := re.search(r"override /(data|model):", (CONF / APPENDED / f"{name}.yaml").read_text(encoding="utf-8")):
        raise ValueError(
            f"{where}: {APPENDED}={name} chooses {choice[1]}, which the grid names: choose another experiment"
        )


def _differences(one: Any, other: Any, key: str) -> Iterator[str]:
    """Yield the keys in which two configs differ."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        if one != other:
            yield key
        return
    for name in {*one, *other}:
        yield from _differences(one.get(name), other.get(name), f"{key}.{name}")
