import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from mlflow.exceptions import MlflowException

import twicetold
from twicetold_lab.tracking import logged_model
from twicetold_lab.tracking.served_model import ServedModel

FAKE_MODELS = """
import numpy as np

class Scorer:
    @property
    def decisions(self):
        from twicetold.evaluation.decision import Decision
        from twicetold.evaluation.labels import Decisions, LabelDecision
        category = LabelDecision("category", Decision(0.0, 1.0, 0.0), same=0.3, called=1.0, right=0.3)
        story = LabelDecision("story", Decision(0.75, 1.0, 0.0), same=0.02, called=0.01, right=0.9)
        return Decisions({"category": category, "story": story}, "category", "story")
    def embed(self, texts):
        return np.array([[len(text), 1.5] for text in texts], np.float32)
    def score(self, left, right):
        return np.array([float(a == b) for a, b in zip(left, right, strict=True)], np.float32)

class Model:
    trained = Scorer()

def load(folder):
    assert (folder / "recipe.json").read_text() == "{}"
    return Model()

class LoadedModel:
    from_folder = staticmethod(load)
"""


@pytest.fixture
def scoring(monkeypatch):
    """A module that loads models with which a text's embedding is (its length, 1.5), and equal texts score 1."""
    module = types.ModuleType("fake")
    exec(FAKE_MODELS, module.__dict__)
    monkeypatch.setattr("twicetold.trained.loaded.LoadedModel.from_folder", module.load)
    monkeypatch.setattr(sys, "path", list(sys.path))  # loading a model prepends its code
    return module


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "recipe.json").write_text("{}")
    return folder


@pytest.fixture
def served(scoring, folder):
    model = ServedModel()
    model.load_context(types.SimpleNamespace(artifacts={"model": str(folder), "code": "none"}))
    return lambda **columns: model.predict(None, pd.DataFrame(columns))


@pytest.fixture
def saved(scoring, folder, tmp_path):
    destination = tmp_path / "saved"
    logged_model.save(folder, destination, input_example={"left": ["a"], "right": ["b"]})
    return destination


def test_texts_give_a_list_of_numbers_each(served):
    assert served(text=["abc", "a"]).to_dict("list") == {"embedding": [[3.0, 1.5], [1.0, 1.5]]}


def test_pairs_give_score_probability_and_decision(served):
    table = served(left=["a", "b"], right=["a", "c"])
    assert table["score"].tolist() == [1.0, 0.0]
    assert table["probability"].tolist() == pytest.approx([0.7310585786, 0.5])
    assert table["duplicate"].tolist() == [True, False]
    assert table["about"].tolist() == ["story"] * 2


def test_a_label_that_it_cannot_answer_about_has_a_reason_in_place_of_a_verdict(served, scoring, folder):
    model = ServedModel()
    model.load_context(types.SimpleNamespace(artifacts={"model": str(folder), "code": "none"}))
    table = model.predict(None, pd.DataFrame({"left": ["a"], "right": ["a"]}), {"about": "category"})
    assert table[["score", "about", "probability", "duplicate"]].values.tolist() == [[1.0, "category", None, None]]
    assert table["no_verdict"][0].endswith("the threshold calls 100.0% the same, and 30% of these are")
    with pytest.raises(MlflowException, match="expected one of the labels category, story"):
        model.predict(None, pd.DataFrame({"left": ["a"], "right": ["a"]}), {"about": "publisher"})


def test_sparse_embeddings_are_given_as_indices_and_values(served, scoring, monkeypatch):
    rows = sp.csr_matrix(np.array([[0, 2.5, 0, 1], [0, 0, 0, 0], [4, 0, 0, 0]]))
    monkeypatch.setattr(scoring.Scorer, "embed", lambda self, texts: rows)
    assert served(text=["a", "b", "c"]).to_dict("list") == {
        "indices": [[1, 3], [], [0]],
        "values": [[2.5, 1.0], [], [4.0]],
    }


def test_one_sparse_row_is_one_row(served, scoring, monkeypatch):
    monkeypatch.setattr(scoring.Scorer, "embed", lambda self, texts: sp.csr_matrix(np.array([[0, 3.0]])))
    assert served(text=["a"]).to_dict("list") == {"indices": [[1]], "values": [[3.0]]}


def test_rows_keep_the_index_of_the_input(served, scoring, folder):
    model = ServedModel()
    model.load_context(types.SimpleNamespace(artifacts={"model": str(folder), "code": "none"}))
    table = pd.DataFrame({"text": ["a", "b"]}, index=[7, 3])
    assert model.predict(None, table).index.tolist() == [7, 3]


def test_a_saved_model_loads_and_takes_both_kinds_of_table(saved):
    from mlflow import pyfunc

    model = pyfunc.load_model(str(saved))
    assert list(model.predict(pd.DataFrame({"text": ["ab"]}))) == ["embedding"]
    pair, columns = pd.DataFrame({"left": ["a"], "right": ["a"]}), ["score", "about", "probability", "duplicate"]
    assert list(model.predict(pair)) == columns
    assert list(model.predict(pair, params={"about": "category"})) == [*columns, "no_verdict"]
    with pytest.raises(MlflowException, match="the input has none: give a table"):
        model.predict(pd.DataFrame({"headline": ["a"]}))


REFUSED = {
    "one side": ({"left": ["a"]}, "give a table with either"),
    "both tables": ({"text": ["a"], "left": ["a"], "right": ["b"]}, "give a table with either"),
    "no rows": ({"left": [], "right": []}, "no rows"),
    "null": ({"text": ["a", None]}, "row 1 of column `text` is no text but"),
    "null on one side": ({"left": ["a"], "right": [None]}, "row 0 of column `right` is no text but None"),
    "a list": ({"text": [["a", "b"]]}, "row 0 of column `text` is no text but"),
    "a number among texts": ({"text": ["a", 5]}, "row 1 of column `text` is no text but 5"),
    "a truth value among texts": ({"text": ["a", True]}, "row 1 of column `text` is no text but True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_table_is_status_400_and_says_what_was_expected(served, name):
    table, expected = REFUSED[name]
    with pytest.raises(MlflowException, match=expected) as caught:
        served(**table)
    assert caught.value.get_http_status_code() == 400


def test_texts_for_a_model_of_pairs_alone_are_a_bad_request(served, scoring, monkeypatch):
    def embed(self, texts):
        raise TypeError("MiniLmCross scores pairs only")

    monkeypatch.setattr(scoring.Scorer, "embed", embed)
    with pytest.raises(MlflowException, match="scores pairs only") as caught:
        served(text=["a"])
    assert caught.value.get_http_status_code() == 400


def test_a_saved_model_holds_no_pickle_and_pins_what_scoring_needs(saved):
    kinds = {path.suffix for path in saved.rglob("*") if path.is_file()}
    assert not kinds & {".pkl", ".pickle", ".joblib", ".pyc", ".pt", ".pth"}
    pins = dict(line.split("==") for line in (saved / "requirements.txt").read_text().split())
    assert set(pins) == set(logged_model.REQUIREMENTS)
    assert not any("+" in pin for pin in pins.values())


def test_a_saved_model_works_in_another_process_from_another_place_with_its_own_code(folder, tmp_path, monkeypatch):
    package = tmp_path / "package" / "twicetold"
    (package / "trained").mkdir(parents=True)
    for name in ("__init__.py", "trained/__init__.py"):
        (package / name).write_text("")
    (package / "trained" / "loaded.py").write_text(FAKE_MODELS)
    monkeypatch.setattr(logged_model, "PACKAGE", package)
    logged_model.save(folder, tmp_path / "saved", input_example={"text": ["a"]})
    moved = tmp_path / "moved"
    (tmp_path / "saved").rename(moved)
    shutil.rmtree(tmp_path / "package")
    shutil.rmtree(folder)
    program = (
        "import sys, pandas; from mlflow import pyfunc\n"
        "print(pyfunc.load_model(sys.argv[1]).predict(pandas.DataFrame({'text': ['four']})).embedding[0])\n"
        "import twicetold; print(twicetold.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(moved)], capture_output=True, text=True, cwd=tmp_path)
    code = moved / "artifacts" / "twicetold.zip" / "twicetold" / "__init__.py"
    assert done.stdout.split("\n")[:2] == ["[4.0, 1.5]", str(code)], done.stderr
    assert sum(path.is_file() for path in moved.rglob("*")) < 15


def test_the_application_in_the_guide_answers_as_the_library_does(run, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "guides" / "serving.md"
    (code,) = re.findall(r"^```python\n(from fastapi.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    model = twicetold.load(run("static"))
    monkeypatch.setattr(twicetold, "load", lambda place: model)
    names = {}
    exec(code, names)
    sides = ["bank rate cut", "rain"], ["bank rate film", "rain"]
    answer = names["pairs"](names["Pairs"](left=sides[0], right=sides[1]))
    assert answer == {"probability": model.predict_proba(*sides).tolist()}
