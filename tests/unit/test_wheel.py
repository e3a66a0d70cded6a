"""The package as a wheel: installed elsewhere, it uses a model folder copied from elsewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from twicetold import layout

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {"hydra", "omegaconf", "dvc", "mlflow", "pytorch_lightning"}


@pytest.mark.slow
def test_the_command_works_outside_the_repository(run, tmp_path):
    """About 15 s."""
    source, target, model = (tmp_path / name for name in ("source", "target", "copied"))
    source.mkdir()
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(run() / layout.MODEL, model)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    built = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source)]
    subprocess.run([*pip, *built], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("twicetold-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True, cwd=tmp_path)
    shutil.rmtree(source)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(target), "COLUMNS": "200"}

    def output(*line):
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert output(sys.executable, target / "bin/twicetold", "--version").startswith("twicetold ")
    (tmp_path / "in.tsv").write_text("left\tright\nbank rate\trate cut\n")
    program = f"""
import sys
sys.argv = ["twicetold", "pairs", {str(model)!r}, "in.tsv", "-o", "out.tsv"]
from twicetold.commands import main
try:
    main()
finally:
    print(sys.modules["twicetold"].__file__, *({FRAMEWORKS!r} & sys.modules.keys()))
"""
    assert output(sys.executable, "-c", program).split() == [str(target / "twicetold/__init__.py")]
    header, row = (tmp_path / "out.tsv").read_text().splitlines()
    assert header.split("\t") == ["left", "right", "score", "probability", "duplicate"]
    assert row.startswith("bank rate\trate cut\t0.")
