"""Examples with altered copies: copies replace texts, labels and clusters stay; consistency adds a copy of anchors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.trained.provenance import alters_texts
from twicetold_lab.augmentation.alterations import Alterations
from twicetold_lab.augmentation.augment import Agreement, Augmentation, altered_copies
from twicetold_lab.examples.batches import EpochBatches, ExampleIndex
from twicetold_lab.examples.labelled import LabelledPairs, LabelledTexts
from twicetold_lab.objectives.combined import WeightedSum
from twicetold_lab.objectives.pair_bce import PairBce
from twicetold_lab.scoring.cache import fields_like

SETTINGS = {"swap": 0.0, "typo": 0.0, "synonym": 0.0, "vectors": None, "nearest": 1, "least_cosine": 0.0}
HALVES = Alterations(drop=0.5, **SETTINGS)
COLUMNS = ("label", "group", "positive_group", "negative_group")


@pytest.fixture
def pairs(questions):
    return LabelledPairs("random", "cluster").index(questions, Path())


def text_of(corpus, index):
    texts = [*corpus.texts.to_pylist(), *index.extra_texts]
    return lambda number: texts[number]


def is_copy(copy, text):
    """Whether one is what is left of the other."""
    rest = iter(text.split())
    return all(word in rest for word in copy.split())


def test_every_side_is_its_text_or_one_of_its_copies_and_the_rest_is_carried_along(questions, pairs):
    index = Augmentation(HALVES, copies=3, share=0.5).examples(pairs, questions, seed=0)
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


def test_at_a_share_of_one_there_is_nothing_but_copies(questions, pairs):
    index = Augmentation(HALVES, copies=2, share=1.0).examples(pairs, questions, seed=0)
    assert min(index.anchor.min(), index.positive.min()) >= len(questions)


def test_a_negative_is_copied_as_well(news):
    triplets = ExampleIndex(anchor=np.arange(9), positive=np.arange(9, 18), negative=np.arange(18, 27))
    index = Augmentation(HALVES, copies=1, share=1.0).examples(triplets, news, seed=0)
    text = text_of(news, index)
    assert index.negative.min() >= len(news)
    assert all(is_copy(text(copy), text(own)) for copy, own in zip(index.negative, np.tile(np.arange(18, 27), 2)))


def test_a_copy_has_the_other_fields_of_its_text(news):
    own = LabelledTexts("category").index(news, Path())
    index = Augmentation(HALVES, copies=2, share=1.0).examples(own, news, seed=0)
    reader = type("Reader", (), {"fields": ["text", "publisher", "nowhere"]})()
    fields = fields_like(reader, news, index.extra_sources)
    publishers = news.fields["publisher"].to_pylist()
    assert {"publisher": [publishers[n] for n in news.members["train"]] * 2} == fields


def test_texts_beyond_the_corpus_are_copied_too_and_have_no_fields(news):
    beyond = ExampleIndex(anchor=np.array([60, 0, 61]), extra_texts=["one more text", "and another one"])
    index = Augmentation(HALVES, copies=1, share=1.0).examples(beyond, news, seed=0)
    text = text_of(news, index)
    assert list(index.extra_texts[:2]) == beyond.extra_texts
    assert all(is_copy(text(copy), text(own)) for copy, own in zip(index.anchor, [60, 0, 61] * 2))
    assert index.extra_sources.tolist() == [-1, -1, 0, -1, -1]
    reader = type("Reader", (), {"fields": ["text", "publisher"]})()
    paper = news.fields["publisher"][0].as_py()
    assert fields_like(reader, news, index.extra_sources)["publisher"] == ["", "", paper, "", ""]


@pytest.mark.parametrize("feature", [{"share": 0.5}, {"weight": 1.0}])
def test_the_seed_decides(questions, pairs, feature):
    def made(seed):
        index = Augmentation(HALVES, copies=3, **feature).examples(pairs, questions, seed=seed)
        drawn = index.anchor if index.copy is None else index.copy
        return [*index.extra_texts, *drawn.tolist()]

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_consistency_leaves_the_sides_and_gives_each_anchor_a_copy_of_its_own(questions, pairs):
    index = Augmentation(HALVES, copies=3, weight=1.0).examples(pairs, questions, seed=0)
    text = text_of(questions, index)
    assert index.anchor.tolist() == np.tile(pairs.anchor, 3).tolist()
    assert index.positive.tolist() == np.tile(pairs.positive, 3).tolist()
    assert index.copy.min() >= len(questions)
    assert all(is_copy(text(copy), text(own)) for copy, own in zip(index.copy, index.anchor))


@pytest.mark.parametrize("blocks", [False, True])
def test_an_epoch_has_each_example_once_and_other_variants_each_time(news, blocks):
    own = LabelledTexts("story", together=2 if blocks else None).index(news, Path())
    index = Augmentation(HALVES, copies=3, share=1.0).examples(own, news, seed=0)
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
    index = Augmentation(HALVES, copies=1, share=1.0).examples(pairs, questions, seed=0)
    with pytest.raises(ValueError, match="got 2 variants"):
        replace(index).in_variants(2)


def test_both_at_once_alter_the_sides_and_give_each_anchor_a_copy(questions, pairs):
    index = Augmentation(HALVES, copies=2, share=0.5, weight=1.0).examples(pairs, questions, seed=0)
    alone = Augmentation(HALVES, copies=2, share=0.5).examples(pairs, questions, seed=0)
    text = text_of(questions, index)
    assert index.anchor.tolist() == alone.anchor.tolist()
    assert index.copy.min() >= len(questions)
    assert all(is_copy(text(copy), text(own)) for copy, own in zip(index.copy, np.tile(pairs.anchor, 3)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"copies": 0, "share": 0.5}, "augmentation.copies must be at least 1; got 0"),
        ({"copies": 1, "share": 2.0}, "augmentation.share must be from 0 to 1; got 2.0"),
        ({"copies": 1, "weight": -1.0}, "consistency.weight must be at least 0; got -1.0"),
    ],
)
def test_settings_that_make_no_sense_are_errors(wrong, message):
    with pytest.raises(ValueError, match=message):
        Augmentation(HALVES, **wrong)


def test_settings_that_are_off_are_no_augmentation_and_the_objective_stays(questions):
    settings = {"share": 0.0, "copies": 3, "drop": 0.5, **SETTINGS}
    assert not alters_texts({"augmentation": settings, "consistency": {"weight": 0.0}})
    on = altered_copies(**{**settings, "share": 0.5}, weight=0.0)
    assert (on.alterations, on.copies, on.share, on.weight) == (HALVES, 3, 0.5, 0.0)
    own = object()
    assert on.objective(own, encoder=None) is own


def sides(rows=6, seed=0):
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, 4, generator=random, dtype=torch.float64).requires_grad_() for _ in range(2)]


def agreement(text, copy):
    return Agreement()(EncodedBatch(Encoding(text), copy=Encoding(copy)))["loss"]


def test_it_is_the_mean_of_one_minus_the_cosine_with_the_text_held_fixed():
    text, copy = sides()
    loss = agreement(text, copy)
    loss.backward()
    fixed, moved = text.detach(), copy.detach().clone().requires_grad_()
    expected = torch.stack([1 - (t @ c) / (t.norm() * c.norm()) for t, c in zip(fixed, moved)]).mean()
    expected.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(copy.grad, moved.grad)
    assert text.grad is None


def test_its_gradient_is_that_of_finite_differences():
    text, copy = sides()
    assert torch.autograd.gradcheck(lambda c: agreement(text.detach(), c), copy)


def test_it_is_zero_for_copies_in_the_same_direction_and_two_for_the_opposite():
    text, _ = sides()
    assert agreement(text, 3 * text).item() == pytest.approx(0, abs=1e-12)
    assert agreement(text, -text).item() == pytest.approx(2)


def test_texts_and_copies_without_a_known_word_take_no_part():
    text, copy = (side.detach() for side in sides(4))
    text[0], copy[1] = 0, 0
    copy.requires_grad_()
    loss = agreement(text, copy)
    loss.backward()
    torch.testing.assert_close(loss, agreement(text[2:], copy[2:]))
    assert torch.isfinite(copy.grad).all()
    assert not copy.grad[:2].any()


@pytest.mark.parametrize("rows", [0, 3])
def test_where_nobody_takes_part_the_loss_is_zero_and_back_propagates(rows):
    copy = torch.zeros(rows, 4, requires_grad=True)
    loss = agreement(torch.zeros(rows, 4), copy)
    loss.backward()
    assert loss.item() == 0
    assert not copy.grad.any()


def test_beside_another_objective_it_counts_by_its_weight():
    text, copy = sides()
    batch = EncodedBatch(Encoding(text), Encoding(text), label=torch.ones(6), score=torch.zeros(6), copy=Encoding(copy))
    parts = {"own": PairBce(), "consistency": Agreement()}
    losses = WeightedSum(parts=parts, weights={"own": 1, "consistency": 0.3})(batch)
    assert losses["loss"].item() == pytest.approx(losses["own"].item() + 0.3 * losses["consistency"].item(), rel=1e-6)


def test_without_copies_it_says_what_to_choose():
    with pytest.raises(ValueError, match=r"consistency\.weight"):
        Agreement()(EncodedBatch(Encoding(torch.ones(2, 3))))
