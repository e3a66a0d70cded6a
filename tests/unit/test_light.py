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
import sys
from importlib.abc import MetaPathFinder

class Lacking(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {LACKING.split()!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Lacking())
from twicetold.commands import main
sys.argv[0] = "twicetold"
main()
"""


def without_extras(*arguments, given="", cwd=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", WITHOUT, *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120)


def works(*arguments, **options):
    done = without_extras(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def questions_file(questions, tmp_path):
    texts = list(dict.fromkeys(questions.texts_of("train")))[:18]
    (tmp_path / "texts.csv").write_text("\n".join(["text", *texts]) + "\n", encoding="utf-8")
    return tmp_path / "texts.csv"


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_a_model_scores_as_it_does_with_the_extras(family, run, tmp_path):
    folder, sides = run(family) / layout.MODEL, ("How do I make tea?", "How can I make tea?")
    expected = twicetold.load(folder).similarity(*([side] for side in sides))[0]
    found = json.loads(works("score", folder, *sides, "--json"))
    assert found["score"] == pytest.approx(float(expected), abs=1e-6)
    (tmp_path / "pairs.csv").write_text("a,b\n" + ",".join(sides) + "\n", encoding="utf-8")
    assert "score" in works("pairs", folder, tmp_path / "pairs.csv", "--left", "a", "--right", "b")
    assert "How do I make tea?" not in works("card", folder)


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_an_index_is_made_and_searched(family, run, questions_file, tmp_path):
    folder = run(family) / layout.MODEL
    works("index", "build", folder, questions_file, "-o", tmp_path / "index")
    asked = questions_file.read_text(encoding="utf-8").splitlines()[1]
    assert asked in works("search", tmp_path / "index", asked)


@pytest.mark.parametrize("options", [["--compare", "letters"], []])
def test_a_file_is_deduped_without_a_model(options, questions_file):
    assert len(works("dedupe", questions_file, "--threshold", "0.6", *options).splitlines()) == 19


def test_a_file_is_deduped_grouped_by_topic_and_drawn_from(run, questions_file, tmp_path):
    folder = run("static") / layout.MODEL
    assert len(works("dedupe", folder, questions_file, "--threshold", "0.9").splitlines()) == 19
    assert len(works("topics", folder, questions_file, "--count", "3").splitlines()) == 19
    works("label", questions_file, "--compare", "letters", "-o", tmp_path / "drawn.csv", given="q\n")


def test_groups_are_compared_with_known_ones(questions_file, tmp_path):
    texts = questions_file.read_text(encoding="utf-8").splitlines()[1:]
    lines = ["text,story", *(f"{text},{n // 3}" for n, text in enumerate(texts))]
    (tmp_path / "known.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = ("dedupe", tmp_path / "known.csv", "--compare", "letters", "--truth", "story")
    summary = json.loads(works(*line, "-o", tmp_path / "out.csv", "--json"))
    assert summary["agreement"]["measures"]["average_precision"]["value"] > 0
    assert "ARI" in works(*line, "--dry-run")


@pytest.mark.parametrize("command", ["dedupe", "topics", "index", "label", "pairs", "folder"])
def test_a_missing_package_is_told_before_anything_is_read(command, run, tmp_path):
    """The file has a bad row, which reading would name."""
    shutil.copytree(run("static") / layout.MODEL, tmp_path / "neural")
    recipe = json.loads((tmp_path / "neural" / layout.RECIPE).read_text())
    recipe["encoder"] = {"_target_": "twicetold.models.mfilm.MiniBatchFilm", "hidden": 8}
    (tmp_path / "neural" / layout.RECIPE).write_text(json.dumps(recipe))
    (tmp_path / "parts").mkdir()
    for file in ("bad.csv", "parts/bad.csv"):
        (tmp_path / file).write_text("text,left,right\n , , \n")
    line = {
        "dedupe": ("dedupe", "neural", "bad.csv"),
        "topics": ("topics", "neural", "bad.csv"),
        "index": ("index", "build", "neural", "bad.csv", "-o", "index"),
        "label": ("label", "neural", "bad.csv", "-o", "labelled.csv"),
        "pairs": ("pairs", "neural", "bad.csv"),
        "folder": ("dedupe", "neural", "parts", "-o", "out"),
    }[command]
    before = sorted(tmp_path.iterdir())
    done = without_extras(*line, cwd=tmp_path)
    assert done.returncode == 1
    assert "a model of this family needs the package torch, which is not installed" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_what_registers_a_run_asks_for_its_package_first(tmp_path):
    done = without_extras("register", "--data", "questions", "--runs", tmp_path)  # there are no runs to compare
    assert "the registry needs the package mlflow, which is not installed: pip install '.[train]'" in done.stderr


def test_what_an_ensemble_is_made_of_is_used_without_extras(questions_file, tmp_path):
    fitted = tmp_path / "fitted"
    twicetold.fit(questions_file.read_text().split("\n")[1:-1], folder=fitted)
    assert json.loads(works("score", fitted, "make tea", "make a tea", "--json"))["score"] > 0


def test_a_neural_model_names_the_extra(run):
    folder = run("static") / layout.MODEL
    recipe = json.loads((folder / layout.RECIPE).read_text())
    recipe["encoder"] = {"_target_": "twicetold.models.mfilm.MiniBatchFilm", "hidden": 8}
    (folder / layout.RECIPE).write_text(json.dumps(recipe))
    done = without_extras("score", folder, "a", "b")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "needs the package torch, which is not installed: pip install '.[torch]' in a checkout" in done.stderr


@pytest.mark.parametrize("command", [["models"], ["score", "models:/twicetold-quora/1", "a", "b"]])
def test_a_command_on_the_registry_names_the_extra(command, tmp_path):
    (tmp_path / "mlruns").mkdir()
    (tmp_path / "mlruns" / "mlflow.db").touch()
    done = without_extras(*command, cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install '.[train]' in a checkout" in done.stderr


def test_the_base_lacks_what_is_kept_out_here():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {entry.partition(">")[0].replace("-", "_") for entry in project["dependencies"]}
    assert not base & set(LACKING.split())
