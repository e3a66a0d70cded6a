"""What the regimes make of examples: copies in the place of their texts, with labels and clusters carried along."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twicetold.augmentation.alterations import Alterations
from twicetold.augmentation.augment import Augment
from twicetold.augmentation.consistency import Consistency
from twicetold.examples.batches import EpochBatches, ExampleIndex, LabelledPairs, LabelledTexts
from twicetold.features.cache import fields_like

SETTINGS = {"swap": 0.0, "typo": 0.0, "synonym": 0.0, "vectors": None, "nearest": 1, "least_cosine": 0.0}
HALVES = Alterations(drop=0.5, **SETTINGS)
COLUMNS = ("label", "group", "positive_group", "negative_group")


@pytest.fixture
def pairs(questions):
    return LabelledPairs("random", "cluster").index(questions, Path())


def text_of(corpus, index):
    texts = [*corpus.texts.to_pylist(), *index.further]
    return lambda number: texts[number]


def is_copy(copy, text):
    """Whether one is what is left of the other."""
    rest = iter(text.split())
    return all(word in rest for word in copy.split())


def test_every_side_is_its_text_or_one_of_its_copies_and_the_rest_is_carried_along(questions, pairs):
    index = Augment(HALVES, copies=3, chance=0.5).examples(pairs, questions, seed=0)
    text = text_of(questions, index)
    assert len(index) == len(pairs)
    assert len(index.anchor) == 4 * len(pairs)
    for side in ("anchor", "positive"):
        source = np.tile(getattr(pairs, side), 4)
        found = getattr(index, side)
        assert all(is_copy(text(number), text(own)) for number, own in zip(found, source))
        assert 0.3 < np.mean(found >= len(questions)) < 0.7
    for name in COLUMNS:
        if (values := getattr(pairs, name)) is not None:
            assert np.tile(values, 4).tolist() == getattr(index, name).tolist()


def test_no_copy_at_a_chance_of_zero_and_nothing_but_copies_at_one(questions, pairs):
    never = Augment(HALVES, copies=2, chance=0.0).examples(pairs, questions, seed=0)
    assert never.anchor.tolist() == np.tile(pairs.anchor, 3).tolist()
    always = Augment(HALVES, copies=2, chance=1.0).examples(pairs, questions, seed=0)
    assert min(always.anchor.min(), always.positive.min()) >= len(questions)


def test_a_negative_is_copied_as_well(news):
    triplets = ExampleIndex(anchor=np.arange(9), positive=np.arange(9, 18), negative=np.arange(18, 27))
    index = Augment(HALVES, copies=1, chance=1.0).examples(triplets, news, seed=0)
    text = text_of(news, index)
    assert index.negative.min() >= len(news)
    assert all(is_copy(text(copy), text(own)) for copy, own in zip(index.negative, np.tile(np.arange(18, 27), 2)))


def test_a_copy_has_the_other_fields_of_its_text(news):
    index = Augment(HALVES, copies=2, chance=1.0).examples(LabelledTexts("category").index(news, Path()), news, seed=0)
    reader = type("Reader", (), {"fields": ["text", "publisher", "nowhere"]})()
    fields = fields_like(reader, news, index.further_like)
    publishers = news.fields["publisher"].to_pylist()
    assert {"publisher": [publishers[n] for n in news.members["train"]] * 2} == fields


def test_texts_beyond_the_corpus_are_copied_too_and_have_no_fields(news):
    beyond = ExampleIndex(anchor=np.array([60, 0, 61]), further=["one more text", "and another one"])
    index = Augment(HALVES, copies=1, chance=1.0).examples(beyond, news, seed=0)
    text = text_of(news, index)
    assert list(index.further[:2]) == beyond.further
    assert all(is_copy(text(copy), text(own)) for copy, own in zip(index.anchor, [60, 0, 61] * 2))
    assert index.further_like.tolist() == [-1, -1, 0, -1, -1]
    reader = type("Reader", (), {"fields": ["text", "publisher"]})()
    paper = news.fields["publisher"][0].as_py()
    assert fields_like(reader, news, index.further_like)["publisher"] == ["", "", paper, "", ""]


@pytest.mark.parametrize("regime", [Augment(HALVES, copies=3, chance=0.5), Consistency(HALVES, copies=3, weight=1.0)])
def test_the_seed_decides(questions, pairs, regime):
    def made(seed):
        index = regime.examples(pairs, questions, seed=seed)
        drawn = index.anchor if index.copy is None else index.copy
        return [*index.further, *drawn.tolist()]

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_consistency_leaves_the_sides_and_gives_each_anchor_a_copy_of_its_own(questions, pairs):
    index = Consistency(HALVES, copies=3, weight=1.0).examples(pairs, questions, seed=0)
    text = text_of(questions, index)
    assert index.anchor.tolist() == np.tile(pairs.anchor, 3).tolist()
    assert index.positive.tolist() == np.tile(pairs.positive, 3).tolist()
    assert index.copy.min() >= len(questions)
    assert all(is_copy(text(copy), text(own)) for copy, own in zip(index.copy, index.anchor))


@pytest.mark.parametrize("blocks", [False, True])
def test_an_epoch_has_each_example_once_and_other_variants_each_time(news, blocks):
    own = LabelledTexts("story", together=2 if blocks else None).index(news, Path())
    index = Augment(HALVES, copies=3, chance=1.0).examples(own, news, seed=0)
    batches = EpochBatches(index, batch_size=7, seed=0, lengths=None if blocks else np.arange(4 * len(own)))
    epochs = []
    for epoch in range(2):
        batches.set_epoch(epoch)
        order = np.concatenate(list(batches))
        assert sorted(order % len(own)) == list(range(len(own)))
        assert set(order // len(own)) == set(range(4))
        epochs.append(order)
    assert len(batches) == len(own) // 7  # a single one that is left joins the batch before
    assert dict(zip(epochs[0] % len(own), epochs[0])) != dict(zip(epochs[1] % len(own), epochs[1]))


def test_examples_that_are_in_variants_are_not_varied_again(questions, pairs):
    index = Augment(HALVES, copies=1, chance=1.0).examples(pairs, questions, seed=0)
    with pytest.raises(ValueError, match="got 2 variants"):
        replace(index).in_variants(2)


@pytest.mark.parametrize(
    ("regime", "wrong", "message"),
    [
        (Augment, {"copies": 0, "chance": 0.5}, "copies must be at least 1; got 0"),
        (Augment, {"copies": 1, "chance": 2.0}, "chance is a chance from 0 to 1; got 2.0"),
        (Consistency, {"copies": 0, "weight": 1.0}, "copies must be at least 1; got 0"),
        (Consistency, {"copies": 1, "weight": 0.0}, "weight must be above 0; got 0.0"),
    ],
)
def test_settings_that_make_no_sense_are_errors(regime, wrong, message):
    with pytest.raises(ValueError, match=message):
        regime(HALVES, **wrong)
