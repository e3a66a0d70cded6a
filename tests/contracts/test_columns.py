"""The lexical and static families in use, without PyTorch, against the modules that are trained."""

import inspect

import numpy as np
import pytest
import torch
from hydra.utils import get_class, instantiate

from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.bm25 import Bm25Weights
from twicetold.features.rows import CsrRows
from twicetold.features.tfidf import TfIdf
from twicetold.trained.columns import FAMILIES
from twicetold.trained.reading import in_use, score_pairs

TRAINED = ("table", "low_rank", "token_weights")
STATIC = {"embedding": 24, "init_std": 0.5, "input_dropout": 0.1}
PRETRAINED = {"embedding": 24, "init": "pretrained", "rank": 4, "input_dropout": 0.1}
CASES = [
    ("tfidf.TfIdfCosine", TfIdf, {}),
    ("binary_count.BinaryCountCosine", BagOfWords, {}),
    ("bm25.SymmetricBm25", Bm25Weights, {}),
    ("static.Static", TfIdf, STATIC),
    ("static.Static", BagOfWords, STATIC),
    *(("pretrained_static.PretrainedStatic", TfIdf, {**PRETRAINED, "trained": trained}) for trained in TRAINED),
]


def both(target, settings, width):
    """The module with random weights, and what a model folder of it is read as."""
    name = f"twicetold.models.{target}"
    torch.manual_seed(0)
    module = instantiate({"_target_": name, **settings}, width=width).eval()
    for tensor in module.state_dict().values():
        tensor.normal_()
    used = FAMILIES[name](width=width, **settings)
    weights = in_use(module).state()
    assert {key: value.shape for key, value in weights.items()} == dict(used.shapes)
    used.load(weights)
    return module, used


def texts_of(rng, count):
    words = [f"word{number}" for number in range(40)]
    texts = [" ".join(rng.choice(words, rng.integers(1, 12), replace=False)) for _ in range(count)]
    return [*texts, "nothing known here"]


@pytest.mark.parametrize(("target", "features", "settings"), CASES)
@pytest.mark.parametrize("count", [30, 3000])
def test_vectors_and_scores_are_those_of_the_module(target, features, settings, count):
    rng = np.random.default_rng(0)
    texts = texts_of(rng, count)
    featuriser = features().fit(texts[:-1])
    rows = featuriser.transform(texts)
    module, used = both(target, settings, rows.width)
    asked = rng.permutation(len(texts))[: count // 2]
    for taken in (asked, np.arange(len(texts))):
        for expected, found in zip(
            *(in_use(each).search_matrices(rows, taken) for each in (module, used)), strict=True
        ):
            close(found, expected)
    left, right = rng.integers(0, len(texts), (2, 50))
    close(score_pairs(used, rows, left, right), score_pairs(module, rows, left, right))


def close(found, expected):
    assert type(found) is type(expected)
    assert found.dtype == np.float32
    dense = [side.toarray() if hasattr(side, "toarray") else side for side in (found, expected)]
    np.testing.assert_allclose(*dense, rtol=1e-5, atol=1e-5)


def test_tokens_that_repeat_are_counted_and_the_unknown_one_has_no_vector():
    rows = CsrRows(np.array([0, 4, 4, 6]), np.array([3, 3, 0, 1, 0, 0], np.int32), None, 5)
    module, used = both("pretrained_static.PretrainedStatic", {**PRETRAINED, "trained": "table"}, 5)
    every = np.arange(3)
    close(in_use(used).search_matrices(rows, every)[0], in_use(module).search_matrices(rows, every)[0])
    assert not in_use(used).search_matrices(rows, every)[0][1:].any()


def test_a_vector_does_not_depend_on_the_other_texts():
    rows = TfIdf().fit(texts := texts_of(np.random.default_rng(0), 700)).transform(texts)
    _, used = both("static.Static", STATIC, rows.width)
    together = in_use(used).search_matrices(rows, np.arange(len(texts)))[0]
    for text in range(20):
        np.testing.assert_array_equal(in_use(used).search_matrices(rows, np.array([text]))[0][0], together[text])


@pytest.mark.parametrize("target", FAMILIES)
def test_settings_are_those_of_the_module(target):
    assert [*inspect.signature(FAMILIES[target]).parameters] == [*inspect.signature(get_class(target)).parameters]
