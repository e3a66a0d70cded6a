"""Run stale cells of the grid as jobs of a launcher of Hydra.

Usage: python pipelines/fan_out.py [-m] [cell=<cell>,...] [hydra/launcher=<launcher>] [<key>=<value> ...]

Examples:
    python pipelines/fan_out.py -m hydra/launcher=submitit_slurm
    python pipelines/fan_out.py -m cell=stsb-dae-0,stsb-dssm-0 hydra.launcher.processes=2

A job clones the commit, has DVC run `evaluate@<cell>` in the clone, and leaves what came out in DVC's run cache. Then
`dvc repro` restores every finished cell here, and it alone writes dvc.lock. docs/guides/many-machines.md describes it.
"""

import checkout  # noqa: F401 (for its effects)
from twicetold.command_line import end_with_parent

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing import current_process
from pathlib import Path

import hydra
from hydra import compose, initialize
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from twicetold.errors import readable_errors
from twicetold.files import write_json
from twicetold.printable import print
from twicetold_lab.grid.cell_job import LOG, PLAN, RESULT, Plan, environment, reproduce
from twicetold_lab.grid.fan_out import (
    at_home,
    check_remote,
    chosen,
    committed,
    graph,
    locked,
    make_what_cells_need,
    stores,
    telling,
)
from twicetold_lab.grid.settings import check_settings


@hydra.main(version_base="1.3", config_path="../conf", config_name="fan_out")
def main(cfg: DictConfig) -> None:
    """A job; one that fails says so in its result and leaves the others."""
    if current_process().name != "MainProcess":
        end_with_parent()
    out, began, why = Path(HydraConfig.get().runtime.output_dir), time.monotonic(), ""
    try:
        reproduce(cfg, Plan(**json.loads((out.parent / PLAN).read_text(encoding="utf-8"))), out / LOG)
    except Exception as error:
        why = str(error).strip() or type(error).__name__
    write_json(out / RESULT, {"why": why, "seconds": time.monotonic() - began, "host": platform.node()})


def start(arguments: Sequence[str]) -> None:
    """Check, prepare, launch the jobs and say how they ended.

    Raises:
        ValueError: if something must be done before.
        SystemExit: if a job failed.
    """
    named = [cell for a in arguments if a.startswith("cell=") for cell in a.removeprefix("cell=").split(",")]
    others = [a for a in arguments if not a.startswith("cell=") and a not in ("-m", "--multirun")]
    with initialize(version_base="1.3", config_path="../conf"):
        cfg = compose("fan_out", others, return_hydra_config=True)
        check_settings(cfg)
    commit = committed()
    if cfg.push:
        check_remote()
    at_home("dvc", "repro", "compose")
    before, stale = graph()
    cells, left = chosen(named or None, before, stale)
    for cell, needed in left.items():
        print(f"left to `dvc repro`, as it needs what is not there yet ({', '.join(sorted(needed))}): {cell}")
    if not cells:
        print("no cell to run")
        return
    plan = Plan(f"{Path.cwd()}", commit, environment(), stores(cells, cfg))
    make_what_cells_need(cells, before, stale, push=cfg.push)
    folder = Path(cfg.hydra.sweep.dir)
    sys.argv[1:] = ["-m", *others, f"cell={','.join(cells)}"]
    pipelines = f"{Path(__file__).parent.resolve()}"  # where a job finds the launchers of Hydra
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), pipelines]))
    print(f"{len(cells)} cells, a job each; what one prints is in {os.path.relpath(folder)}/<cell>/{LOG}", flush=True)
    with locked():  # also what the jobs of another call read and write
        for cell in cells:
            (folder / cell / RESULT).unlink(missing_ok=True)
        write_json(folder / PLAN, asdict(plan))
        with telling(folder, cells, then="dvc repro --pull" if cfg.push else "dvc repro"):
            main()


if __name__ == "__main__":
    if {a for a in sys.argv[1:] if a.startswith("-")} - {"-m", "--multirun"}:  # --cfg job
        main()
    else:
        with readable_errors():
            start(sys.argv[1:])
