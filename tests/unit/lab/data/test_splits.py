import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold_lab.data import splits
from twicetold_lab.data.corpus import UNKNOWN
from twicetold_lab.data.splits import TEST, TRAIN, UNUSED, VAL

SIDES = (TRAIN, VAL, TEST)
FRACTIONS = (0.6, 0.2, 0.2)


def sizes(side):
    return [int((side == s).sum()) for s in SIDES]


def test_rows_are_dealt_in_the_fractions_and_the_same_way_for_the_same_seed():
    side = splits.by_rows(1000, splits=FRACTIONS, seed=3)
    assert sizes(side) == [600, 200, 200]
    assert np.array_equal(side, splits.by_rows(1000, splits=FRACTIONS, seed=3))
    assert not np.array_equal(side, splits.by_rows(1000, splits=FRACTIONS, seed=4))


@given(st.lists(st.integers(0, 3), min_size=12, max_size=80), st.integers(0, 5))
def test_every_stratum_of_three_rows_or_more_is_on_every_side(strata, seed):
    strata = np.array(strata)
    side = splits.by_rows(len(strata), splits=(0.8, 0.1, 0.1), seed=seed, strata=strata)
    for stratum in np.unique(strata):
        if (strata == stratum).sum() >= 3:
            assert min(sizes(side[strata == stratum])) >= 1


@given(st.lists(st.integers(-1, 9), min_size=10, max_size=100), st.integers(0, 5))
def test_no_group_has_rows_on_two_sides(groups, seed):
    groups = np.array(groups)
    if len(np.unique(groups[groups >= 0])) + (groups < 0).sum() < 3:
        return
    side = splits.by_group(groups, splits=FRACTIONS, seed=seed)
    assert min(sizes(side)) >= 1
    for group in np.unique(groups[groups >= 0]):
        assert len(np.unique(side[groups == group])) == 1


def test_rows_of_unknown_group_are_dealt_one_by_one():
    side = splits.by_group(np.full(100, UNKNOWN), splits=FRACTIONS, seed=0)
    assert sizes(side) == [60, 20, 20]


def test_fewer_than_three_groups_cannot_be_split():
    with pytest.raises(ValueError, match="at least 3 groups"):
        splits.by_group(np.array([0, 0, 1]), splits=FRACTIONS, seed=0)


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.5, 0.5, 0.5), (1.0, 0.0, 0.0), (1.2, -0.1, -0.1)])
def test_fractions_that_are_no_three_shares_are_refused(fractions):
    with pytest.raises(ValueError, match="three positive shares"):
        splits.by_rows(10, splits=fractions, seed=0)


def test_by_order_takes_the_earliest_rows_for_train_its_end_for_val_and_the_next_for_test():
    order = np.array([50, 10, 40, 20, 30, 60, 70])
    side = splits.by_order(order, train=4, val=0.25, test=2)
    assert side.tolist() == [TEST, TRAIN, VAL, TRAIN, TRAIN, TEST, UNUSED]


def test_by_order_takes_shares_as_well_as_numbers():
    side = splits.by_order(np.arange(100), train=0.5, val=0.1, test=0.25)
    assert sizes(side) == [45, 5, 25]


def test_by_order_says_how_many_rows_it_needs():
    with pytest.raises(ValueError, match=r"needs at least 10348 rows.*there are 100"):
        splits.by_order(np.arange(100), train=5000, val=0.1, test=5348)


def test_balanced_sets_hold_as_many_of_each_class_and_train_all_the_rest():
    label = (np.arange(1000) % 5 == 0).astype(np.float32)
    side = splits.balanced(label, val=100, test=60, seed=0)
    assert sizes(side) == [840, 100, 60]
    assert [label[side == s].sum() for s in (VAL, TEST)] == [50, 30]


@pytest.mark.parametrize(("val", "test", "message"), [(200, 200, "200 pairs of each class"), (3, 2, "even")])
def test_balanced_sets_that_cannot_be_drawn_are_refused(val, test, message):
    label = (np.arange(1000) % 5 == 0).astype(np.float32)
    with pytest.raises(ValueError, match=message):
        splits.balanced(label, val=val, test=test, seed=0)


@given(st.integers(0, 20))
def test_by_component_shares_no_text_between_sides(seed):
    random = np.random.default_rng(seed)
    left, right = random.integers(0, 600, (2, 300))
    side = splits.by_component(600, left, right, splits=(0.8, 0.1, 0.1), seed=seed)
    texts = [set(left[side == s]) | set(right[side == s]) for s in SIDES]
    assert all(texts[a].isdisjoint(texts[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    assert min(sizes(side)) >= 1


def test_by_component_sends_a_giant_component_to_train_and_keeps_the_sizes():
    giant = np.arange(500)
    loose = 1000 + 2 * np.arange(500)
    left, right = np.concatenate([giant, loose]), np.concatenate([giant + 1, loose + 1])
    for seed in range(5):
        side = splits.by_component(2001, left, right, splits=(0.8, 0.1, 0.1), seed=seed)
        assert (side[:500] == TRAIN).all()
        assert sizes(side) == [800, 100, 100]


def test_by_component_shares_what_a_giant_leaves():
    left = np.concatenate([np.zeros(900, np.int64), 2000 + 2 * np.arange(100)])
    right = np.concatenate([1 + np.arange(900), 2001 + 2 * np.arange(100)])
    side = splits.by_component(3000, left, right, splits=(0.6, 0.3, 0.1), seed=0)
    assert sizes(side) == [900, 75, 25]


def test_by_component_refuses_pairs_that_all_hang_together():
    with pytest.raises(ValueError, match="hang together"):
        splits.by_component(11, np.zeros(10, np.int64), 1 + np.arange(10), splits=(0.8, 0.1, 0.1), seed=0)


@given(st.integers(1, 300), st.integers(0, 5))
def test_thin_keeps_about_the_limit_of_every_split_and_stratum(limit, seed):
    random = np.random.default_rng(seed)
    side, strata = random.integers(-1, 3, 400).astype(np.int8), random.integers(-1, 3, 400)
    thinned = splits.thin(side, limit=limit, seed=seed, strata=strata)
    kept = thinned != UNUSED
    assert (thinned[kept] == side[kept]).all()
    assert abs(kept.sum() - min(limit, (side != UNUSED).sum())) <= 12
    assert {*zip(side[kept], strata[kept], strict=True)} == {
        *zip(side[side != UNUSED], strata[side != UNUSED], strict=True)
    }


def test_thin_keeps_rows_that_belong_together():
    groups = np.repeat(np.arange(100), 10)
    side = np.zeros(1000, np.int8)
    thinned = splits.thin(side, limit=80, seed=0, strata=np.zeros(1000, np.int64), groups=groups)
    _, counts = np.unique(groups[thinned != UNUSED], return_counts=True)
    assert counts.tolist() == [splits.HANDFUL] * 20


def test_thin_refuses_a_limit_of_nothing():
    with pytest.raises(ValueError, match="positive"):
        splits.thin(np.zeros(3, np.int8), limit=0, seed=0, strata=np.zeros(3, np.int64))
