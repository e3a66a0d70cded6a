"""A script runs the code of the checkout that it lies in, with all processes that it starts, or refuses."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [path for path in sorted((ROOT / "pipelines").glob("*.py")) if "if __name__ ==" in path.read_text()]
TOOLS = [ROOT / "tools" / f"{name}.py" for name in ("gpu_check", "make_examples", "run_grid")]
WHERE = "import twicetold; print(twicetold.__file__)"
JOB = "import hydra_plugins.processes_launcher as plugin, train; print(plugin.__file__, train.__file__, sep='\\n')"
"""What a job of a launcher of Hydra imports, such as submitit's, whose process is no script."""
SCRIPT = f"""
import checkout
import multiprocessing, subprocess, sys
import joblib, twicetold

def where():
    import twicetold
    return twicetold.__file__

if __name__ == "__main__":
    print(where())
    print(multiprocessing.get_context("spawn").Pool(1).apply(where))
    print(*joblib.Parallel(n_jobs=2)(joblib.delayed(where)() for _ in range(2)), sep="\\n")
    subprocess.run([sys.executable, "-c", {WHERE!r}], check=True)
    subprocess.run([sys.executable, "-c", {JOB!r}], check=True)
"""


@pytest.fixture
def second(tmp_path):
    """Another checkout, whose environment has the package of this one."""
    for folder in ("src", "pipelines"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(*command):
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}"},
    )


def test_a_script_and_the_processes_that_it_starts_run_the_code_of_its_checkout(second):
    (second / "pipelines/script.py").write_text(SCRIPT)
    done = run(f"{second / 'pipelines/script.py'}")
    assert done.returncode == 0, done.stderr
    *package, plugin, script = done.stdout.splitlines()
    assert package == [f"{second / 'src/twicetold/__init__.py'}"] * 5
    assert plugin == f"{second / 'pipelines/hydra_plugins/processes_launcher.py'}"
    assert script == f"{second / 'pipelines/train.py'}"


@pytest.mark.parametrize("script", ["report", "compose"])
def test_a_script_without_code_beside_it_refuses_the_installed_one(second, script):
    shutil.rmtree(second / "src")
    done = run(f"{second / f'pipelines/{script}.py'}", "out")
    assert done.returncode == 1
    assert "is not that of its own checkout" in done.stderr
    assert f"expected the package twicetold in {second / 'src'}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_script_refuses_code_that_was_imported_before(second):
    done = run("-c", f"{WHERE}; import sys; sys.path.insert(0, {f'{second}/pipelines'!r}); import report")
    assert done.returncode == 1
    assert "and no other imported before" in done.stderr


def imports(path):
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_is_the_first_import_of_every_script(script):
    first = min(imports(script), key=lambda node: node.lineno)
    assert [alias.name for alias in first.names] == ["checkout"]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda path: path.stem)
def test_a_tool_that_trains_imports_it_before_the_package(tool):
    ours = [node for node in imports(tool) if ast.unparse(node) == "import checkout"]
    named = [node for node in imports(tool) if "twicetold" in ast.unparse(node)]
    assert len(ours) == 1
    assert all(ours[0].lineno < node.lineno for node in named)
