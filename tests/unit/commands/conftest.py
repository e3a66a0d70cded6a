"""The command as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fork_server import Batch, Request, forks

SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture(scope="session")
def environment():
    """No colours, and nothing of this project's root."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TWICETOLD_TRACEBACK")}
    return {**kept, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1", "COLUMNS": "200", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def process(environment, tmp_path):
    """Runs the command in an empty folder, in a process of its own."""

    def _process(*arguments, text=True, **options):
        line = [sys.executable, "-m", "twicetold.commands", *map(str, arguments)]
        options = {"env": environment, "cwd": tmp_path, "capture_output": True, "timeout": 120, **options}
        return subprocess.run(line, text=text, check=False, **options)

    return _process


@pytest.fixture
def twicetold(environment, tmp_path):
    """Runs the command in an empty folder, in a fork that need not import PyTorch."""

    def _twicetold(*arguments, input="", timeout=120):
        program = ("-m", "twicetold.commands", *map(str, arguments))
        request = Request((Batch((program,)),), f"{tmp_path}", environment, input=input.encode())
        ((end,),) = (answer.ends for answer in forks().run(request, timeout))
        return subprocess.CompletedProcess(program, end.code, end.stdout.decode(), end.stderr.decode())

    return _twicetold
