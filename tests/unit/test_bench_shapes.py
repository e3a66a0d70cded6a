"""The benchmark of unusual files: each of its shapes ends, at a tiny size."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from fork_server import forks

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_shapes_end_and_are_measured(tmp_path):
    """About 10 s: a process a shape."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"}
    file, asked = tmp_path / "took.json", "few words;one spelling key"
    line = [forks().python / "python", ROOT / "benchmarks/bench_shapes.py", "--rows", "150", "--shape", asked]
    done = subprocess.run([*line, "--json", file], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    took = {each["shape"]: each for each in json.loads(file.read_text())}
    assert list(took) == asked.split(";")
    assert all(each["links"] is not None and each["cpu"] > 0 and 0 < each["peak"] < 6 for each in took.values())
    assert "by spelling" in took["one spelling key"]["cut"][0]
    assert len(done.stdout.splitlines()) == 3  # after a heading
