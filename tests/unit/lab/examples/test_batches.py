import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features.bag_of_words import BagOfWords
from twicetold_lab.examples.batches import Again, EpochBatches, ExampleIndex, train_loader
from twicetold_lab.examples.labelled import LabelledPairs, LabelledTexts, MinedTriplets


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 4), st.integers(1, 7))
def test_every_example_comes_once_an_epoch_and_blocks_stay_together(codes, size, batch):
    from twicetold_lab.examples.batches import blocks

    codes = np.array(codes)
    block = blocks(codes, size)
    index = ExampleIndex(anchor=np.arange(len(codes)), label=codes, block=block)
    order = np.concatenate(list(EpochBatches(index, batch_size=batch, seed=0)))
    assert sorted(order) == list(range(len(codes)))
    assert np.bincount(block).max() <= size
    assert all(len(set(codes[block == b])) == 1 for b in set(block))
    assert len(np.flatnonzero(np.diff(block[order]))) == len(set(block)) - 1


@given(st.lists(st.integers(-1, 30), min_size=1, max_size=200), st.integers(2, 20))
def test_members_of_a_group_are_spread_over_the_epoch(groups, size):
    groups = np.array(groups)
    index = ExampleIndex(anchor=np.arange(len(groups)), group=groups)
    batches = list(EpochBatches(index, batch_size=size, seed=0))
    assert sorted(np.concatenate(batches)) == list(range(len(groups)))
    together = sum(len(b) - len(set(groups[b])) for b in batches if (groups[b] >= 0).all())
    shuffled = np.random.default_rng(0).permutation(groups)
    by_chance = sum(len(b) - len(set(b)) for b in np.split(shuffled, range(size, len(groups), size)) if (b >= 0).all())
    assert together <= by_chance + len(batches)


def test_examples_of_like_length_meet_in_one_batch_and_batches_come_in_random_order():
    lengths = np.random.default_rng(0).integers(1, 30, 1000)
    index = ExampleIndex(anchor=np.arange(1000))
    batches = list(EpochBatches(index, batch_size=20, seed=0, lengths=lengths))
    assert sorted(np.concatenate(batches)) == list(range(1000))
    assert np.mean([np.ptp(lengths[b]) for b in batches]) < 2
    means = [lengths[b].mean() for b in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5


@pytest.mark.parametrize("duplicates_only", [False, True])
def test_labelled_pairs_are_the_train_pairs_with_their_clusters(questions, tmp_path, duplicates_only):
    index = LabelledPairs("random", "cluster", duplicates_only).index(questions, tmp_path)
    pairs = questions.pairs["train"]
    kept = (pairs.label == 1) | (not duplicates_only)
    assert index.anchor.tolist() == pairs.left[kept].tolist()
    assert index.label.tolist() == pairs.label[kept].tolist()
    assert index.positive_group.tolist() == questions.groups["cluster"][pairs.right[kept]].tolist()


def test_the_order_depends_on_seed_and_epoch_alone():
    index = ExampleIndex(anchor=np.arange(100))

    def order(seed, epoch):
        batches = EpochBatches(index, batch_size=7, seed=seed)
        batches.set_epoch(epoch)
        return np.concatenate(list(batches)).tolist()

    assert order(0, 3) == order(0, 3)
    assert order(0, 3) != order(0, 4)
    assert order(0, 3) != order(1, 3)


def test_only_train_texts_with_a_known_label_become_examples(questions, tmp_path):
    index = LabelledTexts("cluster").index(questions, tmp_path)
    assert index.anchor.tolist() == questions.members["train"].tolist()
    assert index.label.tolist() == questions.groups["cluster"][:36].tolist()


def test_a_label_that_is_not_there_is_named(news, tmp_path):
    with pytest.raises(ValueError, match=r"no group 'colour'; it has \['category', 'story'\]"):
        LabelledTexts("colour").index(news, tmp_path)


def test_triplets_that_were_not_mined_are_named(news, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"bm25\.parquet, got nothing .* `dvc repro mine@news`"):
        MinedTriplets("bm25", "story").index(news, tmp_path)
    (tmp_path / "bm25.parquet").touch()
    with pytest.raises(FileNotFoundError, match=r"bm25\.card\.json, got bm25 "):
        MinedTriplets("bm25", "story").index(news, tmp_path)


def test_pairs_labelled_as_different_join_the_mined_triplets_with_the_anchor_as_its_own_positive(questions, tmp_path):
    from twicetold_lab.mining import random

    random.mine(questions, seed=0, label="cluster", per_anchor=1).save(tmp_path / "random.parquet")
    mined = MinedTriplets("random", "cluster").index(questions, tmp_path)
    index = MinedTriplets("random", "cluster", labelled=2).index(questions, tmp_path)
    pairs = questions.pairs["train"]
    apart = np.stack([pairs.left, pairs.right], axis=1)[pairs.label == 0]
    added = np.stack([index.anchor, index.positive, index.negative], axis=1)[len(mined) :]
    expected = [(a, a, b) for one, other in apart for a, b in ((one, other), (other, one))]
    assert sorted(map(tuple, added.tolist())) == sorted(2 * expected)
    assert np.array_equal(index.group, questions.groups["cluster"][index.anchor])


def test_a_batch_holds_the_rows_and_labels_of_its_examples(news, tmp_path):
    rows = BagOfWords().fit(news.texts_of("train")).transform(news.texts.to_pylist())
    index = LabelledTexts("category").index(news, tmp_path)
    batches = EpochBatches(index, batch_size=10, seed=1)
    expected = next(iter(batches))
    batch = next(iter(train_loader(index, rows, batches, workers=0)))
    assert batch.label.tolist() == index.label[expected].tolist()
    assert batch.anchor.indices.tolist() == rows.gather(index.anchor[expected]).indices.tolist()


def test_a_single_example_left_joins_the_batch_before():
    index = ExampleIndex(anchor=np.arange(9))
    for size, sizes in {4: [4, 5], 3: [3, 3, 3], 8: [9], 9: [9], 10: [9], 1: [1] * 9}.items():
        batches = EpochBatches(index, batch_size=size, seed=0)
        assert [len(batch) for batch in batches] == sizes
        assert len(batches) == len(sizes)
        np.testing.assert_array_equal(np.sort(np.concatenate(list(batches))), np.arange(9))


def test_batches_come_again_where_steps_are_more():
    batches = EpochBatches(ExampleIndex(anchor=np.arange(9)), batch_size=3, seed=0)
    again = Again(batches, 7)
    assert len(again) == len(list(again)) == 7
    np.testing.assert_array_equal(np.concatenate(list(again))[:18], np.tile(np.concatenate(list(batches)), 2))
    assert len(list(Again(batches, 2))) == 3
    again.sampler.set_epoch(1)
    assert not np.array_equal(
        np.concatenate(list(again))[:9], np.concatenate(list(EpochBatches(batches.examples, 3, 0)))
    )
