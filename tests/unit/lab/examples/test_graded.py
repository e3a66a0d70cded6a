from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from twicetold_lab.data.corpus import Pairs
from twicetold_lab.data.sources import pair_corpus
from twicetold_lab.examples.batches import EpochBatches
from twicetold_lab.examples.graded import Clicks

QUERIES, SHOWN = 30, 4  # documents of a query, clicked 6, 2, 1 and 0 times


@pytest.fixture
def log():
    """A log of clicks; documents follow the queries."""
    query = np.repeat(np.arange(QUERIES), SHOWN)
    return pair_corpus(
        name="log",
        kind="graded_pairs",
        ids=pa.array([str(n) for n in range(QUERIES * (1 + SHOWN))]),
        texts=pa.array([f"query {n}" for n in range(QUERIES)] + [f"page {n}" for n in range(QUERIES * SHOWN)]),
        left=query,
        right=QUERIES + np.arange(QUERIES * SHOWN),
        label=np.tile([6, 2, 1, 0], QUERIES).astype(np.float32),
        side=np.repeat(np.repeat([0, 1, 2], QUERIES // 3), SHOWN).astype(np.int8),
        positive=1,
        seed=0,
        limit=None,
        card={"positive_grade": 1},
    )


def test_grades_are_shares_of_the_highest_one(log, tmp_path):
    index = Clicks("cluster", together=None).index(log, tmp_path)
    assert index.label.dtype == np.float32
    np.testing.assert_allclose(np.unique(index.label), [0, 1 / 6, 1 / 3, 1], rtol=1e-6)


def test_clicked_documents_are_of_their_querys_group_and_others_are_not(log, tmp_path):
    index = Clicks("cluster", together=None).index(log, tmp_path)
    np.testing.assert_array_equal(index.group == index.positive_group, index.label > 0)


def test_documents_of_one_query_meet_in_one_batch(log, tmp_path):
    together = Clicks("cluster", together=SHOWN).index(log, tmp_path)
    for batch in EpochBatches(together, batch_size=2 * SHOWN, seed=0):
        assert set(np.unique(together.anchor[batch], return_counts=True)[1]) == {SHOWN}
    apart = Clicks("cluster", together=None).index(log, tmp_path)
    counts = [np.unique(apart.anchor[b], return_counts=True)[1].max() for b in EpochBatches(apart, 2 * SHOWN, seed=0)]
    assert np.mean(counts) < SHOWN


@pytest.mark.parametrize(("labels", "message"), [([0, 0], "go from 0 to 0"), ([-1, 2], "go from -1 to 2")])
def test_grades_without_a_click_or_below_0_are_refused(log, labels, message, tmp_path):
    train = log.pairs["train"]
    label = np.resize(np.array(labels, np.float32), len(train))
    other = replace(log, pairs={**log.pairs, "train": Pairs(train.left, train.right, label)})
    with pytest.raises(ValueError, match=f"{message}: write the number of clicks"):
        Clicks("cluster", together=None).index(other, tmp_path)


def test_documents_are_refused(news, tmp_path):
    with pytest.raises(ValueError, match=r"choose data=pairs data\.source\.graded=true"):
        Clicks("category", together=None).index(news, tmp_path)


def test_blocks_of_one_document_are_refused():
    with pytest.raises(ValueError, match="2 documents of a query or more, or null; got 1"):
        Clicks("cluster", together=1)
