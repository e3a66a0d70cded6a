import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twicetold_lab.data.clusters import duplicate_clusters
from twicetold_lab.data.corpus import UNKNOWN
from twicetold_lab.examples.labelled import implied_pairs

TEXTS = 12
labels = st.lists(
    st.tuples(st.integers(0, TEXTS - 1), st.integers(0, TEXTS - 1), st.booleans()), min_size=1, max_size=20
)


def drawn(pairs, *, copies=20, code=None):
    left, right, same = (np.array(side) for side in zip(*pairs, strict=True))
    cluster = duplicate_clusters(TEXTS, left=left[same], right=right[same], members=np.unique([left, right]))
    found = implied_pairs(
        (left, right, same), copies=copies, cluster=cluster, code=np.arange(TEXTS) if code is None else code
    )
    return {(int(a), int(b), bool(y)) for a, b, y in zip(*found, strict=True)}, found, cluster


def unordered(pairs):
    return {(min(a, b), max(a, b), y) for a, b, y in pairs}


def test_duplicates_of_duplicates_and_their_non_duplicates_are_found():
    found, _, _ = drawn([(0, 1, True), (1, 2, True), (1, 5, False)])
    assert unordered(found) == {(0, 2, True), (0, 5, False), (2, 5, False)}


@given(labels)
def test_every_implied_pair_is_between_the_clusters_of_a_labelled_one(pairs):
    found, (left, right, same), cluster = drawn(pairs)
    sides = {(frozenset((cluster[a], cluster[b])), y) for a, b, y in pairs}
    assert all((frozenset((cluster[a], cluster[b])), y) in sides for a, b, y in found)
    assert ((cluster[left] == cluster[right]) == same).all()


@given(labels)
def test_no_pair_is_labelled_already_or_drawn_twice_or_of_one_text(pairs):
    found, (left, _, _), _ = drawn(pairs)
    assert len(unordered(found)) == len(left)
    assert not {(a, b) for a, b, _ in unordered(found)} & {(a, b) for a, b, _ in unordered(pairs)}
    assert all(a != b for a, b, _ in found)


def test_equal_texts_are_no_pair():
    found, _, _ = drawn([(0, 1, True), (1, 2, True)], code=np.array([0, 1, 0, *range(3, TEXTS)]))
    assert not found


def test_texts_of_unknown_cluster_stand_for_themselves():
    left, right, same = np.array([0, 2]), np.array([1, 3]), np.array([True, False])
    cluster = np.full(TEXTS, UNKNOWN)
    found = implied_pairs((left, right, same), copies=5, cluster=cluster, code=np.arange(TEXTS))
    assert all(len(side) == 0 for side in found)


def test_the_draw_is_the_same_every_time():
    pairs = [(a, a + 1, True) for a in range(6)]
    assert drawn(pairs, copies=1)[0] == drawn(pairs, copies=1)[0]
