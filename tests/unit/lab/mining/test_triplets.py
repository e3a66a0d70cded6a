import json

import numpy as np
import pytest

from twicetold_lab.mining.triplets import Triplets


def of(anchor, positive, negative):
    return Triplets(*(np.array(c, dtype=np.int64) for c in (anchor, positive, negative)), card={"strategy": "random"})


def test_triplets_come_back_as_they_were_saved(tmp_path):
    of([0, 1], [1, 0], [2, 3]).save(tmp_path / "random.parquet")
    back = Triplets.load(tmp_path / "random.parquet")
    assert len(back) == 2
    np.testing.assert_array_equal(back.anchor, [0, 1])
    np.testing.assert_array_equal(back.positive, [1, 0])
    np.testing.assert_array_equal(back.negative, [2, 3])
    assert back.negative.dtype == np.int64
    assert back.card == {"strategy": "random"}


def test_the_card_is_readable_beside_the_triplets_and_nothing_else_is_left(tmp_path):
    of([0], [1], [2]).save(tmp_path / "bm25.parquet")
    assert json.loads((tmp_path / "bm25.card.json").read_text()) == {"strategy": "random"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bm25.card.json", "bm25.parquet"]


@pytest.mark.parametrize("columns", [([3], [3], [4]), ([3], [4], [3]), ([4], [3], [3])])
def test_a_triplet_that_names_a_text_twice_is_refused(columns):
    with pytest.raises(ValueError, match="row 0 is"):
        of(*columns)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="same length"):
        of([0, 1], [1], [2])
