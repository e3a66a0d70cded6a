"""DVC is killed: its stage ends with it, its lock is mended, and what was left behind is no change. About 20 s."""

import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from voluptuous import MultipleInvalid

from lab import PROJECT, Lab
from scripts import script
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


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A DVC project of two stages, with the ignored names of this one."""
    root = tmp_path_factory.mktemp("dvc") / "project"
    (root / "data").mkdir(parents=True)
    (root / "data" / "one").touch()
    (root / "src").symlink_to(PROJECT / "src")
    (root / "count.py").write_text(COUNT)
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": STAGES}))
    repository = Lab(root)
    repository.run("dvc", "init", "--no-scm", "--quiet")
    shutil.copy(PROJECT / ".dvcignore", root)
    repository.run("dvc", "repro", "count")
    return repository


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_stage_ends_when_dvc_alone_is_killed(repository: Lab, shell: str, wait_for):
    written = repository.root / "pid"
    written.unlink(missing_ok=True)
    path = shutil.which(shell) or pytest.skip(f"no {shell}")
    process = repository.start("dvc", "repro", "hang", env={"SHELL": path})
    wait_for(process, "the stage", lambda: written.exists() and written.read_text())
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


def run_grid_in(repository: Lab, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, in the repository's folder."""
    monkeypatch.chdir(repository.root)
    return script("tools/run_grid.py")


def test_a_lock_that_a_kill_cut_off_is_mended(repository: Lab, monkeypatch: pytest.MonkeyPatch):
    lock = repository.root / ".dvc" / "tmp" / "rwlock"
    lock.write_text("")
    code, out = repository.attempt("dvc", "repro", "count")
    assert code == 255, "or the repair is needed no more"
    assert "JSON structure is corrupted" in out
    run_grid = run_grid_in(repository, monkeypatch)
    run_grid.mend_lock()
    repository.run("dvc", "repro", "count")
    run_grid.mend_lock()  # a whole one, and none, stay as they are
    assert lock.exists()
    lock.unlink()
    run_grid.mend_lock()


def git(repository: Lab, *arguments: str) -> None:
    who = ("-c", "user.name=lab", "-c", "user.email=lab@example.org")
    subprocess.run(("git", *who, *arguments), cwd=repository.root, check=True, capture_output=True)


def readable(lock: bytes) -> bool:
    """Whether DVC reads it: with whole stages alone, it lacks the others, which the run cache has."""
    with suppress(yaml.YAMLError, MultipleInvalid):
        COMPILED_LOCKFILE_SCHEMA(yaml.safe_load(lock))
        return True
    return False


def test_a_dvc_lock_that_was_cut_off_is_not_removed_where_git_refuses_to_say_what_is_committed(
    repository: Lab, monkeypatch: pytest.MonkeyPatch
):
    lock = repository.root / "dvc.lock"
    whole, cut = lock.read_bytes(), lock.read_bytes()[:30]
    git(repository, "init", "--quiet")
    run_grid = run_grid_in(repository, monkeypatch)
    lock.write_bytes(cut)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own switch for a checkout of another user
    with pytest.raises(SystemExit, match=r"git does not give the committed one: fatal: detected dubious ownership"):
        run_grid.mend_dvc_lock()
    assert lock.read_bytes() == cut
    lock.write_bytes(whole)
    shutil.rmtree(repository.root / ".git")


@pytest.mark.parametrize("committed", [False, True])
def test_a_dvc_lock_that_a_kill_cut_off_is_mended_and_nothing_runs_again(
    repository: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], committed: bool
):
    lock = repository.root / "dvc.lock"
    whole = lock.read_bytes()
    if committed:
        git(repository, "init", "--quiet")
        git(repository, "add", "dvc.lock")
        git(repository, "commit", "--quiet", "--message", "lock")
    run_grid = run_grid_in(repository, monkeypatch)
    run_grid.mend_dvc_lock()
    assert lock.read_bytes() == whole
    assert capsys.readouterr().out == ""
    said = "the committed one is restored" if committed else "removed, as Git has none"
    cut = [size for size in range(20, len(whole), 20) if not readable(whole[:size])]
    assert len(cut) > 3
    for size in cut:
        lock.write_bytes(whole[:size])
        run_grid.mend_dvc_lock()
        assert f"dvc.lock was cut off: {said}; what has run since comes from DVC's run cache" in capsys.readouterr().out
        assert (lock.read_bytes() == whole) if committed else not lock.exists()
    lock.write_bytes(whole[: cut[-1]])
    assert repository.attempt("dvc", "repro", "count")[0] != 0, "or the repair is needed no more"
    run_grid.mend_dvc_lock()
    assert "Running stage" not in repository.run("dvc", "repro", "count")
    assert lock.read_bytes() == whole
    shutil.rmtree(repository.root / ".git", ignore_errors=True)


def test_what_a_kill_left_behind_is_no_change(repository: Lab):
    left = repository.root / "data" / f"{TEMPORARY}two.x1y2"
    left.mkdir()
    (left / "half").write_text("a")
    (repository.root / "data" / f"{TEMPORARY}three").touch()
    assert "up to date" in repository.run("dvc", "status", "count")
