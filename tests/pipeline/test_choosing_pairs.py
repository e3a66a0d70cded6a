"""Every way to choose pairs is a training that runs, on generated data."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("data", ["toy_questions", "toy_articles"])
def test_every_way_trains_on_generated_data(data, tmp_path):
    tool = [sys.executable, str(ROOT / "tools" / "choosing_pairs.py"), "--profile", "smoke"]
    tool += ["--data", data, "--seeds", "0", "--results", "results.json"]
    alone = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(tool, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "results.json").read_text())
    asked = subprocess.run([*tool, "--commands"], cwd=tmp_path, env=alone, capture_output=True, text=True, check=True)
    assert len(rows) == len(asked.stdout.splitlines()) > 10
    assert all(0 <= row["val"] <= 1 and row["examples"] > 0 for row in rows)
    assert not (tmp_path / "docs").exists()
