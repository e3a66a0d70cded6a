"""The Makefile sets up its environment wherever the checkout lies."""

import os
import shutil
import subprocess
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
