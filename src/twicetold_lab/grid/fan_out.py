"""Steps before the jobs of a fan-out, and their progress: which cells run, and what they need at home."""

import json
import logging
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import yaml
from dvc.config import Config
from dvc.lock import LockError
from dvc.repo import Repo
from networkx import descendants, topological_sort
from omegaconf import DictConfig

from twicetold.printable import print
from twicetold_lab.grid.cell_job import LOG, RESULT
from twicetold_lab.tracking.repository import IN_GIT
from twicetold_lab.tracking.store import SQLITE, Settings, address

ON_THIS_MACHINE = ("BasicLauncher", "LocalLauncher", "ProcessesLauncher")


def committed() -> str:
    """The commit to run.

    Raises:
        ValueError: if there is none, or it does not hold all that the stages are made of.
    """
    changed = asked("git", "status", "--porcelain", "--", *IN_GIT, ".dvc/config")
    if changed:
        raise ValueError(
            "jobs run a commit, and `dvc repro` restores their results only if it runs the same: commit (or take back) "
            f"the changes first, then call this again\n{changed}"
        )
    return asked("git", "rev-parse", "--verify", "HEAD").strip()


def check_remote() -> None:
    """Check that results can travel over DVC's remote.

    Raises:
        ValueError: if they cannot.
    """
    known = Config.from_cwd()
    name = known["core"].get("remote")
    if name is None:
        raise ValueError(
            "push=true needs a default remote of DVC: dvc remote add --default --local <name> <url>, with a folder, "
            "s3:// or ssh:// (docs/guides/many-machines.md)"
        )
    if known["remote"][name]["url"].startswith("http"):
        raise ValueError(f"DVC's run cache does not travel over http, as the remote {name} does: use s3:// or ssh://")


def chosen(
    named: Sequence[str] | None, before: Mapping[str, set[str]], stale: set[str]
) -> tuple[list[str], dict[str, set[str]]]:
    """The stale cells to run as jobs; and those left, with the stale trainings of other cells that they need.

    A job trains one cell: in two jobs, a training might give two models.

    Raises:
        ValueError: if there is no cell of a name.
    """
    cells = [stage.removeprefix("evaluate@") for stage in before if stage.startswith("evaluate@")]
    if unknown := set(named or []) - set(cells):
        raise ValueError(f"params.yaml has no cell {', '.join(sorted(unknown))}; it has {', '.join(sorted(cells))}")
    wanted = [cell for cell in cells if f"evaluate@{cell}" in stale and (named is None or cell in named)]
    needed = {
        cell: {stage for stage in before[f"evaluate@{cell}"] & stale if stage.startswith("train@")} - {f"train@{cell}"}
        for cell in wanted
    }
    return [cell for cell in wanted if not needed[cell]], {cell: needed[cell] for cell in wanted if needed[cell]}


def make_what_cells_need(cells: Sequence[str], before: Mapping[str, set[str]], stale: set[str], *, push: bool) -> None:
    """Run the stages here that all jobs wait for; with `push`, also push what they made to DVC's remote."""
    needed = {stage for cell in cells for stage in before[f"evaluate@{cell}"]}
    needed -= {f"{stage}@{cell}" for stage in ("train", "evaluate") for cell in cells}
    if made_here := sorted(needed & stale):
        at_home("dvc", "repro", *made_here)
    if push:
        at_home("dvc", "push", *sorted(needed))


def stores(cells: Iterable[str], cfg: DictConfig) -> dict[str, str]:
    """The MLflow store of each tracked cell, at an address that holds in a clone.

    Raises:
        ValueError: if it is a SQLite file and jobs may run on other machines.
    """
    addresses = {}
    for cell in cells:
        rendered = Path(cfg.paths.rendered, "train", f"{cell}.yaml").read_text(encoding="utf-8")
        settings = Settings(**yaml.safe_load(rendered)["tracking"], root=Path.cwd(), origin="dvc")
        if settings.enabled:
            store = address(settings)
            path = store.removeprefix(SQLITE)
            addresses[cell] = store if path == store else f"{SQLITE}{Path(path).resolve()}"
    here = cfg.hydra.launcher._target_.endswith(ON_THIS_MACHINE)
    if not here and (files := {store for store in addresses.values() if store.startswith(SQLITE)}):
        raise ValueError(
            f"several machines cannot write one SQLite file ({', '.join(sorted(files))}): set MLFLOW_TRACKING_URI to a "
            "server (docs/guides/many-machines.md#tracking), or switch tracking off in params.yaml: overrides: "
            "[tracking.enabled=false]"
        )
    return addresses


@contextmanager
def locked() -> Iterator[None]:
    """Hold DVC's lock of the project, so that no `dvc gc` removes what jobs make and no `dvc repro` trains it twice.

    Raises:
        ValueError: if another process holds it.
    """
    try:
        with Repo() as repo, repo.lock:
            yield
    except LockError as error:
        raise ValueError(f"another `dvc` or fan_out.py works in this folder: wait until it ends\n{error}") from error


@contextmanager
def telling(folder: Path, cells: Sequence[str], then: str) -> Iterator[None]:
    """Print a line when a cell ends, and in the end what failed and what to do.

    Raises:
        SystemExit: with status 1, if not all cells are finished.
    """
    ended = Event()
    results: dict[str, Any] = {}

    def look() -> None:
        for cell in sorted(set(cells) - set(results)):
            if (file := folder / cell / RESULT).exists():
                results[cell] = result = json.loads(file.read_text(encoding="utf-8"))
                how = f"FAILED: {result['why']}" if result["why"] else result["host"]
                share = f"{len(results)}/{len(cells)}"
                print(
                    f"{time.strftime('%H:%M:%S')}  {share:>9}  {cell:<50} {result['seconds']:6.0f} s   {how}",
                    flush=True,
                )

    def watch() -> None:
        while not ended.wait(1):
            look()

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        look()
        failed = {cell: result["why"] for cell, result in results.items() if result["why"]}
        print(f"{len(results) - len(failed)} of {len(cells)} cells are finished, {len(failed)} failed")
        for cell, why in failed.items():
            print(f"failed: {cell}: {why}; see {os.path.relpath(folder / cell / LOG)}")
        if silent := sorted(set(cells) - set(results)):
            print(f"stopped or lost: {', '.join(silent)}; the same command goes on with them")
        print(f"`{then}` restores what is finished and runs what is left")
    if failed or silent:
        raise SystemExit(1)


def at_home(*command: str) -> None:
    """Run a command of DVC here.

    Raises:
        ValueError: if it fails.
    """
    if subprocess.run(command, check=False).returncode:
        raise ValueError(f"{' '.join(command)} failed, see above")


def asked(*command: str) -> str:
    """The output of a command.

    Raises:
        ValueError: if it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def repository() -> Iterator[Repo]:
    """The DVC project of this folder, which waits for its lock and logs to the standard error stream."""
    logger = logging.getLogger("dvc")
    logger.handlers = [logging.StreamHandler()]
    logger.setLevel(logging.INFO)
    with Repo(_wait_for_lock=True) as repo:
        yield repo


def do_without_git() -> bool:
    """Have DVC work in a folder that is in no Git repository, as an archive of a release is; it would refuse.

    Returns:
        Whether that had to be set, in `.dvc/config.local`.
    """
    here = Path.cwd()
    if any((folder / ".git").exists() for folder in (here, *here.parents)):
        return False
    config = Config(f"{here / '.dvc'}")
    if config["core"].get("no_scm"):
        return False
    with config.edit("local") as local:
        local.setdefault("core", {})["no_scm"] = True
    return True


def graph() -> tuple[dict[str, set[str]], set[str]]:
    """Every stage, with all that it waits for, directly or not; and those that are stale, by what DVC says of each.

    A stage that always runs counts as current: whoever asks has just run `compose`, and its output says what changed.
    """
    before: dict[str, set[str]] = {}
    stale: set[str] = set()
    with repository() as repo, repo.lock:
        waits = repo.index.graph  # an edge leads to what a stage waits for
        for stage in reversed(list(topological_sort(waits))):
            name = stage.addressing
            before[name] = {other.addressing for other in descendants(waits, stage)}
            if before[name] & stale or (not stage.always_changed and stage.changed()):
                stale.add(name)
    return before, stale
