"""The Makefile sets up its environment wherever the checkout lies."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi
echo "$*" >> calls
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_environment_is_set_up_in_a_folder_with_blanks_and_other_letters(tmp_path):
    place = tmp_path / "my texts é"
    place.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, place)
    python = place / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    environment = {"PATH": os.environ["PATH"]}
    for _ in range(2):  # the second time, nothing is left to do
        line = ["make", ".venv/ready-to-run", "PYTHON=./python"]
        done = subprocess.run(line, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "expected" not in done.stderr
    calls = (place / "calls").read_text().splitlines()
    assert [call.split()[1] for call in calls if call.startswith("-m")] == ["venv", "pip"]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_site_has_the_report_which_is_made_where_it_is_not_there(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt", ".venv/bin/python", ".venv/ready"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PYTHON if name.endswith("python") else "")
    (tmp_path / ".venv/bin/python").chmod(0o755)
    calls, site = tmp_path / "calls", "tools/documentation/build.py"

    def made():
        calls.unlink(missing_ok=True)
        subprocess.run(
            ["make", "docs"], cwd=tmp_path, check=True, capture_output=True, env={"PATH": os.environ["PATH"]}
        )
        return calls.read_text().splitlines()

    assert made() == ["pipelines/report.py", site]
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/index.html").write_text("")
    assert made() == [site]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_every_benchmark_runs_and_one_that_fails_is_named_in_the_end(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt", "benchmarks/bench_a.py", "benchmarks/bench_b.py", ".venv/ready"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "benchmarks/bench_a.py").write_text("raise SystemExit(3)")
    (tmp_path / "benchmarks/bench_b.py").write_text("print('b ran')")
    environment = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["make", "bench"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == "b ran\n"
    assert "failed: benchmarks/bench_a.py" in done.stderr
