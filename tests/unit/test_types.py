"""What the guide shows passes `mypy --strict` in a person's own program."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
USES = """
import numpy as np
import twicetold
from numpy.typing import NDArray
from twicetold import TextsLike


class Column:  # of pandas, polars or pyarrow, as far as types go: it has the Arrow interface
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def use(texts: TextsLike) -> None:
    model = twicetold.fit(texts)
    model.dedupe(texts, same=[texts], keep=("newest", texts), truth=texts, within=[(texts, "3d")])
    model.similarity(texts, texts) + model.predict_proba(texts, texts)
    model.predict(texts, texts)
    index = model.index(texts, texts)
    index.add(texts, ids=texts)
    index.search(texts, k=3)
    index.remove(texts)
    model.encode(texts)
    twicetold.TextEncoder(model).fit_transform(texts)


array: NDArray[np.str_] = np.array(["a", "b"])
objects: NDArray[np.object_] = np.array(["a", "b"], object)
use(array)
use(objects)
use(Column())
use(["a"])
use(("a", "b"))
"""
FRAMES = {  # by the package that has the types; pandas itself has none
    "pandas-stubs": "import pandas as pd\nuse(pd.Series(['a']))\nuse(pd.DataFrame({'t': ['a']})['t'])\n",
    "polars": "import polars as pl\nuse(pl.Series(['a']))\nuse(pl.DataFrame({'t': ['a']})['t'])\n",
}


def checked(tmp_path, program):
    (tmp_path / "program.py").write_text(program)
    options = ("--strict", "--config-file", str(ROOT / "pyproject.toml"), "--follow-imports", "silent")
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            *options,
            "--cache-dir",
            str(ROOT / ".mypy_cache"),
            str(tmp_path / "program.py"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )


def installed(library):
    try:
        return bool(importlib.metadata.version(library))
    except importlib.metadata.PackageNotFoundError:
        return False


@pytest.mark.slow
def test_columns_of_any_library_pass_as_texts_and_one_text_or_a_number_does_not(tmp_path):
    program = USES + "".join(FRAMES[library] for library in FRAMES if installed(library))
    wrong = "twicetold.fit(3)\nuse(None)\n"
    done = checked(tmp_path, program + wrong)
    lines = [line.split(" error: ")[0].split(":")[1] for line in done.stdout.splitlines() if " error: " in line]
    last = len((program + wrong).splitlines())
    assert lines == [str(last - 1), str(last)], done.stdout + done.stderr
