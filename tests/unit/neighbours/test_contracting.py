"""Texts of dense places are joined before all pairs are compared: by real links, to the groups of all links."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.neighbours import contracting
from twicetold.neighbours.contracting import contracted
from twicetold.neighbours.grouping import Links, merge
from twicetold.neighbours.nearest import row_dots

THRESHOLD = 0.8


def vectors_of(seed=0, kind="dense", places=3, each=150, others=40):
    """Unit vectors around a few centres, and others on their own, in a random order; and the place of each."""
    rng = np.random.default_rng(seed)
    centres = np.eye(places, 60) * 4
    near = np.repeat(centres, each, axis=0) + rng.normal(size=(places * each, 60)) * 0.15
    found = np.concatenate([near, rng.normal(size=(others, 60))])
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    place = np.concatenate([np.repeat(np.arange(places), each), places + np.arange(others)])
    order = rng.permutation(len(found))
    rows = found[order].astype(np.float32)
    return (rows if kind == "dense" else sparse.csr_matrix(rows)), place[order]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_each_joined_text_has_a_link_and_the_others_are_left_to_be_compared(kind):
    rows, place = vectors_of(kind=kind)
    found = contracted(rows, THRESHOLD, most=500)
    left, right, dots = found.links
    assert (dots >= THRESHOLD).all()
    np.testing.assert_array_equal(dots, row_dots(rows, left, rows, right))
    joined = np.setdiff1d(np.arange(len(place)), found.rest)
    assert set(joined) <= set(left)
    assert (place[left] == place[right]).all()
    assert (place[found.start.left] == place[found.start.right]).all()
    assert set(np.flatnonzero(place >= 3)) <= set(found.rest)
    assert len(joined) > 100


def test_few_links_are_none():
    rows, _ = vectors_of()
    assert contracted(rows, THRESHOLD, most=50_000) is None
    assert contracted(rows, -0.5, most=1) is None


def test_the_order_of_the_texts_does_not_matter(monkeypatch):
    monkeypatch.setattr(contracting, "HELD", 1)
    monkeypatch.setattr(contracting, "FEWEST", 20)
    rows, _ = vectors_of()
    order = np.random.default_rng(1).permutation(len(rows))
    one, other = (contracted(each, THRESHOLD, most=500) for each in (rows, rows[order]))
    assert sorted(order[other.rest]) == sorted(one.rest)
    pairs = [set(zip(*found.links[:2])) for found in (one, other)]
    assert pairs[0] == {(order[left], order[right]) for left, right in pairs[1]}


def test_texts_that_may_not_be_linked_are_not_joined():
    rows, _ = vectors_of()
    half = np.arange(len(rows)) % 2
    found = contracted(rows, THRESHOLD, most=500, allowed=lambda left, right: half[left] == half[right])
    left, right, _ = found.links
    assert (half[left] == half[right]).all()
    assert (half[found.start.left] == half[found.start.right]).all()
    assert len(found.rest) < len(rows)


def test_where_only_cliques_are_groups_texts_are_linked_with_each_other_and_not_merged(monkeypatch):
    monkeypatch.setattr(contracting, "CLIQUE", 10)
    rows, place = vectors_of()
    found = contracted(rows, THRESHOLD, most=500, cliques=True)
    left, right, _ = found.links
    assert not len(found.start.left)
    assert (place[left] == place[right]).all()
    groups = merge(Links.of(len(rows), *found.links), rule="complete", threshold=THRESHOLD).cut(THRESHOLD)
    assert np.bincount(groups).max() == 10


def test_merges_to_begin_with_are_cut_as_others_are():
    rows, _ = vectors_of(places=1, each=60, others=0)
    found = contracted(rows, 0.5, most=10)
    links = Links.of(len(rows), *found.links)
    merges = merge(links, rule="average", threshold=0.5, vectors=(rows, rows), start=found.start)
    sizes = [np.bincount(merges.cut(threshold)).max() for threshold in (0.5, 0.93, 0.999)]
    assert sizes[0] == 60
    assert sizes[0] > sizes[1] > sizes[2] == 1
