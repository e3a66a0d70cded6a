"""A trained model in use, and as a transformer of scikit-learn."""

import re
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import twicetold
from twicetold import layout
from twicetold.index import open_index
from twicetold.trained.model_folder import load_model

ALIKE = ["How do I learn to swim?", "What is the way to learn swimming?", "Where can I buy a tent?"]


@pytest.fixture(scope="module")
def fitted():
    """A model that is fitted to three texts."""
    return twicetold.fit(ALIKE, lexical=True)


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_a_model_answers_as_the_stored_one_does(family, run, questions):
    folder = run(family)
    texts = questions.texts.to_pylist()
    left, right = texts[:6], texts[6:12]
    model, stored = twicetold.load(folder), load_model(folder / layout.MODEL)
    scores = stored.score(left, right)
    np.testing.assert_array_equal(model.similarity(left, right), scores)
    np.testing.assert_array_equal(model.predict_proba(left, right), stored.decision.probability(scores))
    np.testing.assert_array_equal(model.predict(left, right), scores >= model.threshold)
    vectors = model.encode(left)
    dots = vectors @ model.encode(right).T
    dots = dots.toarray() if family == "tfidf" else dots
    np.testing.assert_allclose(np.diag(dots), scores, atol=1e-6)


def test_a_run_folder_and_a_copy_of_its_model_folder_are_the_same_model(run, tmp_path):
    folder = run()
    shutil.copytree(folder / layout.MODEL, tmp_path / "elsewhere")
    pair = ["how do i learn python"], ["how to learn python"]
    assert twicetold.load(tmp_path / "elsewhere").similarity(*pair) == twicetold.load(str(folder)).similarity(*pair)


def test_relative_paths_lead_to_the_same_folders_from_another_working_directory(run, questions, tmp_path, monkeypatch):
    texts = questions.texts.to_pylist()
    shutil.copytree(run() / layout.MODEL, tmp_path / "model")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    model = twicetold.load("model")
    model.index(texts[:9]).save("faq")
    index, found = open_index("faq", "model"), model.dedupe(texts)
    monkeypatch.chdir("elsewhere")
    assert model.dedupe(texts).summary == found.summary
    index.add(texts[9:11])
    index.save()
    built = model.index(texts[:2])
    built.save("new")
    monkeypatch.chdir("..")
    built.remove(["0"])
    built.save()
    assert (len(open_index("faq")), len(open_index("elsewhere/new"))) == (11, 1)


def test_texts_are_not_grouped_by_another_threshold_once_the_folder_of_the_model_is_gone(run, tmp_path):
    shutil.copytree(run() / layout.MODEL, tmp_path / "model")
    model = twicetold.load(tmp_path / "model")
    shutil.move(tmp_path / "model", tmp_path / "moved")
    for use in (model.dedupe, model.index):
        with pytest.raises(FileNotFoundError, match=r"is not there any more, .*: put it back, or load the model"):
            use(["a", "b"])
    assert model.predict(["a"], ["a"]).shape == (1,)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no trained model in .*nothing: expected recipe.json there"):
        twicetold.load(tmp_path / "nothing")


def test_clones_of_a_text_encoder_share_its_model(run, questions):
    texts = questions.texts.to_pylist()
    labels = [number % 2 for number in range(len(texts))]
    model = twicetold.load(run())
    copy = clone(twicetold.TextEncoder(model))
    assert copy.get_params() == {"model": model, "sparse_output": True}
    search = GridSearchCV(make_pipeline(copy, LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, cv=2)
    best = search.fit(texts, labels).best_estimator_
    assert best["textencoder"].model_ is model


@pytest.mark.parametrize("family", ["tfidf", "static"])
@pytest.mark.parametrize("column", ["text", ["text"]])
def test_a_text_encoder_stands_among_the_transformers_of_a_frame(family, column, run, questions):
    """Its columns have names, and rows keep the index of a filtered frame."""
    texts = questions.texts.to_pylist()
    model = twicetold.load(run(family))
    frame = pd.DataFrame({"text": texts, "kind": ["a", "b"] * (len(texts) // 2)}, index=range(7, 7 + len(texts)))
    frame = frame[frame.index != 9]
    encoder = twicetold.TextEncoder(model, sparse_output=False)
    parts = [("text", encoder, column), ("kind", OneHotEncoder(sparse_output=False), ["kind"])]
    found = ColumnTransformer(parts).set_output(transform="pandas").fit_transform(frame)
    vectors = model.encode(frame["text"])
    vectors = vectors.toarray() if family == "tfidf" else vectors
    assert found.index.tolist() == frame.index.tolist()
    names = [f"textencoder{number}" for number in range(vectors.shape[1])]
    assert list(found.columns) == [*(f"text__{name}" for name in names), "kind__kind_a", "kind__kind_b"]
    np.testing.assert_array_equal(found.iloc[:, : len(names)].to_numpy(), vectors)
    assert twicetold.TextEncoder(model).get_feature_names_out(["text"]).tolist() == names
    assert encoder.fit(["text"]).n_features_in_ == 1
    alone = clone(encoder).set_output(transform="pandas").fit_transform(frame["text"])
    assert (list(alone.columns), alone.index.tolist()) == (names, frame.index.tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "0.9"}, "precision: expected a number, got '0.9' of type str"),
        ({"pairs": [(0, 1, True)]}, "pairs: expected three columns: rows, rows, and whether each pair"),
    ],
)
def test_an_option_of_another_kind_is_refused_by_its_name(options, message, fitted):
    with pytest.raises(TypeError, match=re.escape(message)):
        fitted.dedupe(ALIKE, **options)


def test_the_number_of_texts_of_a_search_is_a_number(fitted):
    with pytest.raises(TypeError, match="k: expected a whole number, got '2' of type str"):
        fitted.index(ALIKE).search(ALIKE, k="2")


def test_answers_of_pairs_are_those_of_files_and_an_empty_one_is_none(fitted):
    rows = ([0, 0, 1], [1, 2, 2])
    spelt, plain = (
        fitted.dedupe(ALIKE, threshold=0.9, pairs=(*rows, answers)).group.tolist()
        for answers in (["yes", "", "No"], pd.Series([1.0, None, 0.0]))
    )
    assert spelt == plain == [0, 0, 1]


def test_a_text_encoder_reads_the_model_that_its_parameter_names(run, questions):
    texts, encoder = questions.texts.to_pylist(), twicetold.TextEncoder("nowhere")
    model = twicetold.load(run("static"))
    encoder.set_params(model=model)
    np.testing.assert_array_equal(encoder.fit_transform(texts), model.encode(texts))
    other = twicetold.load(run("tfidf"))
    assert encoder.set_params(model=other).transform(texts).shape == other.encode(texts).shape


def test_what_the_package_offers_is_listed():
    assert {"Model", "TextEncoder", "load", "__version__"} <= set(dir(twicetold))
    assert twicetold.__version__ == version("twicetold")
    for name in dir(twicetold):
        getattr(twicetold, name)


@pytest.mark.parametrize("column", [pd.Series, pa.array, lambda texts: pa.chunked_array([texts])])
def test_columns_of_data_frames_are_taken_for_lists_of_texts(column, run, questions):
    model, texts = twicetold.load(run()), questions.texts.to_pylist()
    np.testing.assert_array_equal(model.encode(column(texts)).toarray(), model.encode(texts).toarray())
    one, other = texts[:6], texts[6:12]
    np.testing.assert_array_equal(model.similarity(column(one), column(other)), model.similarity(one, other))
    np.testing.assert_array_equal(model.predict(column(one), other), model.predict(one, other))
    np.testing.assert_array_equal(model.dedupe(column(texts)).group, model.dedupe(texts).group)
    index = model.index(column(texts[:9]))
    assert index.add(column(texts[9:])).ids == [str(row) for row in range(9, len(texts))]
    assert index.search(column(one), k=2) == index.search(one, k=2)
    encoder = twicetold.TextEncoder(model.folder)
    np.testing.assert_array_equal(encoder.transform(column(texts)).toarray(), model.encode(texts).toarray())


def test_a_missing_text_is_named_with_its_row(run):
    model, holey = twicetold.load(run()), pd.Series(["a", None, "b"])
    index = model.index(["a", "b"])
    for use in (model.encode, model.dedupe, model.index, index.search, index.add):
        with pytest.raises(TypeError, match=r"expected texts; row 1 \(from 0\) is"):
            use(holey)
    with pytest.raises(TypeError, match=r"expected texts; row 1 \(from 0\) is"):
        model.similarity(["a", "b", "c"], holey)


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = twicetold.lode


def test_the_application_in_the_guide_answers_as_the_library_does(run, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "guides" / "serving.md"
    (code,) = re.findall(r"^```python\n(from fastapi.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    model = twicetold.load(run("static"))
    monkeypatch.setattr(twicetold, "load", lambda place: model)
    names = {}
    exec(code, names)
    sides = ["bank rate cut", "rain"], ["bank rate film", "rain"]
    answer = names["pairs"](names["Pairs"](left=sides[0], right=sides[1]))
    assert answer == {"probability": model.predict_proba(*sides).tolist()}
