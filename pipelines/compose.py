"""Render each cell of params.yaml to a resolved config with the hashes of its code.

Usage: python pipelines/compose.py <folder>

Examples:
    python pipelines/compose.py build/conf
    python pipelines/compose.py /tmp/conf

Imports neither torch nor the library, but for how scripts end and for digests; several processes share the cells.
"""

import checkout  # noqa: F401 (for its effects)

import gc
import multiprocessing
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sys import argv
from typing import Any

from hydra import initialize
from omegaconf import OmegaConf

from twicetold_lab.grid.code_identity import SCORING, Config, code_identity, learnt_from
from twicetold_lab.grid.rendering import (
    cell,
    composed,
    data_of,
    digest_of,
    for_cell,
    for_data,
    name_of,
    of_data,
    tracked,
    write,
)
from twicetold_lab.grid.rows import check_cell, check_data, check_grid, members_of, run_of

OF_MODELS = ("train", "elsewhere")
"""Kinds of files that are about trained models; those of `train` that are rendered last are ensembles."""


@dataclass(frozen=True)
class Job:
    """One file to render."""

    kind: str  # its folder: prepare, pretrained, train, self_training, elsewhere
    key: str
    row: Mapping[str, Any]  # of params.yaml


def main() -> None:
    if len(argv) != 2 or argv[1].startswith("-"):
        raise SystemExit(f"expected one folder to write to, got {argv[1:]}: python pipelines/compose.py build/conf")
    grid, out = OmegaConf.to_container(OmegaConf.load("params.yaml")), Path(argv[1])
    assert isinstance(grid, dict)
    try:
        check_grid(grid)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    cells = [Job("train", key, row) for key, row in grid["cells"].items()]
    jobs = [Job("prepare", key, row) for key, row in grid["data"].items()]
    jobs += [Job("pretrained", key, {}) for key in grid["pretrained"]]
    jobs += [Job("train", key, row) for key, row in grid["ensembles"].items()]
    jobs += [Job("self_training", key, row) for key, row in grid["self_training"].items()]
    jobs += [Job("elsewhere", key, row) for key, row in grid["elsewhere"].items()]
    for kind in {job.kind for job in [*cells, *jobs]}:
        (out / kind).mkdir(parents=True, exist_ok=True)
    # Before the pool, whose processes then have most of the code parsed.
    gc.disable()  # a third of the time otherwise: each composition leaves many cycles, and all of them fit in memory
    processes = max(1, min(len(os.sched_getaffinity(0)), len(cells) // 4))
    with (
        initialize(version_base="1.3", config_path="../conf"),
        # Ctrl-C is for this process, which ends the pool.
        multiprocessing.get_context("fork").Pool(processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
    ):
        try:
            rendered = partial(render_cell, grid=grid, out=out)
            scoring = dict(pool.imap_unordered(rendered, cells, chunksize=4))
            for _ in pool.imap_unordered(partial(render, grid=grid, out=out, scoring=scoring), jobs, chunksize=4):
                pass
        except ValueError as error:
            raise SystemExit(str(error)) from None


def render_cell(job: Job, *, grid: Config, out: Path) -> tuple[str, Config]:
    """Compose and write the file of one training.

    Returns:
        Its key, and the parts that are built to score with its trained model.
    """
    row = job.row
    config = cell(job.key, row, grid)
    check_cell(job.key, row, config, data=data_of(*for_data(row["data"], grid)), overrides=for_cell(job.key, row, grid))
    scoring = {key: config[key] for key in SCORING}
    evaluated = scoring | {"evaluator": config["evaluator"]}
    config["code"] = identities({"train": learnt_from(config), "evaluate": evaluated, "measure": scoring})
    write(out / job.kind / f"{job.key}.yaml", config)
    return job.key, scoring


def identities(built: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of the code of stages, which build these parts of a config."""
    return {stage: code_identity(f"pipelines/{stage}.py", parts) for stage, parts in built.items()}


def render(job: Job, *, grid: Config, out: Path, scoring: Mapping[str, Config]) -> None:
    """Compose and write one other file.

    Args:
        job: what it is.
        grid: that of params.yaml.
        out: folder of all files.
        scoring: of each training, the parts that `render_cell` returned.
    """
    row, run = job.row, f"run=${{paths.runs}}/{job.key}"
    models = [scoring[member] for member in members_of(grid, job.key)] if job.kind in OF_MODELS else []
    built: dict[str, Any]
    if job.kind == "prepare":
        config = composed("prepare", *for_data(job.key, grid))
        check_data(job.key, config)
        config["own_file"] = digest_of(config["data"]["source"])
        built = {"download": {}, "prepare": config["data"], "mine": config["mining"]}
    elif job.kind == "pretrained":
        config = composed("download_pretrained", f"pretrained={job.key}")
        built = {"download_pretrained": {}}
    elif job.kind == "self_training":
        names = [f"{name}={row[name]}" for name in ("data", "mining", "teacher", "seed")]
        config = composed("mine_with_model", *names, *of_data(grid))
        built = {"mine_with_model": [config["mining"], scoring[run_of(row, row["teacher"])]]}
    elif job.kind == "elsewhere":
        config = composed("evaluate_elsewhere", run, f"others={row['others']}", *tracked(grid))
        built = {"evaluate_elsewhere": [*models, config["evaluator"]]}
    else:  # an ensemble
        names = [f"{name}={row[name]}" for name in ("data", "seed", "members", "stacking") if name in row]
        config = composed("ensemble", *names, f"name={name_of(job.key, row)}", *tracked(grid))
        built = {"ensemble": models, "evaluate": [*models, config["evaluator"]], "measure": models}
    config["code"] = identities(built)
    write(out / job.kind / f"{job.key}.yaml", config)


if __name__ == "__main__":
    main()
