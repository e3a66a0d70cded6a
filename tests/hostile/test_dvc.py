"""DVC is killed: its stage ends with it, its lock is mended, and what was left behind is no change. About 20 s."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from lab import PROJECT
from twicetold.files import TEMPORARY

STAGES = {
    "count": {"cmd": "exec python count.py data 0", "deps": ["data"], "outs": ["count.txt"]},
    "hang": {"cmd": "exec python count.py data 600", "deps": ["count.txt"], "outs": ["hung.txt"]},
}
COUNT = """
import twicetold.command_line

import os, pathlib, sys, time

name = "count.txt" if sys.argv[2] == "0" else "hung.txt"
pathlib.Path("pid").write_text(str(os.getpid()))
time.sleep(int(sys.argv[2]))
pathlib.Path(name).write_text(str(len(os.listdir(sys.argv[1]))))
"""


class Repository:
    """A DVC project of two stages, with the ignored names of this one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("DVC_")}
        self.environment |= {"DVC_SITE_CACHE_DIR": f"{root}.site"}
        self.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def start(self, *command: str) -> subprocess.Popen[str]:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(("dvc", *command), cwd=self.root, env=self.environment, text=True, **streams)

    def run(self, *command: str) -> tuple[int, str]:
        process = self.start(*command)
        out, _ = process.communicate(timeout=300)
        return process.returncode, out


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    root = tmp_path_factory.mktemp("dvc") / "project"
    (root / "data").mkdir(parents=True)
    (root / "data" / "one").touch()
    (root / "count.py").write_text(COUNT)
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": STAGES}))
    repository = Repository(root)
    assert repository.run("init", "--no-scm", "--quiet")[0] == 0
    shutil.copy(PROJECT / ".dvcignore", root)
    code, out = repository.run("repro", "count")
    assert code == 0, out
    return repository


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_stage_ends_when_dvc_alone_is_killed(repository: Repository, shell: str):
    repository.environment["SHELL"] = shutil.which(shell) or pytest.skip(f"no {shell}")
    written = repository.root / "pid"
    written.unlink(missing_ok=True)
    process = repository.start("repro", "hang")
    end = time.monotonic() + 120
    while not (written.exists() and written.read_text()):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "the stage does not start"
        time.sleep(0.05)
    stage = Path(f"/proc/{written.read_text()}/stat")
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 60
    while stage.exists() and stage.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < end, "the stage goes on without DVC"
        time.sleep(0.05)


def test_no_stage_of_the_pipeline_has_a_shell_between_it_and_dvc():
    stages = yaml.safe_load((PROJECT / "dvc.yaml").read_text())["stages"].values()
    assert all(stage.get("do", stage)["cmd"].startswith("exec python ") for stage in stages)


def test_a_lock_that_a_kill_cut_off_is_mended(repository: Repository, monkeypatch: pytest.MonkeyPatch):
    lock = repository.root / ".dvc" / "tmp" / "rwlock"
    lock.write_text("")
    code, out = repository.run("repro", "count")
    assert code == 255, "or the repair is needed no more"
    assert "JSON structure is corrupted" in out
    monkeypatch.chdir(repository.root)
    spec = importlib.util.spec_from_file_location("run_grid", PROJECT / "tools" / "run_grid.py")
    assert spec is not None
    assert spec.loader is not None
    run_grid = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "run_grid", run_grid)
    spec.loader.exec_module(run_grid)
    run_grid.mend_lock()
    assert repository.run("repro", "count")[0] == 0
    run_grid.mend_lock()  # a whole one, and none, stay as they are
    assert lock.exists()
    lock.unlink()
    run_grid.mend_lock()


def test_what_a_kill_left_behind_is_no_change(repository: Repository):
    left = repository.root / "data" / f"{TEMPORARY}two.x1y2"
    left.mkdir()
    (left / "half").write_text("a")
    (repository.root / "data" / f"{TEMPORARY}three").touch()
    code, out = repository.run("status", "count")
    assert code == 0, out
    assert "up to date" in out
