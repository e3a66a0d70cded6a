"""The command as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture(scope="session")
def environment():
    """No colours, and nothing of this project's root."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TWICETOLD_TRACEBACK")}
    return {**kept, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1", "COLUMNS": "200", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def twicetold(environment, tmp_path):
    """Runs the command in an empty folder."""

    def _twicetold(*arguments, text=True, **options):
        line = [sys.executable, "-m", "twicetold.commands", *map(str, arguments)]
        options = {"env": environment, "cwd": tmp_path, "capture_output": True, "timeout": 120, **options}
        return subprocess.run(line, text=text, check=False, **options)

    return _twicetold
