"""Numbers of groups, against dictionaries and loops."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twicetold.evaluation.group_metrics import group_scores
from twicetold.index.groups import NO_GROUP, GroupChanges, renewed
from twicetold.neighbours.components import numbered

SIZES = st.integers(1, 25)


def drawn(seed, count):
    """Groups by a rule and former groups of most texts, from few numbers."""
    rng = np.random.default_rng(seed)
    former = rng.integers(0, 5, count)
    former[rng.random(count) < 0.3] = NO_GROUP
    former = np.sort(former)[::-1].copy()  # new texts come last
    return numbered(rng.integers(0, 6, count)), former


@given(seed=st.integers(0, 10**6), count=SIZES)
def test_a_new_group_has_the_number_of_the_former_one_that_most_of_its_texts_come_from(seed, count):
    codes, former = drawn(seed, count)
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
    _, former = drawn(seed, count)
    former = np.abs(former)
    assert renewed(np.unique(former, return_inverse=True)[1], former, next_group=5).tolist() == former.tolist()


@given(seed=st.integers(0, 10**6), count=SIZES)
def test_changes_name_each_group_of_which_a_text_moved(seed, count):
    before, after = np.random.default_rng(seed).integers(0, 4, (2, count))
    changes = GroupChanges.between(before, after)
    places = {group: sorted(set(after[before == group].tolist())) for group in set(before.tolist())}
    moved = {group: into for group, into in places.items() if into != [group]}
    assert dict(changes.merged) == {group: into[0] for group, into in moved.items() if len(into) == 1}
    assert dict(changes.split) == {group: tuple(into) for group, into in moved.items() if len(into) > 1}
    assert changes.moved == (before != after).sum()
