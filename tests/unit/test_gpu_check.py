"""`tools/gpu_check.py`: what it compares, and what it answers; the trainings themselves are replaced."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "gpu_check.py"
FAMILIES = ["cdssm", "dssm", "mfilm", "tfidf"]


@pytest.fixture
def check(monkeypatch):
    """The script, with data, a GPU and the values that trainings give: (accelerator, precision) -> value."""
    spec = importlib.util.spec_from_file_location("gpu_check", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "prepare", lambda data: None)
    monkeypatch.setattr(script.torch.cuda, "is_available", lambda: True)

    def run(values, *arguments):
        monkeypatch.setattr(script, "validation", lambda cfg, *setting: values[setting])
        return script.main(["--model", *FAMILIES, *arguments])

    return run


CPU, GPU, HALF = ("cpu", "32-true"), ("gpu", "32-true"), ("gpu", "bf16-mixed")


def test_without_a_gpu_it_says_that_nothing_was_checked_and_does_not_succeed():
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run([sys.executable, SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout.startswith("no GPU here: nothing was checked")


def test_values_within_half_a_point_pass_and_families_that_learn_nothing_are_left_out(check, capsys):
    assert check({CPU: 0.8, GPU: 0.8049, HALF: 0.7951}) == 0
    table = capsys.readouterr().out
    assert "dssm" in table
    assert "mfilm" in table  # with its solver
    assert "0.8049" in table
    assert "tfidf" not in table


@pytest.mark.parametrize("value", [0.806, 0.794, float("nan")])
@pytest.mark.parametrize("setting", [GPU, HALF])
def test_one_value_further_off_fails_and_names_the_families(check, capsys, setting, value):
    assert check({CPU: 0.8, GPU: 0.8, HALF: 0.8, setting: value}) == 1
    assert "more than 0.005 from the CPU in 32 bits: cdssm, dssm, mfilm" in capsys.readouterr().out


def test_bf16_can_be_compared_on_the_cpu_alone(check, capsys):
    assert check({CPU: 0.8, ("cpu", "bf16-mixed"): 0.801}, "--accelerator", "cpu") == 0
    assert "gpu" not in capsys.readouterr().out
