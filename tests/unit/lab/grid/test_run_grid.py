"""`tools/run_grid.py`: what it does where a process is lost, and where there is no Git."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo
from dvc.scm import SCMError

ROOT = Path(__file__).parents[4]


@pytest.fixture
def run_grid(monkeypatch):
    spec = importlib.util.spec_from_file_location("run_grid_here", ROOT / "tools" / "run_grid.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_a_project_without_git_is_one_that_dvc_works_in(run_grid, tmp_path, monkeypatch):
    """As an archive of a release is, unpacked."""
    (tmp_path / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc" / "config", tmp_path / ".dvc")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SCMError):
        Repo()
    assert run_grid.do_without_git()
    assert not run_grid.do_without_git(), "it is set once"
    with Repo() as repo:
        assert repo.config["core"]["no_scm"]
    assert (tmp_path / ".dvc" / "config").read_bytes() == (ROOT / ".dvc" / "config").read_bytes()


def test_in_a_git_repository_dvc_goes_on_to_use_it(run_grid, tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    for folder in (tmp_path, tmp_path / "part"):
        (folder / ".dvc").mkdir(parents=True)
        monkeypatch.chdir(folder)
        assert not run_grid.do_without_git()
        assert list((folder / ".dvc").iterdir()) == []


LOSING = """
import os
from contextlib import suppress

def work(connection):
    with suppress(EOFError):
        while True:
            name = connection.recv()
            if name == "lost":
                os._exit(9)
            connection.send((name, True, 1.0, ""))
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_lost_process_fails_its_stage_and_leaves_the_others(run_grid, jobs, monkeypatch, tmp_path):
    (tmp_path / "losing.py").write_text(LOSING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(run_grid, "work", importlib.import_module("losing").work)
    after = {"one": set(), "lost": set(), "after": {"lost"}, "last": {"one"}}
    plan = run_grid.Plan(after, dict.fromkeys(after, 1.0) | {"lost": 2.0})
    run_grid.run(plan, jobs=jobs)
    assert plan.done == {"one", "last"}
    assert plan.took == {"one": 1.0, "last": 1.0}
    assert plan.failed.keys() == {"lost"}
    assert re.fullmatch(r"process \d+ ended with status 9", plan.failed["lost"])
