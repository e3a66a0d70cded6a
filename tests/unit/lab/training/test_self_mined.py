"""Negatives that the model mines itself: what they never are, that they are the nearest, and what is refused."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twicetold.features.bag_of_words import BagOfWords
from twicetold.models.dssm import Dssm
from twicetold.models.re2 import Re2
from twicetold.models.static import Static
from twicetold.models.static_mlp import StaticMlp
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.examples.batches import EpochBatches, GatheredExamples, train_loader
from twicetold_lab.examples.labelled import LabelledPairs, LabelledTexts
from twicetold_lab.examples.positives import GroupPairs
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.objectives.pair_bce import PairBce
from twicetold_lab.training.fit import descend
from twicetold_lab.training.parts import Parts
from twicetold_lab.training.schedule import Schedule
from twicetold_lab.training.self_mined import SelfMined


def mined_of(**changes):
    return SelfMined(**{"group": None, "per_anchor": 2, "depth": 5, "skip": 0, **changes})


def info_nce():
    return InfoNce(temperature=0.1)


class Vectors:
    """Vectors of any texts, which a test can change."""

    def __init__(self, count, seed):
        self.of = np.random.default_rng(seed).normal(size=(2, count, 3)).astype(np.float32)

    def __call__(self, texts):
        return self.of[0, texts], self.of[1, texts]


def begun(corpus, index, settings, vectors, seed=0):
    data = GatheredExamples(index, None)
    return data, settings.renewing(data, corpus, vectors, seed=seed)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_mined_negative_is_no_text_that_says_the_same(questions, data):
    """Neither of the anchor's cluster, nor equal to a text of it or to a positive of an anchor of it."""
    size = len(questions.members["train"])
    words = data.draw(st.lists(st.integers(0, size // 2), min_size=len(questions), max_size=len(questions)))
    corpus = replace(questions, texts=pa.array([f"text {word}" for word in words]))
    group = data.draw(st.sampled_from(["cluster", None]))
    index = LabelledPairs("random", "cluster", duplicates_only=True).index(corpus, Path())
    settings_ = mined_of(group=group, skip=data.draw(st.integers(0, 3)), per_anchor=data.draw(st.integers(1, 5)))
    gathered, renew = begun(corpus, index, settings_, Vectors(len(corpus), data.draw(st.integers(0, 99))))
    cluster, equal, train = corpus.groups["cluster"], corpus.text_codes(), corpus.members["train"]

    def kin_of(anchor):
        return train[cluster[train] == cluster[anchor]]

    epoch = data.draw(st.integers(0, 3))
    if any(np.isin(equal[train], equal[kin_of(anchor)]).all() for anchor in index.anchor):
        with pytest.raises(ValueError, match="finds no negative for"):
            renew(epoch)
        return
    renew(epoch)
    found = gathered.examples
    assert found.negative.shape == (len(index.anchor), settings_.per_anchor)
    assert np.isin(found.negative, corpus.members["train"]).all()
    for anchor, negatives in zip(index.anchor, found.negative, strict=True):
        kin = kin_of(anchor)
        assert not np.isin(equal[negatives], equal[kin]).any()
        assert not np.isin(negatives, kin).any()
    if group is not None:
        np.testing.assert_array_equal(found.negative_group, cluster[found.negative])


def test_negatives_are_drawn_from_the_nearest_texts_after_those_that_are_skipped(news):
    index = GroupPairs("story", 1, 0).index(news, Path())
    vectors = Vectors(len(news), 1)
    settings_ = mined_of(group="story", skip=2, depth=3, per_anchor=3)
    gathered, renew = begun(news, index, settings_, vectors)
    renew(0)
    train, story, equal = news.members["train"], news.groups["story"], news.text_codes()
    for anchor, negatives in zip(index.anchor, gathered.examples.negative, strict=True):
        kin = equal[train[story[train] == story[anchor]]]
        others = train[~np.isin(equal[train], kin)]
        nearest = others[np.argsort(-(vectors.of[1, others] @ vectors.of[0, anchor]), kind="stable")]
        assert set(negatives) == set(nearest[2:5])


def test_each_epoch_has_its_own_draws_and_they_depend_on_seed_and_epoch_alone(news, tmp_path):
    index = GroupPairs("story", 2, 0).index(news, Path())

    def negatives(epoch, seed=0):
        gathered, renew = begun(news, index, mined_of(group="story"), Vectors(len(news), 1), seed=seed)
        renew(epoch)
        return gathered.examples.negative

    np.testing.assert_array_equal(negatives(1), negatives(1))
    assert (negatives(1) != negatives(2)).any()
    assert (negatives(1) != negatives(1, seed=1)).any()


def test_a_row_that_is_short_of_near_texts_gets_random_ones(news):
    index = GroupPairs("category", 1, 0).index(news, Path())
    everything = mined_of(group="category", skip=len(news), per_anchor=3)
    gathered, renew = begun(news, index, everything, Vectors(len(news), 1))
    renew(0)
    found = gathered.examples
    assert (found.negative_group != found.group[:, None]).all()


def test_a_batch_has_the_negatives_of_its_rows_one_round_after_the_other(news):
    index = GroupPairs("story", 1, 0).index(news, Path())
    rows = BagOfWords().fit(news.texts_of("train")).transform(news.texts.to_pylist())
    gathered = GatheredExamples(index, rows)
    mined_of(group="story").renewing(gathered, news, Vectors(len(news), 1), seed=0)(0)
    chosen = np.array([3, 0, 2])
    batch, negative = gathered.__getitems__(chosen), gathered.examples.negative
    expected = rows.gather(np.concatenate([negative[chosen, 0], negative[chosen, 1]]))
    assert torch.equal(batch.negative.indices, expected.indices)
    assert torch.equal(batch.negative.offsets, expected.offsets)
    assert batch.negative_group.tolist() == news.groups["story"][negative[chosen].T.ravel()].tolist()


@pytest.mark.parametrize("workers", [0, 1])
def test_each_epoch_of_a_loader_has_the_negatives_mined_for_it(news, workers):
    index = GroupPairs("story", 1, 0).index(news, Path())
    rows = BagOfWords().fit(news.texts_of("train")).transform(news.texts.to_pylist())
    batches = EpochBatches(index, batch_size=5, seed=3)
    loader = train_loader(index, rows, batches, workers=workers)
    settings_, vectors = mined_of(group="story"), Vectors(len(news), 1)
    batches.renew = settings_.renewing(loader.dataset, news, vectors, seed=3)
    alone, renew = begun(news, index, settings_, vectors, seed=3)
    for epoch in (2, 0):
        batches.set_epoch(epoch)
        found, (chosen, *_) = next(iter(loader)), list(batches)
        renew(epoch)
        expected = news.groups["story"][alone.examples.negative[chosen].T.ravel()]
        assert found.negative_group.tolist() == expected.tolist()


def parts_with(objective=None):
    return Parts(
        featuriser=BagOfWords(),
        encoder_of=lambda width: Static(width=width, embedding=6, init_std=0.5, input_dropout=0.3),
        examples=GroupPairs("story", 1, 0),
        objective=objective or info_nce(),
        make_optimizer=partial(torch.optim.Adam, lr=0.1),
        schedule=Schedule(epochs=1, batch_size=8),
        selection=Selection(),
        descend=descend,
        negatives=mined_of(),
    )


def test_what_could_not_use_mined_negatives_is_refused(news):
    with pytest.raises(ValueError, match=r"PairBce compares no anchor with mined negatives"):
        parts_with(PairBce())
    for family in (Re2, StaticMlp):
        with pytest.raises(TypeError, match=rf"{family.__name__} scores a pair in another way"):
            parts_with().check_negatives_of(object.__new__(family))
    parts_with().check_negatives_of(object.__new__(Dssm))
    texts = LabelledTexts("story").index(news, Path())
    with pytest.raises(ValueError, match="these are single texts"):
        begun(news, texts, mined_of(), Vectors(len(news), 0))
    pairs = GroupPairs("story", 1, 0).index(news, Path())
    with pytest.raises(ValueError, match=r"negatives.group=category is not the group of these examples"):
        begun(news, pairs, mined_of(group="category"), Vectors(len(news), 0))
    beyond = replace(pairs, anchor=pairs.anchor + len(news))
    with pytest.raises(ValueError, match="these examples are of parts of texts"):
        begun(news, beyond, mined_of(), Vectors(len(news), 0))


@pytest.mark.parametrize("wrong", [{"per_anchor": 0}, {"depth": 1}, {"skip": -1}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=rf"negatives.{next(iter(wrong))} must be at least"):
        mined_of(**wrong)
