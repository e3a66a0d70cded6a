"""docs/tutorials from beginning to end: what a page has one type, run and write gives what the page shows.

Each page has a copy of the project of its own. Blocks are taken in their order: `console` is run, line by line of those
that begin with `$`; `pycon` is a doctest, in one session for the page; what has a title is a file and is written.
"""

import doctest
import os
import re
import shlex
import shutil
import sys
from operator import methodcaller
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from fork_server import forks
from lab import PROJECT, Lab, begin, copy_project

pytestmark = pytest.mark.slow
PAGES = {page.stem: page.read_text() for page in sorted((PROJECT / "docs/tutorials").glob("*.md"))}
BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*(?:(?<=\\)\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
ALSO = ("Makefile", "constraints.txt", "examples", "pyproject.toml", "tests", "tools")
"""What pages use of the project besides what a lab has."""
ENTRIES = {"twicetold": "twicetold", "pytest": "pytest"}
"""Commands that are Python modules, and run in forks like `python`."""
GENERATED = "toy_articles"
"""The rows of params.yaml that a lab has: DVC takes seconds for those that no page names."""
FIGURE = re.compile(r"\d+\.\d+")
WARNING = methodcaller("startswith", "warning:")
REAL = "abt_buy.csv"
"""A file of a mirror of the public data. Blocks about it are left out where there is none."""
CLOSE = 0.02
"""By how much a figure may be another one on another machine."""
STEPS = {"lower_case", "symbols", "numbers", "stop_words", "user_names"}
SIAMESE = PAGES["siamese-network"]
CLEANED = re.findall(r"^\| `(features\.\w+=\w+)` \| (\S+) \|", SIAMESE, re.MULTILINE)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, store):
    """A copy of the project with a repository, an empty MLflow store and the rows of one generated dataset."""
    lab = Lab(tmp_path_factory.mktemp("tutorials") / "lab")
    copy_project(lab)
    for name in ALSO:
        source = PROJECT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, lab.root / name)
    for run in PROJECT.glob(f"runs/{GENERATED}-*"):
        shutil.copytree(run, lab.root / "runs" / run.name, ignore=shutil.ignore_patterns("model"))
    params = yaml.safe_load((lab.root / "params.yaml").read_text())
    lab.rows(params | {"grid": {GENERATED: params["grid"][GENERATED]}})
    lock = yaml.safe_load((PROJECT / "dvc.lock").read_text())  # as in a clone, whose models another machine made
    lock["stages"] = {name: stage for name, stage in lock["stages"].items() if f"{GENERATED}-" in name}
    (lab.root / "dvc.lock").write_text(yaml.safe_dump(lock, sort_keys=False))
    shutil.copy2(store, lab.root / "mlruns" / "mlflow.db")
    for name, module in ENTRIES.items():
        entry = lab.root / ".venv" / "bin" / name
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text(f'#!/bin/sh\nexec python -m {module} "$@"\n')
        entry.chmod(0o755)
    begin(lab)
    (lab.root / ".venv" / "ready").touch()
    lab.commit()
    return lab


@pytest.fixture
def lab(prepared, tmp_path):
    return prepared.copy(tmp_path / "lab")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_steps_give(page, lab, monkeypatch):
    monkeypatch.chdir(lab.root)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setitem(sys.modules, "checkout", ModuleType("checkout"))  # sessions run the code of this checkout
    names, taken, mirror = {}, 0, os.environ.get("TWICETOLD_MIRROR")
    if mirror and REAL in PAGES[page]:
        shutil.copy2(Path(mirror) / "files" / REAL, lab.root)
    for language, title, text in BLOCK.findall(PAGES[page]):
        taken += 1
        if REAL in text and not mirror:
            continue
        if title:
            (lab.root / title).parent.mkdir(parents=True, exist_ok=True)
            (lab.root / title).write_text(text)
        elif language == "console":
            for command, shown in COMMAND.findall(text):
                typed(lab, command, shown)
        elif language == "pycon":
            spoken(text, names)
    assert taken > 3


def typed(lab, command, shown):
    """Run a line in a shell; each line that is shown is printed, in this order; warnings may come first."""
    path = os.pathsep.join([str(lab.root / ".venv/bin"), str(forks().python), lab.environment["PATH"]])
    out = lab.run("bash", "-o", "pipefail", "-c", command, env={"PATH": path, "COLUMNS": "100"})
    left = iter(sorted(out.splitlines(), key=WARNING))
    for line in sorted(shown.splitlines(), key=WARNING):
        if line.strip(" .\n"):
            assert any(alike(found, line) for found in left), f"$ {command}\nnot printed: {line}\nbut:\n{out}"


def spoken(text, names):
    """Run a session; `names` are kept for the next one of the page."""
    session = doctest.DocTestParser().get_doctest(text, names, "tutorial", None, 0)
    session.globs = names
    complaints = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(session, out=complaints.append, clear_globs=False)
    assert not complaints, "".join(complaints)


def alike(found, shown):
    """Whether two lines are the same up to `...`, but for white space and small differences of figures."""
    found, shown = " ".join(found.split()), " ".join(shown.split())
    if shown.endswith(" ..."):
        shown = shown.removesuffix(" ...")
        found = found[: len(shown)]
    numbers = [list(map(float, FIGURE.findall(text))) for text in (found, shown)]
    return FIGURE.sub("0", found) == FIGURE.sub("0", shown) and numbers[0] == pytest.approx(numbers[1], abs=CLOSE)


def test_a_step_of_cleaning_has_the_effect_that_the_table_shows(lab):
    (train,) = re.findall(r"^\$ python pipelines/train\.py (.*)", SIAMESE, re.MULTILINE)
    plain = train.replace("features=words", "features=cleaned features@features.featuriser=words")
    assert {step_of(setting) for setting, _ in CLEANED} == STEPS
    settings = [shlex.split(f"{plain}-{step_of(setting)} {setting} tracking.enabled=false") for setting, _ in CLEANED]
    ended = lab.scripts(*(("train", *each) for each in settings))
    for (setting, shown), (_, out) in zip(CLEANED, ended, strict=True):
        (found,) = re.findall(r"val auroc (\S+) after", out)
        assert float(found) == pytest.approx(float(shown), abs=CLOSE), setting


def step_of(setting):
    return setting.removeprefix("features.").partition("=")[0]
