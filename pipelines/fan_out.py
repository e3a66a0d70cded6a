"""Run stale cells of the grid as jobs of a launcher of Hydra: `fan_out.py -m hydra/launcher=submitit_slurm`.

A job clones the commit, has DVC run `evaluate@<cell>` in the clone, and leaves what came out in DVC's run cache. Then
`dvc repro` restores every finished cell here, and it alone writes dvc.lock. docs/many-machines.md describes it.
"""

import checkout  # noqa: F401 (for its effects)
from twicetold.command_line import end_with_parent

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from multiprocessing import current_process
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import hydra
import yaml
from dvc.config import Config
from dvc.lock import LockError
from dvc.repo import Repo
from hydra import compose, initialize
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_json, write_text
from twicetold.printable import print
from twicetold.tracking.store import SQLITE, Settings, address
from twicetold_grid.settings import check_settings
from twicetold_grid.stages import IN_GIT, all_before, graph

PLAN, RESULT, LOG = "plan.json", "result.json", "log.txt"  # in multirun/fan_out; the last two for each cell
UNTRACKED = (layout.OBSERVED, layout.MODEL_CARD)  # what a cell writes and DVC does not restore
ON_THIS_MACHINE = ("BasicLauncher", "JoblibLauncher", "LocalLauncher")


@dataclass(frozen=True)
class Plan:
    """What the jobs of a call have in common.

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
    found = re.search(r"^(?:error|ERROR|fatal): (.*)", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return found[1] if found else ""


def environment() -> dict[str, str]:
    """Versions of Python and of what the project depends on directly; CPU and CUDA builds count as one."""
    names = [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in requires("twicetold") or [] if "extra ==" not in one]
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in names:
        try:
            found[name] = version(name).partition("+")[0]
        except PackageNotFoundError:
            found[name] = "none"
    return found


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What differs, in words."""
    return [
        f"{name} {found.get(name, 'none')} (expected {wanted})"
        for name, wanted in expected.items()
        if found.get(name) != wanted
    ]


def start(arguments: Sequence[str]) -> None:
    """Check, prepare, launch the jobs and say how they ended.

    Raises:
        ValueError: if something must be done before.
        SystemExit: if a job failed.
    """
    named = [a.removeprefix("cell=").split(",") for a in arguments if a.startswith("cell=")]
    others = [a for a in arguments if not a.startswith("cell=") and a not in ("-m", "--multirun")]
    with initialize(version_base="1.3", config_path="../conf"):
        cfg = compose("fan_out", others, return_hydra_config=True)
        check_settings(cfg)
    commit = committed()
    if cfg.push:
        check_remote()
    at_home("dvc", "repro", "compose")
    before, stale = graph()
    cells, left = chosen(named[0] if named else None, before, stale)
    for cell, needed in left.items():
        print(f"left to `dvc repro`, as it needs what is not there yet ({', '.join(sorted(needed))}): {cell}")
    if not cells:
        print("no cell to run")
        return
    plan = Plan(f"{Path.cwd()}", commit, environment(), stores(cells, cfg))
    needed = all_before([f"evaluate@{cell}" for cell in cells], before)
    needed -= {f"{stage}@{cell}" for stage in ("train", "evaluate") for cell in cells}
    if made_here := sorted(needed & stale):
        at_home("dvc", "repro", *made_here)
    if cfg.push:
        at_home("dvc", "push", *sorted(needed))
    folder = Path(cfg.hydra.sweep.dir)
    for cell in cells:
        (folder / cell / RESULT).unlink(missing_ok=True)
    write_json(folder / PLAN, asdict(plan))
    sys.argv[1:] = ["-m", *others, f"cell={','.join(cells)}"]
    pipelines = f"{Path(__file__).parent.resolve()}"  # where a job finds the launchers of Hydra
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), pipelines]))
    print(f"{len(cells)} cells, a job each; what one prints is in {os.path.relpath(folder)}/<cell>/{LOG}", flush=True)
    with locked(), telling(folder, cells, then="dvc repro --pull" if cfg.push else "dvc repro"):
        main()


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
            "s3:// or ssh:// (docs/many-machines.md)"
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
    needed = {cell: _trainings(cell, before) & stale for cell in wanted}
    return [cell for cell in wanted if not needed[cell]], {cell: needed[cell] for cell in wanted if needed[cell]}


def _trainings(cell: str, before: Mapping[str, set[str]]) -> set[str]:
    """The trainings of other cells that a cell needs."""
    return {s for s in all_before([f"evaluate@{cell}"], before) if s.startswith("train@")} - {f"train@{cell}"}


def stores(cells: Iterable[str], cfg: DictConfig) -> dict[str, str]:
    """The MLflow store of each tracked cell, at an address that holds in a clone.

    Raises:
        ValueError: if it is a SQLite file and jobs may run on other machines.
    """
    found = {}
    for cell in cells:
        rendered = Path(cfg.paths.rendered, "train", f"{cell}.yaml").read_text(encoding="utf-8")
        settings = Settings(**yaml.safe_load(rendered)["tracking"], root=Path.cwd(), origin="dvc")
        if settings.enabled:
            found[cell] = absolute(address(settings))
    launcher = cfg.hydra.launcher
    here = launcher._target_.endswith(ON_THIS_MACHINE) or launcher.get("init", {}).get("address") == "local"
    if not here and (files := {store for store in found.values() if store.startswith(SQLITE)}):
        raise ValueError(
            f"several machines cannot write one SQLite file ({', '.join(sorted(files))}): set MLFLOW_TRACKING_URI to a "
            "server (docs/many-machines.md#tracking), or switch tracking off in params.yaml: overrides: "
            "[tracking.enabled=false]"
        )
    return found


def absolute(store: str) -> str:
    """The address of a store without a relative path."""
    return f"{SQLITE}{Path(store.removeprefix(SQLITE)).resolve()}" if store.startswith(SQLITE) else store


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


if __name__ == "__main__":
    if {a for a in sys.argv[1:] if a.startswith("-")} - {"-m", "--multirun"}:  # --help, --cfg job
        main()
    else:
        with readable_errors():
            start(sys.argv[1:])
