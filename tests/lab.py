"""A lab: a copy of the project in a temporary folder, with a Git repository and a DVC cache of its own.

The lab's own `src` is what its stages import, so that an edit there is an edit of the running code. The grid is small
(smoke profile, tracking off), because every stage that runs costs seconds of imports.
"""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from fork_server import forks

PROJECT = Path(__file__).parents[1]
COPIED = (
    "conf",
    "pipelines",
    "src",
    "dvc.yaml",
    ".dvcignore",
    ".gitignore",
    "mlruns/README.md",
    "data/own/README.md",
    "params.yaml",
)
GRID = {
    "data": ["toy_news", "toy_questions"],
    "model": ["tfidf", "dae"],
    "seed": [0],
    "profile": "smoke",
    "overrides": ["tracking.enabled=false"],
}
TOY = ("data=toy_questions", "profile=smoke")
LIMIT = 300  # seconds until a command counts as hung


@dataclass(frozen=True)
class Batch:
    """Stages that run at the same time."""

    programs: tuple[tuple[str, ...], ...]
    """Of each its name and its arguments, `("train", "data=quora")`."""
    killed_after: float | None = None
    """Share of the time of the last batch that ran to its end; None: this one does."""
    folder: str | None = None
    """Of whose files to take the digest afterwards."""


@dataclass(frozen=True)
class Ended:
    """How a batch ended."""

    ends: list[tuple[int, str]]
    """Of each stage its exit code, and all it printed."""
    digest: str | None
    """Of the batch's folder; None if it has no files."""


@dataclass(frozen=True)
class Lab:
    """A copy of the project to edit and to run commands in."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("MLFLOW_", "TWICETOLD_", "DVC_", "HYDRA_"))}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{self.root / 'src'}",
            "PYTHONWARNINGS": "ignore",
            "OMP_NUM_THREADS": "1",  # two threads of one tiny training wait for each other where cores are shared
            "GIT_CONFIG_GLOBAL": os.devnull,
            "DVC_SITE_CACHE_DIR": f"{self.root}.site",
        }

    def start(self, *command: str, **options) -> subprocess.Popen:
        """Start a command in the lab, as a process group of its own; its output is `process.stdout`."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        environment = self.environment | options.pop("env", {})
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            text=True,
            start_new_session=True,
            **streams,
            **options,
        )

    def fork(self, *command: str, **options) -> subprocess.Popen:
        """Start a command in the lab; the Python that it starts is a fork."""
        path = f"{forks().python}{os.pathsep}{self.environment['PATH']}"
        return self.start(*command, **options | {"env": {"PATH": path} | options.get("env", {})})

    def attempt(self, *command: str, limit: float = LIMIT, **options) -> tuple[int, str]:
        """Run a command in the lab, in forks; its exit code, and all it printed."""
        process = self.fork(*command, **options)
        try:
            out, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, out

    def run(self, *command: str, **options) -> str:
        """What a command printed that must succeed."""
        code, out = self.attempt(*command, **options)
        assert code == 0, f"{' '.join(command)} ended with {code}:\n{out}"
        return out

    def scripts(self, *commands: tuple[str, ...]) -> list[tuple[int, str]]:
        """Run stages with arguments, one after another; for each its exit code, and all it printed."""
        return [self.attempt("python", f"pipelines/{stage}.py", *rest) for stage, *rest in commands]

    def batches(self, *batches: Batch) -> list[Ended]:
        """Run batches of stages, one batch after another."""
        whole, ended = 0.0, []
        for batch in batches:
            began = time.monotonic()
            running = [self.fork("python", f"pipelines/{stage}.py", *rest) for stage, *rest in batch.programs]
            if batch.killed_after is not None:
                time.sleep(batch.killed_after * whole)
                for process in running:
                    process.kill()
            printed = [process.communicate(timeout=LIMIT)[0] for process in running]
            if batch.killed_after is None:
                whole = time.monotonic() - began
            ends = [(process.returncode, out) for process, out in zip(running, printed, strict=True)]
            ended.append(Ended(ends, batch.folder and self.digest(batch.folder)))
        return ended

    def digest(self, folder: str) -> str | None:
        """Of all files under a folder, but for temporary ones that kills leave."""
        found = {path.removeprefix(folder): content for path, content in self.bytes_of(folder).items()}
        files = sorted((path, content) for path, content in found.items() if ".tmp-" not in path)
        return hashlib.sha256(repr(files).encode()).hexdigest() if files else None

    def ran(self, *arguments: str) -> list[str]:
        """The stages that `dvc repro` ran, in their order; those taken from the run cache did not run.

        Without `compose`, which runs each time.
        """
        return [stage for stage in stages_in(self.run("dvc", "repro", *arguments)) if stage != "compose"]

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new))

    def append(self, file: str, text: str) -> None:
        with (self.root / file).open("a") as stream:
            stream.write(text)

    def grid(
        self, *, broken: str = "", fault: str = "fast", students: Iterable[str] = (), teacher: str = "dae", **changed
    ) -> None:
        """Change the grid of params.yaml, every pairing of `data`, `model` and `seed`.

        Args:
            broken: a model that is trained a second time, as `<model>_broken`, with `features.max_df`.
            fault: its value there.
            students: ways of self-training; on each dataset, a `static` learns from what `teacher` mined so.
            teacher: a family.
            changed: `data`, `model`, `seed`, `profile`, `overrides`; what is not given stays.
        """
        path = self.root / "params.yaml"
        now = yaml.safe_load(path.read_text())
        one = next(iter(now["grid"].values()))
        chosen = {
            "data": list(now["grid"]),
            "model": one["models"],
            "seed": next(iter(one.get("seeds", {0: [0]}).values())),
        }
        chosen |= {"profile": now["profile"], "overrides": now["overrides"]} | changed
        variants = {
            way: {"models": ["static"], "overrides": [f"examples={way}", f"teacher={teacher}"]} for way in students
        }
        if broken:
            variants["broken"] = {"models": [broken], "overrides": [f"features.max_df={fault}"]}
        seeds = {model: list(chosen["seed"]) for model in chosen["model"]}
        row = {"models": list(chosen["model"]), "seeds": seeds, "variants": variants}
        grid = {"profile": chosen["profile"], "overrides": list(chosen["overrides"])}
        self.rows(grid | {"grid": dict.fromkeys(chosen["data"], row)})

    def rows(self, params: dict) -> None:
        """Write params.yaml and the rows of it, unless it makes no sense."""
        (self.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False, default_flow_style=None))
        self.attempt("python", "pipelines/compose.py", f"{self.root}.rows")

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--allow-empty", "--message", "state")

    def copy(self, target: Path) -> "Lab":
        shutil.copytree(self.root, target, symlinks=True)
        return Lab(target)

    def bytes_of(self, *folders: str) -> dict[str, bytes]:
        """Every file under the given folders."""
        files = (p for folder in folders for p in (self.root / folder).rglob("*") if p.is_file())
        return {str(p.relative_to(self.root)): p.read_bytes() for p in files}

    def tracked_runs(self) -> list["TrackedRun"]:
        """The runs in the lab's MLflow store, oldest first."""
        with sqlite3.connect(self.root / "mlruns" / "mlflow.db") as store:
            runs = store.execute("SELECT run_uuid, status FROM runs ORDER BY start_time").fetchall()
            return [TrackedRun.read(store, *run) for run in runs]


@dataclass(frozen=True)
class TrackedRun:
    """A run in an MLflow store, read without importing MLflow."""

    id: str
    status: str
    tags: dict[str, str]
    params: dict[str, str]
    curves: dict[str, list[tuple[int, float]]]
    """Metric -> (step, value) of each logged point."""

    @classmethod
    def read(cls, store: sqlite3.Connection, run: str, status: str) -> "TrackedRun":
        tags, params = (
            dict(store.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ?", [run]))
            for table in ("tags", "params")
        )
        curves: dict[str, list[tuple[int, float]]] = {}
        points = store.execute("SELECT key, step, value FROM metrics WHERE run_uuid = ? ORDER BY step", [run])
        for key, step, value in points:
            curves.setdefault(key, []).append((step, value))
        return cls(run, status, tags, params, curves)


def stages_in(output: str) -> list[str]:
    """The stages that a DVC command ran, read from what it printed."""
    return re.findall(r"^Running stage '([^']*)':", output, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def cells() -> Callable[..., set[str]]:
    """Names of the stages of some cells: `cells("train evaluate", data=[…], model=[…])`."""

    def names(kinds: str, *, data: Iterable[str], model: Iterable[str], seed: Iterable[int] = (0,)) -> set[str]:
        chosen = list(product(data, model, seed))
        return {f"{kind}@{d}-{m}-{s}" for kind in kinds.split() for d, m, s in chosen}

    return names


@pytest.fixture(scope="session")
def stages() -> Callable[[str], list[str]]:
    return stages_in


@pytest.fixture(scope="session")
def wait_for() -> Callable[..., Any]:
    """Wait until something is so, as long as a process lives; what the condition gives then."""

    def wait(process: subprocess.Popen, what: str, condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + LIMIT
        while not (found := condition()):
            assert process.poll() is None, f"ended before {what}:\n{process.stdout.read()}"
            assert time.monotonic() < end, f"waited {LIMIT} s for {what}"
            time.sleep(0.002)
        return found

    return wait


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The project with a small grid after its first run, made once for all processes of the tests. Copy it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    lab, ready = Lab(shared / "finished"), shared / "finished.ready"
    with (shared / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            shutil.rmtree(lab.root, ignore_errors=True)
            set_up(lab)
            finish(lab)
            ready.touch()
    return lab


def copy_project(lab: Lab) -> None:
    """Copy the project as it is."""
    for name in COPIED:
        source, target = PROJECT / name, lab.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)


def set_up(lab: Lab) -> None:
    """Copy the project, with a small grid."""
    copy_project(lab)
    begin(lab)
    lab.grid(**GRID)
    lab.commit()


def begin(lab: Lab) -> None:
    """Make the lab a repository of Git and of DVC."""
    lab.run("git", "init", "--quiet")
    for name, value in {"user.name": "lab", "user.email": "lab@example.org"}.items():
        lab.run("git", "config", name, value)
    lab.run("dvc", "init", "--quiet")
    shutil.copy2(PROJECT / ".dvc" / "config", lab.root / ".dvc" / "config")


def finish(lab: Lab) -> None:
    """Run every stage once."""
    data, cells = GRID["data"], product(GRID["data"], GRID["model"])
    expected = ["download_pretrained@none"]
    expected += [f"{stage}@{name}" for stage in ("download", "prepare", "mine") for name in data]
    expected += [f"{stage}@{d}-{m}-0" for d, m in cells for stage in ("train", "evaluate", "measure")]
    out = lab.run("python", f"{PROJECT / 'tools' / 'run_grid.py'}", "--jobs", "2")
    found = re.findall(r"^[\d:]+ +\d+/\d+  (\S+) ", out, flags=re.MULTILINE)
    assert sorted(expected) == sorted(found), out
    lab.commit()


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty MLflow store; making its tables costs seconds, copying it nothing."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    make = f"from mlflow import MlflowClient; MlflowClient('sqlite:///{path}').search_experiments()"
    subprocess.run([sys.executable, "-c", make], check=True, capture_output=True, timeout=LIMIT)
    return path


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The project without data."""
    lab = Lab(tmp_path_factory.mktemp("project") / "lab")
    copy_project(lab)
    return lab


@pytest.fixture(scope="session")
def prepared(project: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The project with 400 generated questions and their triplets. Copy it."""
    lab = project.copy(tmp_path_factory.mktemp("prepared") / "lab")
    for code, out in lab.scripts(*((stage, *TOY) for stage in ("download", "prepare", "mine"))):
        assert code == 0, out
    return lab


@pytest.fixture
def by_hand(prepared: Lab, tmp_path: Path) -> Lab:
    """A copy of it."""
    return prepared.copy(tmp_path / "lab")
