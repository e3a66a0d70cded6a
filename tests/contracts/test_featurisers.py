"""Every leaf of conf/features/ keeps the featuriser's contract, with the values of each recipe that sets some.

So do those that are fitted to a file.
"""

from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from sklearn.base import clone

from twicetold.features.saved import fitted_digest, load_fitted, save_fitted
from twicetold.trained.fitted import LEXICAL

CONF = Path(__file__).parents[2] / "conf"
LEAVES = sorted((CONF / "features").glob("*.yaml"))
RECIPES = sorted(p for p in (CONF / "model").glob("*.yaml") if "features" in OmegaConf.load(p))


def equal(one, other):
    values = (one.values is None) == (other.values is None) and (
        one.values is None or np.array_equal(one.values, other.values)
    )
    return values and np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)


def inputs_of(featuriser, texts):
    """What it reads: the texts, and the same again in every further field."""
    fields = getattr(featuriser, "fields", None)
    return texts if fields is None else dict.fromkeys(("text", *fields), texts)


@pytest.fixture(params=[*LEAVES, *RECIPES, *LEXICAL], ids=lambda p: f"{Path(p).parent.stem}-{Path(p).stem}")
def featuriser(request, composed):
    leaf = request.param
    if leaf in LEXICAL:
        return instantiate(LEXICAL[leaf].features)
    if leaf in RECIPES:
        return instantiate(composed("train", "data=toy_news", f"model={leaf.stem}", "tuned=none").features)
    return instantiate(composed(f"features/{leaf.stem}").features)


def test_fitting_twice_is_fitting_once(featuriser, news):
    texts = inputs_of(featuriser, news.texts_of("train"))
    once = featuriser.fit(texts).transform(texts)
    assert equal(once, featuriser.fit(texts).transform(texts))


def test_words_of_the_test_split_never_enter(featuriser, news):
    train = inputs_of(featuriser, news.texts_of("train"))
    more = inputs_of(featuriser, [*news.texts_of("train"), "unheardof word"])
    rows = featuriser.fit(train).transform(more)
    assert rows.width == featuriser.fit(train).transform(train).width == featuriser.shape["width"]


def test_columns_are_sorted_within_each_row(featuriser, news):
    if featuriser.ordered:
        pytest.skip("sequences keep the order of the text")
    train, texts = (inputs_of(featuriser, t) for t in (news.texts_of("train"), news.texts.to_pylist()))
    rows = featuriser.fit(train).transform(texts)
    for start, end in zip(rows.indptr, rows.indptr[1:]):
        assert (np.diff(rows.indices[start:end]) > 0).all()


def test_fitted_state_survives_the_disk(featuriser, news, tmp_path):
    texts = inputs_of(featuriser, news.texts_of("train"))
    before = featuriser.fit(texts).transform(texts)
    save_fitted(featuriser, tmp_path)
    loaded = load_fitted(clone(featuriser), tmp_path)
    assert equal(before, loaded.transform(texts))
    assert fitted_digest(featuriser) == fitted_digest(loaded)
    assert fitted_digest(featuriser) == fitted_digest(clone(featuriser).fit(texts))


def test_names_of_columns_are_as_many_as_columns(featuriser, news):
    if not hasattr(featuriser, "get_feature_names_out"):
        pytest.skip("does not name its columns")
    featuriser.fit(inputs_of(featuriser, news.texts_of("train")))
    names = featuriser.get_feature_names_out()
    assert names.shape == (featuriser.shape["width"],)
    assert all(isinstance(name, str) for name in names)
