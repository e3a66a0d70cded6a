"""Where tasks run; `tools/check_staged.py` tries each launcher."""

import sys
from pathlib import Path

import pytest

from twicetold.packages import PackageMissing
from twicetold.staged.launch import ON, launcher
from twicetold.staged.tasks import Task, run


@pytest.mark.parametrize(("on", "extra"), [("submitit", "slurm"), ("ray", "ray")])
def test_a_launcher_whose_package_is_missing_says_so_before_any_task(on, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, on, None)
    monkeypatch.setattr("twicetold.packages.find_spec", lambda name: None)
    with pytest.raises(PackageMissing, match=rf"--folder on={on} needs .* pip install '\.\[{extra}\]' in a checkout"):
        launcher(on, 2)


@pytest.mark.parametrize("on", [None, "joblib"])
def test_options_of_a_launcher_that_has_none_are_refused(on):
    with pytest.raises(ValueError, match="with submitit or ray alone, got address"):
        launcher(on, 1, {"address": "auto"})


def test_launchers_are_those_that_the_command_names():
    assert ON == ("joblib", "submitit", "ray")


def test_a_task_without_a_plan_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        run(Path(tmp_path), Task("read", "a", "0", "plan-0.json"))
