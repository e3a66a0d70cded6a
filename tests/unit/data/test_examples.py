import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.data.examples import EpochBatches, ExampleIndex, LabelledTexts, MinedTriplets, train_loader
from twicetold.features.bag_of_words import BagOfWords


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 4), st.integers(1, 7))
def test_every_example_comes_once_an_epoch_and_blocks_stay_together(codes, size, batch):
    from twicetold.data.examples import _blocks

    codes = np.array(codes)
    block = _blocks(codes, size)
    index = ExampleIndex(anchor=np.arange(len(codes)), label=codes, block=block)
    order = np.concatenate(list(EpochBatches(index, batch_size=batch, seed=0)))
    assert sorted(order) == list(range(len(codes)))
    assert np.bincount(block).max() <= size
    assert all(len(set(codes[block == b])) == 1 for b in set(block))
    assert len(np.flatnonzero(np.diff(block[order]))) == len(set(block)) - 1


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
    with pytest.raises(ValueError, match=r"no group 'colour', only \['category', 'story'\]"):
        LabelledTexts("colour").index(news, tmp_path)


def test_triplets_that_were_not_mined_are_named(news, tmp_path):
    with pytest.raises(FileNotFoundError, match="dvc repro mine@news"):
        MinedTriplets("bm25").index(news, tmp_path)


def test_a_batch_holds_the_rows_and_labels_of_its_examples(news, tmp_path):
    rows = BagOfWords().fit(news.texts_of("train")).transform(news.texts.to_pylist())
    index = LabelledTexts("category").index(news, tmp_path)
    batches = EpochBatches(index, batch_size=10, seed=1)
    expected = next(iter(batches))
    batch = next(iter(train_loader(index, rows, batches, workers=0)))
    assert batch.label.tolist() == index.label[expected].tolist()
    assert batch.anchor.indices.tolist() == rows.gather(index.anchor[expected]).indices.tolist()
