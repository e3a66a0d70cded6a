"""`tools/gpu_check.py`: what it compares, and what it answers; trainings are on toy data, or replaced."""

import os
import re
import subprocess
import sys
import time

import pytest

import scripts

SCRIPT = scripts.ROOT / "tools" / "gpu_check.py"
MISSING = ("mlflow", "dvc")  # on a machine that is lent for minutes
NO_IMPORT = f"import sys\nsys.modules.update(dict.fromkeys({MISSING}))\n"


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script, in a folder without data, that measures no rates."""
    script = scripts.script("tools/gpu_check.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(script, "prepare", lambda data: None)
    monkeypatch.setattr(script, "measured_rates", lambda device: {"32-true": 1.0, "bf16-mixed": 1.0, "bytes": 1.0})
    return script


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The script on toy data, in processes that have none of the packages `MISSING`."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(NO_IMPORT)

    def ran(*arguments):
        environment = os.environ | {"PYTHONPATH": str(folder), "CUDA_VISIBLE_DEVICES": ""}
        command = [sys.executable, SCRIPT, *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return ran


@pytest.fixture
def leg(script):
    """A training with some numbers in place of good ones."""

    def made(**numbers):
        return script.Leg(**{"untrained": 0.7, "value": 0.8, "losses": [1.0, 0.9], "step": 1.0} | numbers)

    return made


def test_without_a_gpu_it_says_that_nothing_was_checked_and_does_not_succeed(run):
    ended = run()
    assert ended.returncode == 2
    assert ended.stdout.startswith("no GPU here: nothing was checked")


def test_three_families_learn_on_the_cpu_and_nothing_is_left_out(run):
    ended = run("--accelerator", "cpu", "--model", "static", "dssm", "mfilm", "tfidf")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith("ok: static, dssm, mfilm\n")
    rows = {row[0]: row[1:] for row in map(str.split, ended.stdout.splitlines()) if row[0] in ("static", "dssm")}
    for untrained, cpu, device, _, loss, *_ in rows.values():
        assert float(cpu) == float(device) > float(untrained) + 0.05
        assert float(loss) == 0
    assert all(re.fullmatch(r"\d+\.\d%", share) for share in rows["dssm"][11:13])


def test_what_hardly_learns_does_not_pass(run):
    ended = run("--accelerator", "cpu", "--model", "static", "--set", "optimizer.lr=1e-12")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert ended.stdout.endswith("too weak to tell: static\n")


@pytest.mark.parametrize(
    ("device", "half", "answer"),
    [
        ({"value": 0.8049, "losses": [1.0, 0.9009]}, {"value": 0.781, "losses": [1.029, 0.9]}, ("ok", "")),
        ({}, {}, ("ok", ", bf16 changes nothing")),
        ({"losses": [1.0, 0.902]}, {}, ("differs", ": losses")),
        ({"value": 0.806}, {}, ("differs", ": validation")),
        ({"value": 0.794}, {"losses": [1.0, 0.86]}, ("differs", ": validation, losses in bf16")),
        (
            {},
            {"value": float("nan"), "losses": [1.0, float("nan")]},
            ("differs", ": losses in bf16, validation in bf16"),
        ),
    ],
)
def test_losses_and_validation_must_be_those_of_the_cpu(script, leg, device, half, answer):
    assert script.verdict([leg(), leg(**device), leg(**half)]) == answer


def test_a_value_no_better_than_untrained_is_too_weak(script, leg):
    assert script.verdict([leg(value=0.709)] * 3)[0] == "too weak to tell"


def test_a_family_is_skipped_by_name_without_its_file_and_the_next_one_is_checked(script, leg, monkeypatch, capsys):
    monkeypatch.setattr(script, "train", lambda *_: leg())
    assert script.main(["--accelerator", "cpu", "--model", "pretrained_static", "dssm"]) == 3
    said = capsys.readouterr().out
    assert "ok: dssm\nskipped, because data/pretrained/wordllama is missing" in said
    assert said.endswith(": pretrained_static\n")


def test_a_family_that_fails_does_not_end_the_check(script, leg, monkeypatch, capsys):
    monkeypatch.setattr(script, "train", lambda cfg, *_: leg() if cfg.name == "dssm" else 1 // 0)
    assert script.main(["--accelerator", "cpu", "--model", "static", "dssm"]) == 1
    assert "failed: ZeroDivisionError" in (said := capsys.readouterr().out)
    assert said.endswith("failed: static\nok: dssm\n")


def test_it_ends_in_time_and_says_what_was_not_checked(script, leg, monkeypatch, capsys):
    monkeypatch.setattr(script, "train", lambda cfg, *_: leg() if cfg.name == "dssm" else time.sleep(30))
    assert script.main(["--accelerator", "cpu", "--model", "dssm", "static", "--seconds", "2"]) == 3
    assert capsys.readouterr().out.endswith("no time for: static\nok: dssm\n")
