"""Numbers of groups and what a person decides, against dictionaries and loops."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from twicetold.evaluation.group_metrics import group_scores
from twicetold.index.groups import MERGES, TextLinks, followed, renewed, settle, united
from twicetold.index.memberships import NO_GROUP, NO_TIE, GroupChanges, Memberships
from twicetold.neighbours.grouping import numbered

SIZES = st.integers(1, 25)


def drawn(seed, count):
    """Groups by a rule, former groups of most texts, and links within the former, from few numbers."""
    rng = np.random.default_rng(seed)
    former = rng.integers(0, 5, count)
    former[rng.random(count) < 0.3] = NO_GROUP
    former = np.sort(former)[::-1].copy()  # new texts come last
    codes = numbered(rng.integers(0, 6, count))
    left, right = np.sort(rng.integers(0, count, (2, 40)), axis=0)
    apart = left < right
    return codes, former, TextLinks(left[apart], right[apart], rng.random(40)[apart])


@given(seed=st.integers(0, 10**6), count=SIZES)
def test_a_new_group_has_the_number_of_the_former_one_that_most_of_its_texts_come_from(seed, count):
    codes, former, _ = drawn(seed, count)
    now = renewed(codes, former, next_group=5)
    assert group_scores(now, codes).ari == 1.0
    for group in set(now.tolist()):
        texts = np.flatnonzero(now == group)
        known = Counter(former[texts][former[texts] != NO_GROUP].tolist())
        if group >= 5:  # what it would be called is the name of another one, which has as many texts from there
            taken = max(sorted(known), key=known.get) if known else None
            assert taken is None or (former[now == taken] == taken).sum() >= known[taken]
        else:
            assert known[group] == max(known.values())
            assert group == min(name for name in known if known[name] == known[group])
    new = [group for group in dict.fromkeys(now.tolist()) if group >= 5]
    assert new == list(range(5, 5 + len(new))), "new numbers follow each other, by first texts"


@given(seed=st.integers(0, 10**6), count=SIZES)
def test_groups_that_did_not_change_keep_their_numbers(seed, count):
    _, former, _ = drawn(seed, count)
    former = np.abs(former)
    assert renewed(np.unique(former, return_inverse=True)[1], former, next_group=5).tolist() == former.tolist()


@given(seed=st.integers(0, 10**6), count=SIZES)
def test_texts_of_one_tie_are_in_one_group(seed, count):
    codes, tie, _ = drawn(seed, count)
    found = united(codes, tie)
    for name in set(tie.tolist()) - {NO_TIE}:
        assert len(set(found[tie == name].tolist())) == 1
    for group in range(codes.max() + 1):
        assert len(set(found[codes == group].tolist())) == 1
    if (tie == NO_TIE).all():
        assert found.tolist() == codes.tolist()


@given(seed=st.integers(0, 10**6), count=SIZES)
def test_a_text_follows_the_earlier_one_that_is_most_alike(seed, count):
    _, _, links = drawn(seed, count)
    expected = []
    for text in range(count):
        own = [(-score, left) for left, right, score in zip(links.left, links.right, links.score) if right == text]
        expected.append(expected[min(own)[1]] if own else text)
    assert followed(count, links).tolist() == expected


@given(seed=st.integers(0, 10**6), count=SIZES, merges=st.sampled_from(MERGES), ignored=st.sets(st.integers(0, 9)))
def test_groups_that_stay_apart_are_never_one_and_proposals_move_no_text(seed, count, merges, ignored):
    codes, former, links = drawn(seed, count)
    pairs = [(low, high) for low in range(5) for high in range(low + 1, 5)]
    apart = [pairs[number] for number in sorted(ignored)]
    members = Memberships.of(former)
    found = settle(codes, members, links, merges=merges, ignored=apart, next_group=5)
    now = found.members.group
    assert now.min() >= 0
    there = former != NO_GROUP
    for low, high in apart:
        one, other = (set(now[former == group].tolist()) for group in (low, high))
        assert not one & other
    if merges == "propose":
        assert now[there].tolist() == former[there].tolist()
    elif not apart:
        assert group_scores(now, codes).ari == 1.0
        assert not len(found.proposed.left)
    ends = [sorted(pair) for pair in zip(now[found.proposed.left].tolist(), now[found.proposed.right].tolist())]
    assert all(low < high for low, high in ends)
    assert sorted(ends) == ends
    assert len({tuple(pair) for pair in ends}) == len(ends)
    assert (codes[found.proposed.left] == codes[found.proposed.right]).all()


@given(groups=st.lists(st.integers(0, 3), min_size=1, max_size=12), pair=st.permutations(range(4)))
def test_to_undo_a_merge_restores_what_was_there(groups, pair):
    low, high = sorted(pair[:2])
    assume({low, high} <= set(groups))
    members = Memberships.of(np.array(groups))
    for merged in (
        members.merged(low, high),
        members.regrouped(np.where(members.group == high, low, members.group)),
    ):
        assert high not in merged.group
        back, into = merged.unmerged(high)
        assert into == low
        assert back.group.tolist() == groups
        assert (back.tie == NO_TIE).all()


def test_a_group_that_was_not_merged_cannot_be_taken_out():
    with pytest.raises(ValueError, match="group 1 was not merged into another one: there is nothing to undo"):
        Memberships.of(np.array([0, 1])).unmerged(1)


def test_to_undo_one_of_two_merges_leaves_the_other():
    members = Memberships.of(np.array([0, 1, 2])).merged(0, 1).merged(0, 2)
    back, _ = members.unmerged(2)
    assert back.group.tolist() == [0, 0, 2]
    assert back.tie.tolist() == [0, 0, NO_TIE], "what a person has put together still is"


@given(seed=st.integers(0, 10**6), count=SIZES)
def test_changes_name_each_group_of_which_a_text_moved(seed, count):
    before, after = np.random.default_rng(seed).integers(0, 4, (2, count))
    changes = GroupChanges.between(before, after)
    places = {group: sorted(set(after[before == group].tolist())) for group in set(before.tolist())}
    moved = {group: into for group, into in places.items() if into != [group]}
    assert dict(changes.merged) == {group: into[0] for group, into in moved.items() if len(into) == 1}
    assert dict(changes.split) == {group: tuple(into) for group, into in moved.items() if len(into) > 1}
    assert changes.moved == (before != after).sum()
