"""`--help` of each script: a sentence, usage and examples, then the choices, without large imports."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from twicetold_lab.grid.script_help import PRIMARY, help_of

ROOT = Path(__file__).parents[4]
SCRIPTS = sorted(
    path for path in (ROOT / "pipelines").glob("*.py") if "__main__" in path.read_text() and path.stem != "checkout"
)
LARGE = ("torch", "hydra", "mlflow", "numpy", "pyarrow", "omegaconf")


def described(script):
    return ast.get_docstring(ast.parse(script.read_text()), clean=False)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_begins_with_a_sentence_usage_and_two_examples(script):
    sentence, usage, examples, *_ = help_of(script, described(script)).split("\n\n")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert usage.startswith(f"Usage: python pipelines/{script.name}")
    title, *lines = examples.splitlines()
    assert title == "Examples:"
    assert len(lines) >= 2
    assert all(re.match(rf"    (\w+=\S+ )?python pipelines/{script.name}", line) for line in lines)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_its_examples_compose(script):
    primary = PRIMARY.search(script.read_text())
    if primary is None or script.stem == "sweep":  # has words of its own
        pytest.skip("takes other words than overrides")
    lines = help_of(script, described(script)).split("\n\n")[2].splitlines()[1:]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        for line in lines:
            words = shlex.split(line.split(".py", 1)[1])
            name = words[words.index("-cn") + 1] if "-cn" in words else primary[1]
            overrides = [w for w in words if "=" in w and not w.startswith("hydra.")]
            overrides = [w if "[" in w else w.partition(",")[0] for w in overrides]  # of a sweep, its first job
            compose(name, overrides)


def test_the_choices_are_the_files_of_each_group():
    text = help_of(ROOT / "pipelines/train.py", described(ROOT / "pipelines/train.py"))
    for group in ("data", "model", "features", "profile"):
        names = sorted(path.stem for path in (ROOT / "conf" / group).glob("*.yaml"))
        assert f"\n  {group}={', '.join(names)}\n" in text
    assert "\n  +experiment=fair, " in text
    assert "hydra" not in text.lower()


@pytest.mark.parametrize("script", ["train", "report"])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_it_is_printed_before_anything_large_is_imported(script, flag):
    command = [sys.executable, "-X", "importtime", f"pipelines/{script}.py", flag]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(described(ROOT / f"pipelines/{script}.py").splitlines()[0])
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert imported.isdisjoint(LARGE)
