"""Scripts of tools/ answer `--help` with the first words of their docstring, wherever they are called."""

import ast
import os
from pathlib import Path

import pytest

from fork_server import Batch, Request, forks

ROOT = Path(__file__).parents[2]
SCRIPTS = [path for path in sorted(ROOT.glob("tools/**/*.py")) if "if __name__ ==" in path.read_text()]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_says_what_a_script_does(script, tmp_path):
    """About 1 s each."""
    begin = " ".join(ast.get_docstring(ast.parse(script.read_text())).split()[:8])
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    request = Request((Batch(((f"{script}", "--help"),)),), f"{tmp_path}", environment)
    ((end,),) = (answer.ends for answer in forks().run(request, 120))
    assert end.code == 0, end.stderr.decode()
    said = end.stdout.decode()
    assert said.startswith("usage: ")
    assert begin in " ".join(said.split())
    assert not list(tmp_path.iterdir())
