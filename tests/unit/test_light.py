"""Without the extras, each command that works on lexical and static models works, and the others name the extra."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import twicetold
from twicetold import layout

ROOT = Path(__file__).parents[2]
LACKING = "torch pytorch_lightning jaxtyping hydra omegaconf mlflow dvc optuna bm25s matplotlib pandas transformers"
WITHOUT = f"""
import json, sys
from importlib.abc import MetaPathFinder

class Lacking(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {LACKING.split()!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Lacking())
from typer.testing import CliRunner
from twicetold.commands import app

ended = [CliRunner().invoke(app, line, input="q\\n") for line in json.load(sys.stdin)]
print(json.dumps([(each.exit_code, each.stdout, each.stderr) for each in ended]))
"""


def without_extras(*lines, cwd=None):
    """Exit code, stdout and stderr of commands that one process without the extras runs one after another."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "300"}
    given = json.dumps([list(map(str, line)) for line in lines])
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def works(*lines):
    """What such commands write to stdout."""
    ended = without_extras(*lines)
    assert not any(code for code, _, _ in ended), ended
    return [stdout for _, stdout, _ in ended]


@pytest.fixture
def questions_file(questions, tmp_path):
    texts = list(dict.fromkeys(questions.texts_of("train")))[:18]
    (tmp_path / "texts.csv").write_text("\n".join(["text", *texts]) + "\n", encoding="utf-8")
    return tmp_path / "texts.csv"


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_a_model_scores_dedupes_and_searches_as_it_does_with_the_extras(family, run, questions_file, tmp_path):
    folder, sides = run(family) / layout.MODEL, ("How do I make tea?", "How can I make tea?")
    expected = twicetold.load(folder).similarity(*([side] for side in sides))[0]
    (tmp_path / "pairs.csv").write_text("a,b\n" + ",".join(sides) + "\n", encoding="utf-8")
    asked = questions_file.read_text(encoding="utf-8").splitlines()[1]
    scored, pairs, card, _, found, grouped = works(
        ("score", folder, *sides, "--json"),
        ("pairs", folder, tmp_path / "pairs.csv", "--left", "a", "--right", "b"),
        ("card", folder),
        ("index", "build", folder, questions_file, "-o", tmp_path / "index"),
        ("search", tmp_path / "index", asked),
        ("dedupe", folder, questions_file, "--threshold", "0.9"),
    )
    assert json.loads(scored)["score"] == pytest.approx(float(expected), abs=1e-6)
    assert "score" in pairs
    assert "How do I make tea?" not in card
    assert asked in found
    assert len(grouped.splitlines()) == 19


def test_a_file_is_used_without_a_model(questions_file, tmp_path):
    texts = questions_file.read_text(encoding="utf-8").splitlines()[1:]
    lines = ["text,story", *(f"{text},{n // 3}" for n, text in enumerate(texts))]
    (tmp_path / "known.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    known = ("dedupe", tmp_path / "known.csv", "--compare", "letters", "--truth", "story")
    twicetold.fit(texts, folder=tmp_path / "fitted")
    linked, lexical, mixture, _, summary, scored = works(
        ("link", questions_file, tmp_path / "known.csv"),
        ("dedupe", questions_file, "--threshold", "0.6", "--compare", "letters"),
        ("dedupe", questions_file, "--threshold", "0.6"),
        ("label", questions_file, "--compare", "letters", "-o", tmp_path / "drawn.csv"),
        (*known, "-o", tmp_path / "out.csv", "--json"),
        ("score", tmp_path / "fitted", "make tea", "make a tea", "--json"),
    )
    assert len(linked.splitlines()) >= 19
    assert len(lexical.splitlines()) == len(mixture.splitlines()) == 19
    assert json.loads(summary)["agreement"]["measures"]["b3"]["value"] > 0
    assert json.loads(scored)["score"] > 0


def test_a_missing_package_is_told_before_anything_is_read(run, tmp_path):
    """The file has a bad row, which reading would name."""
    shutil.copytree(run("static") / layout.MODEL, tmp_path / "neural")
    recipe = json.loads((tmp_path / "neural" / layout.RECIPE).read_text())
    recipe["encoder"] = {"_target_": "twicetold.models.mfilm.MiniBatchFilm", "hidden": 8}
    (tmp_path / "neural" / layout.RECIPE).write_text(json.dumps(recipe))
    (tmp_path / "parts").mkdir()
    for file in ("bad.csv", "parts/bad.csv"):
        (tmp_path / file).write_text("text,left,right\n , , \n")
    lines = (
        ("dedupe", "neural", "bad.csv"),
        ("index", "build", "neural", "bad.csv", "-o", "index"),
        ("label", "neural", "bad.csv", "-o", "labelled.csv"),
        ("pairs", "neural", "bad.csv"),
        ("dedupe", "neural", "parts", "-o", "out"),
        ("score", "neural", "a", "b"),
    )
    before = sorted(tmp_path.iterdir())
    for line, (code, _, stderr) in zip(lines, without_extras(*lines, cwd=tmp_path), strict=True):
        assert code == 1, line
        assert (
            "a model of this family needs the package torch, which is not installed: pip install '.[torch]'" in stderr
        )
    assert sorted(tmp_path.iterdir()) == before


def test_the_base_lacks_what_is_kept_out_here():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {entry.partition(">")[0].replace("-", "_") for entry in project["dependencies"]}
    assert not base & set(LACKING.split())
