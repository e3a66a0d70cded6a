"""Cells: how vectors are divided, and what is found in them, against a full sort and in any division of the work."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_vectors import vectors_of
from twicetold.neighbours import cells
from twicetold.neighbours.cells import Cells, centres_of
from twicetold.neighbours.exact_search import LOWEST, Hits
from twicetold.neighbours.nearest import Index, NearestTexts


def test_each_vector_is_in_one_cell_and_is_compared_with_its_own_and_the_next_ones():
    vectors = vectors_of(2, 400)
    centres = centres_of(vectors, cells.cells_for(len(vectors)))
    asked = cells.nearest_centres(vectors, centres, 3)
    visitors = np.repeat(np.arange(400), 3)
    blocks = Cells.of(np.arange(len(centres)), asked[:, 0], visitors, asked.ravel()).blocks()
    assert sorted(np.concatenate([members for _, members in blocks]).tolist()) == list(range(400))
    nearest = np.argsort(-(vectors @ centres.T), axis=1, kind="stable")[:, :3]
    for cell, (visitors, members) in enumerate(blocks):
        assert visitors.tolist() == np.flatnonzero((nearest == cell).any(axis=1)).tolist()
        assert set(members) <= set(visitors)


def test_a_cell_with_several_times_the_mean_is_divided():
    rng = np.random.default_rng(0)
    crowd = np.eye(8)[[0] * 2000] + 0.05 * rng.normal(size=(2000, 8))
    vectors = np.concatenate([crowd, rng.normal(size=(2000, 8))]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    centres = centres_of(vectors, cells.cells_for(len(vectors)))
    size = np.bincount(cells.nearest_centres(vectors, centres, 1)[:, 0], minlength=len(centres))
    assert size.max() <= 2 * cells.LARGEST * len(vectors) / len(size)


def test_a_part_of_the_vectors_has_the_cells_that_it_has_in_the_whole(monkeypatch):
    monkeypatch.setattr(cells, "PART", 64)
    vectors = vectors_of(16, 500)
    centres = centres_of(vectors[cells.sampled(500)], cells.cells_for(500))
    whole = cells.nearest_centres(vectors, centres, 5)
    parts = [cells.nearest_centres(vectors[start : start + 128], centres, 5) for start in range(0, 500, 128)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def found_in(vectors, asked, k, ranges):
    """The nearest of each vector in the cells that it visits, by tasks that have a range of the cells each."""
    least, found = np.full(len(vectors), LOWEST), []
    for first, stop in ranges:
        for some in (asked[:, :1], asked[:, 1:]):
            visitor, place = np.nonzero((some >= first) & (some < stop))
            task = Cells.of(np.arange(first, stop), asked[:, 0], visitor, some[visitor, place])
            found += task.hits(vectors, vectors, k, least)
    return NearestTexts.of(Hits.joined(found).nearest(k), (len(vectors), k))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(2, 300),
    distinct=st.sampled_from([1, 5, 200]),
    k=st.integers(1, 12),
    tile=st.sampled_from([100, cells.TILE]),
    most=st.sampled_from([7, cells.MOST]),
    data=st.data(),
)
def test_tasks_with_some_of_the_cells_find_what_a_search_finds_to_the_last_bit(
    seed, count, distinct, k, tile, most, data
):
    rng = np.random.default_rng(seed)
    vectors = vectors_of(seed, distinct)[rng.integers(0, distinct, count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "TILE", tile)
        patch.setattr(cells, "MOST", most)
        index = Index(vectors, approximate=True, probes=4)
        whole = index.search(vectors, k=k)
        centres = centres_of(vectors[cells.sampled(count)], cells.cells_for(count))
        asked = cells.nearest_centres(vectors, centres, 4)
        inner = data.draw(st.sets(st.integers(0, len(centres)), max_size=4))
        parts = found_in(vectors, asked, k, pairwise(sorted({0, len(centres), *inner})))
    assert whole.index.tolist() == parts.index.tolist()
    assert whole.similarity.tobytes() == parts.similarity.tobytes()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 200), k=st.integers(1, 12), kinds=st.sampled_from([1, 2, 9]))
def test_the_nearest_in_the_visited_cells_are_those_of_a_full_stable_sort(seed, count, k, kinds):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (kinds, 4))[rng.integers(0, kinds, count)].astype(np.float32)  # exact products
    centres = centres_of(vectors[cells.sampled(count)], cells.cells_for(count))
    own, visited = cells.in_cells(vectors, vectors, centres, 2)
    scores = vectors @ vectors.T
    scores[~(visited[:, :, None] == own).any(axis=1)] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    similarity = np.take_along_axis(scores, order, axis=1)
    found = Index(vectors, approximate=True, probes=2).search(vectors, k=k)
    width = order.shape[1]
    assert found.index[:, :width].tolist() == np.where(np.isneginf(similarity), -1, order).tolist()
    assert found.similarity[:, :width].tolist() == np.where(np.isneginf(similarity), 0, similarity).tolist()


def test_of_many_equal_vectors_each_is_compared_with_as_many_as_a_part_has(monkeypatch):
    monkeypatch.setattr(cells, "MOST", 50)
    shapes, products = [], cells.tile_products
    monkeypatch.setattr(cells, "tile_products", lambda a, b: shapes.append((len(a), len(b))) or products(a, b))
    vectors = np.ones((1000, 3), np.float32)
    found = Index(vectors, approximate=True).search(vectors, k=5).index
    assert sum(high * wide for high, wide in shapes) == 1000 * 50
    assert found.tolist() == [[50 * (text // 50) + place for place in range(5)] for text in range(1000)]


def test_a_similarity_that_is_not_a_number_is_refused():
    vectors = vectors_of(0, 40)
    index = Index(vectors, approximate=True)
    with pytest.raises(ValueError, match="not a number"):
        index.search(np.full_like(vectors, np.nan), k=3)
