"""What is recorded of the machine and the libraries beside a result."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from twicetold_lab.runs import environment

ROOT = Path(__file__).parents[4]


def test_what_a_lock_cannot_see_is_observed():
    found = environment.observed()
    assert found["versions"]["torch"] == torch.__version__
    assert set(found["versions"]) == {"python", *environment.LIBRARIES}
    assert found["cpu_capability"] == torch.backends.cpu.get_cpu_capability()
    assert found["threads"] == torch.get_num_threads()
    assert found["processor"].endswith("cores)")


def test_a_library_that_is_not_installed_is_none_and_not_told():
    assert environment.versions(["no-such-library"])["no-such-library"] == "none"
    told = environment.tags({**environment.observed(), "versions": {"python": "3.11", "transformers": "none"}})
    assert told["libraries"] == "python 3.11"
    assert told.keys() == {"processor", "cpu_capability", "threads", "libraries"}


def test_every_library_that_can_change_weights_is_a_dependency():
    text = (ROOT / "pyproject.toml").read_text()
    assert all(f'"{name}>=' in text for name in environment.LIBRARIES)


@pytest.fixture(scope="module")
def run_grid():
    spec = importlib.util.spec_from_file_location("run_grid_under_test", ROOT / "tools" / "run_grid.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


OLD, NEW = {"cpu_capability": "AVX512"}, {"cpu_capability": "AVX2"}


def test_each_stage_of_the_grid_is_told_with_the_machine_that_it_last_ran_on(run_grid):
    names = {"a", "b", "c", "d"}
    first = run_grid.ran_on([], OLD, ["a", "b", "c"], names)
    assert first == [{"environment": OLD, "stages": ["a", "b", "c"]}]
    second = run_grid.ran_on(first, NEW, ["b", "d"], names)
    assert second == [{"environment": OLD, "stages": ["a", "c"]}, {"environment": NEW, "stages": ["b", "d"]}]
    assert run_grid.ran_on(second, OLD, ["b"], names) == [
        {"environment": NEW, "stages": ["d"]},
        {"environment": OLD, "stages": ["a", "b", "c"]},
    ]
    assert run_grid.ran_on(second, NEW, ["a"], names - {"c"}) == [{"environment": NEW, "stages": ["a", "b", "d"]}]
