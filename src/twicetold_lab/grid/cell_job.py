"""A cell of the grid as a job of a launcher: DVC trains and evaluates it in a clone, and keeps what came out."""

from twicetold.command_line import end_with_parent

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory

from dvc.config import Config
from dvc.repo import Repo
from omegaconf import DictConfig

from twicetold import layout
from twicetold.files import write_text
from twicetold_lab.runs.environment import versions

PLAN, RESULT, LOG = "plan.json", "result.json", "log.txt"  # in multirun/fan_out; the last two for each cell
UNTRACKED = (layout.OBSERVED, layout.MODEL_CARD)  # what a cell writes and DVC does not restore


@dataclass(frozen=True)
class Plan:
    """Settings shared by the jobs of a call.

    Args:
        home: the project's folder.
        commit: to run.
        environment: versions that a job must have, by name.
        stores: cell -> address of its MLflow store; no tracked cells, no entries.
    """

    home: str
    commit: str
    environment: Mapping[str, str]
    stores: Mapping[str, str]


def reproduce(cfg: DictConfig, plan: Plan, log: Path) -> None:
    """Train and evaluate a cell in a clone.

    Raises:
        ValueError: if a command fails, or this machine has other versions than the one that made the plan.
    """
    if other := differences(plan.environment, environment()):
        raise ValueError(f"{platform.node()} has other versions, which may give other results: {', '.join(other)}")
    scratch, home = Path(cfg.scratch), Path(plan.home)
    scratch.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(prefix=f"{cfg.cell}-", dir=scratch, ignore_cleanup_errors=True) as folder,
        log.open("wb") as printed,
    ):
        clone = Path(folder, "clone")
        settings = {
            "OMP_NUM_THREADS": f"{cfg.threads}",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([f"{clone / 'src'}", *filter(None, [os.environ.get("PYTHONPATH")])]),
            "DVC_SITE_CACHE_DIR": f"{folder}/site",
            **({"MLFLOW_TRACKING_URI": store} if (store := plan.stores.get(cfg.cell)) else {}),
        }

        def run(*command: str, cwd: Path = clone) -> None:
            done = subprocess.run(
                command,
                cwd=cwd,
                env=os.environ | settings,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                preexec_fn=end_with_parent,
                check=False,
            )
            if done.returncode:
                raise ValueError(reason(log) or f"{' '.join(command)} ended with status {done.returncode}")

        run("git", "clone", "--quiet", "--shared", "--no-checkout", plan.home, f"{clone}", cwd=home)
        run("git", "checkout", "--quiet", "--detach", plan.commit)
        connect(clone, home, cfg)
        run("dvc", "repro", *(["--pull"] if cfg.push else []), f"evaluate@{cfg.cell}")
        if cfg.push:
            push(clone)
        for name in UNTRACKED:
            if (made := clone / cfg.paths.runs / cfg.cell / name).exists():
                write_text(home / cfg.paths.runs / cfg.cell / name, made.read_text(encoding="utf-8"))


def connect(clone: Path, home: Path, cfg: DictConfig) -> None:
    """Give a clone the state, the cache and the remotes of the project, and its folders that outlive a job."""
    shutil.copyfile(home / "dvc.lock", clone / "dvc.lock")
    for root in (cfg.paths.checkpoints, cfg.paths.features, cfg.paths.downloads):
        (home / root).mkdir(parents=True, exist_ok=True)
        (clone / root).parent.mkdir(parents=True, exist_ok=True)
        (clone / root).symlink_to(home / root)
    shutil.rmtree(clone / cfg.paths.own)  # one's own files are not in Git
    shutil.copytree(home / cfg.paths.own, clone / cfg.paths.own, copy_function=os.symlink)
    known = Config(f"{home / '.dvc'}")
    cache = Path(cfg.scratch, "cache") if cfg.push else known["cache"].get("dir") or home / ".dvc" / "cache"
    with Config(f"{clone / '.dvc'}").edit("local") as local:
        local["remote"] = known["remote"]
        local["core"] = {"remote": known["core"]["remote"]} if cfg.push else {}
        local["cache"] = {"dir": f"{cache}", "type": "reflink,hardlink,symlink,copy"}


def push(clone: Path) -> None:
    """Push DVC's run cache with all that its entries name.

    `dvc push --run-cache` leaves out the files that are in Git, the metrics, and no evaluation is restored without.
    """
    with chdir(clone), Repo() as repo:
        for objects in repo.stage_cache.get_used_objs(repo.stage_cache.push(None)).values():
            repo.cloud.push(objects)


def reason(log: Path) -> str:
    """The first error in what a job printed: that of the stage, or of DVC if the stage said none."""
    error = re.search(r"^(?:error|ERROR|fatal): (.*)", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return error[1] if error else ""


OF_TRAINING = {"torch", "train", "transformers", "static"}
"""Extras on whose packages results depend."""


def environment() -> dict[str, str]:
    """Versions of Python and of the direct dependencies of trainings; CPU and CUDA builds count as one."""
    names = set()
    for one in requires("twicetold") or []:
        extra = re.search(r'extra == "(\w+)"', one)
        if extra is None or extra[1] in OF_TRAINING:
            names.add(re.split(r"[^\w.-]", one, maxsplit=1)[0])
    installed = versions(sorted(names - {"twicetold"}))
    return {"machine": platform.machine(), **{name: each.partition("+")[0] for name, each in installed.items()}}


def differences(expected: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """Differing versions, in words."""
    return [
        f"{name} {actual.get(name, 'none')} (expected {wanted})"
        for name, wanted in expected.items()
        if actual.get(name) != wanted
    ]
