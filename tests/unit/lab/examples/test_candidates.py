import numpy as np
import pytest

from twicetold_lab.examples.batches import EpochBatches
from twicetold_lab.examples.candidates import Candidates
from twicetold_lab.mining.triplets import Triplets


@pytest.fixture
def of(questions, tmp_path):
    """The candidates by mined triplets: (anchor, positive, negative) of the corpus's train texts."""

    def index(triplets, **settings):
        anchor, positive, negative = np.array(triplets, np.int64).T
        card = {"train": questions.train_digest()}
        Triplets(anchor, positive, negative, card).save(tmp_path / "bm25.parquet")
        return Candidates(**{"strategy": "bm25", "group": "cluster", "negatives": 4, **settings}).index(
            questions, tmp_path
        )

    return index


def pairs_of(index, label):
    chosen = index.label == label
    return set(zip(index.anchor[chosen].tolist(), index.positive[chosen].tolist()))


def test_positives_and_negatives_of_an_anchor_are_pairs_of_their_own_and_each_is_there_once(of):
    index = of([(0, 1, 9), (0, 1, 12), (0, 2, 9), (1, 0, 20)])
    assert pairs_of(index, 1) == {(0, 1), (0, 2), (1, 0)}
    assert pairs_of(index, 0) == {(0, 9), (0, 12), (1, 20)}
    assert len(index) == 6
    assert index.label.dtype == np.float32


def test_texts_that_are_labelled_as_different_come_before_mined_ones(of):
    index = of([(2, 1, 9), (2, 1, 12), (3, 4, 30)], negatives=2)  # 2 and 3 are labelled as different
    assert pairs_of(index, 0) == {(2, 3), (2, 9), (3, 2), (3, 30)}
    assert pairs_of(of([(2, 1, 9)], negatives=1), 0) == {(2, 3)}


def test_an_anchor_has_no_more_negatives_than_asked_for(of):
    index = of([(0, 1, n) for n in (9, 12, 15, 18, 21)], negatives=3)
    assert pairs_of(index, 0) == {(0, 9), (0, 12), (0, 15)}


def test_candidates_of_one_anchor_are_of_its_cluster_and_stand_side_by_side(of):
    index = of([(a, a + 1, 30 + a // 3) for a in range(1, 18, 3)])
    np.testing.assert_array_equal(index.group == index.positive_group, index.label == 1)
    for batch in EpochBatches(index, batch_size=4, seed=0):
        assert sorted(np.unique(index.anchor[batch], return_counts=True)[1]) == [2, 2]


def test_documents_have_mined_negatives_alone(news, tmp_path):
    triplets = Triplets(np.array([0]), np.array([1]), np.array([9]), {"train": news.train_digest()})
    triplets.save(tmp_path / "bm25.parquet")
    index = Candidates("bm25", "story", negatives=4).index(news, tmp_path)
    assert (index.anchor.tolist(), index.positive.tolist(), index.label.tolist()) == ([0, 0], [1, 9], [1, 0])


def test_no_negatives_at_all_are_refused():
    with pytest.raises(ValueError, match="at least 1; got 0"):
        Candidates("bm25", "cluster", negatives=0)
