"""A trained model in use, and as a transformer of scikit-learn."""

import shutil
from importlib.metadata import version

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import twicetold
from twicetold import layout
from twicetold.index import open_index
from twicetold.trained.model_folder import load_model


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
    for use in (model.dedupe, model.dry_run, model.index):
        with pytest.raises(FileNotFoundError, match=r"is not there any more, .*: put it back, or load the model"):
            use(["a", "b"])
    assert model.predict(["a"], ["a"]).shape == (1,)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no trained model in .*nothing: expected recipe.json there"):
        twicetold.load(tmp_path / "nothing")


def test_a_text_encoder_is_a_step_of_a_pipeline(run, questions):
    texts = questions.texts.to_pylist()
    labels = [number % 2 for number in range(len(texts))]
    encoder = clone(twicetold.TextEncoder(run()))
    pipeline = make_pipeline(encoder, LogisticRegression()).fit(texts, labels)
    assert pipeline.predict(texts).shape == (len(texts),)
    np.testing.assert_array_equal(
        encoder.transform(texts).toarray(), twicetold.load(encoder.model).encode(texts).toarray()
    )


def test_a_text_encoder_takes_a_loaded_model(run, questions):
    texts = questions.texts.to_pylist()
    model = twicetold.load(run())
    encoder = twicetold.TextEncoder(model)
    np.testing.assert_array_equal(encoder.transform(texts).toarray(), model.encode(texts).toarray())
    assert repr(encoder) == f"TextEncoder(model={model!r})"


def test_clones_of_a_text_encoder_share_its_model(run, questions):
    texts = questions.texts.to_pylist()
    labels = [number % 2 for number in range(len(texts))]
    model = twicetold.load(run())
    copy = clone(twicetold.TextEncoder(model))
    assert copy.get_params() == {"model": model}
    search = GridSearchCV(make_pipeline(copy, LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, cv=2)
    best = search.fit(texts, labels).best_estimator_
    assert best["textencoder"].model_ is model


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
