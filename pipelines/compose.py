"""Render each cell of params.yaml to a resolved config with the hashes of its code, and its row to conf/cells.yaml.

Usage: python pipelines/compose.py <folder>

Examples:
    python pipelines/compose.py build/conf
    python pipelines/compose.py /tmp/conf

Imports neither torch nor the library, but for how scripts end and for digests; several processes share the cells.
"""

import checkout  # noqa: F401 (for its effects)

import gc
import json
import multiprocessing
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sys import argv
from typing import Any

import yaml
from hydra import initialize

from twicetold.printable import print
from twicetold_lab.grid.code_identity import Config, built_by, code_identity, matcher_identity
from twicetold_lab.grid.lock import READS, settings_of
from twicetold_lab.grid.rendering import (
    KEPT,
    cell,
    composed,
    data_of,
    digest_of,
    for_cell,
    for_data,
    keep_in,
    kept_in,
    name_of,
    of_data,
    tracked,
    write,
)
from twicetold_lab.grid.rows import (
    CELLS,
    PARAMS,
    check_cell,
    check_data,
    expanded,
    files_of,
    members_of,
    run_of,
    with_files,
    written,
)

STORE = Path("build/composed.json")
LEARNT = Path("src/twicetold/matching/generic.json")
KINDS = ("prepare", "pretrained", "train", "self_training", "elsewhere")
OF_MODELS = ("train", "elsewhere")
"""Kinds of files that are about trained models; those of `train` that are rendered last are ensembles."""


@dataclass(frozen=True)
class Job:
    """One file to render."""

    kind: str  # its folder, of KINDS
    key: str
    row: Mapping[str, Any]  # of the grid


def main() -> None:
    if len(argv) != 2 or argv[1].startswith("-"):
        raise SystemExit(f"expected one folder to write to, got {argv[1:]}: python pipelines/compose.py build/conf")
    out = Path(argv[1])
    try:
        grid = expanded(yaml.safe_load(PARAMS.read_text(encoding="utf-8")))
    except ValueError as error:
        raise SystemExit(str(error)) from None
    cells = [Job("train", key, row) for key, row in grid["cells"].items()]
    for kind in KINDS:
        (out / kind).mkdir(parents=True, exist_ok=True)
    matcher = matcher_identity()
    (out / "matcher.json").write_text(json.dumps({"code": {"learn_matcher": matcher}}), encoding="utf-8")
    if matcher not in LEARNT.read_text(encoding="utf-8"):
        print("the numbers of the matcher were learnt with other features: dvc repro pipelines/matcher/dvc.yaml")
    kept_in(STORE)
    # Before the pool, whose processes then have most of the code parsed.
    gc.disable()  # a third of the time otherwise: each composition leaves many cycles, and all of them fit in memory
    processes = max(1, min(len(os.sched_getaffinity(0)), len(cells) // 4))
    with (
        initialize(version_base="1.3", config_path="../conf"),
        # Ctrl-C is for this process, which ends the pool.
        multiprocessing.get_context("fork").Pool(processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
    ):
        try:
            parts = pool.imap_unordered(partial(render_cell, grid=grid, out=out), cells, chunksize=4)
            scoring, files = {}, {}
            for key, built, read, composed_there in parts:
                scoring[key], files[key] = built, read
                KEPT.update(composed_there)
            grid = with_files(grid, files)
            if written(grid, CELLS) and "DVC_STAGE" in os.environ:  # DVC has read the former rows
                raise ValueError(f"{PARAMS} names other cells than {CELLS} did, which is now written: call `dvc` again")
            rest = partial(render, grid=grid, out=out, scoring=scoring)
            for composed_there in pool.imap_unordered(rest, jobs_of(grid), chunksize=4):
                KEPT.update(composed_there)
        except ValueError as error:
            raise SystemExit(str(error)) from None
    keep_in(STORE)


def jobs_of(grid: Config) -> list[Job]:
    """The files to render beside those of trainings."""
    jobs = [Job("prepare", key, row) for key, row in grid["data"].items()]
    jobs += [Job("pretrained", key, {}) for key in grid["pretrained"]]
    jobs += [Job("train", key, row) for key, row in grid["ensembles"].items()]
    return jobs + [Job(kind, key, row) for kind in KINDS[3:] for key, row in grid[kind].items()]


def render_cell(job: Job, *, grid: Config, out: Path) -> tuple[str, Config, Config, dict[str, str]]:
    """Compose and write the file of one training.

    Returns:
        Its key, the parts that are built to score with its trained model, the files that it reads, and what was
        composed for it.
    """
    row, before = job.row, {*KEPT}
    config = cell(job.key, row, grid)
    check_cell(job.key, row, config, data=data_of(*for_data(row["data"], grid)), overrides=for_cell(job.key, row, grid))
    built = built_by(config)
    finish(job, config, built, out)
    return job.key, built["measure"], files_of(job.key, row, config), {k: v for k, v in KEPT.items() if k not in before}


def finish(job: Job, config: Config, built: Mapping[str, Any], out: Path) -> None:
    """Write a config, with the code of the stages that read it, and digests of their settings beside it.

    Args:
        job: what it is.
        config: composed.
        built: stage -> parts that its script builds.
        out: folder of all files.
    """
    config["code"] = {stage: code_identity(f"pipelines/{stage}.py", parts) for stage, parts in built.items()}
    write(out / job.kind / f"{job.key}.yaml", config)
    settings = {stage: settings_of(stage, config) for stage in built if stage in READS}
    compared = json.dumps({"code": config["code"], "settings": settings})
    (out / job.kind / f"{job.key}.json").write_text(compared, encoding="utf-8")  # DVC takes seconds for as much YAML


def render(job: Job, *, grid: Config, out: Path, scoring: Mapping[str, Config]) -> dict[str, str]:
    """Compose and write one other file; what was composed for it.

    Args:
        job: what it is.
        grid: of `with_files`.
        out: folder of all files.
        scoring: of each training, the parts that are built to score with its model.
    """
    before = {*KEPT}
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
    finish(job, config, built, out)
    return {key: text for key, text in KEPT.items() if key not in before}


if __name__ == "__main__":
    main()
