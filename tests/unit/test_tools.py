"""Scripts of tools/ answer `--help`, wherever they are called, and the table of faults is in step with the code."""

import ast
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from fork_server import forks

ROOT = Path(__file__).parents[2]
SCRIPTS = [path for path in sorted(ROOT.glob("tools/**/*.py")) if "if __name__ ==" in path.read_text()]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_says_what_a_script_does(script, tmp_path):
    """About 1 s each."""
    begin = " ".join(ast.get_docstring(ast.parse(script.read_text())).split()[:8])
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    line = [forks().python / "python", script, "--help"]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert said.startswith("usage: ")
    assert begin in " ".join(said.split())
    assert not list(tmp_path.iterdir())


def test_faults_made_by_hand_replace_code_that_is_there_once():
    faults = tomllib.loads((ROOT / "tools/mutants.toml").read_text(encoding="utf-8"))["mutant"]
    for fault in faults:
        assert (ROOT / "src" / fault["file"]).read_text(encoding="utf-8").count(fault["old"]) == 1, fault["name"]
        assert all((ROOT / "tests/unit" / each).exists() for each in fault["tests"]), fault["name"]
