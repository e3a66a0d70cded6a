"""All pairs of dense vectors that reach a threshold, against the plain product; and most of them by cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twicetold.neighbours import cells, dense_join
from twicetold.neighbours.cells import Cells, centres_of, most_self_pairs
from twicetold.neighbours.dense_join import Rotation, dense_pairs, dense_self_pairs
from twicetold.neighbours.nearest import row_dots


def vectors_of(seed, count, *, unit=True, dimensions=40):
    """Around common centres, most of their length in few directions, some of them equal."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(max(1, count // 4), dimensions))[rng.integers(0, max(1, count // 4), count)]
    found = (found + 0.4 * rng.normal(size=found.shape)) * np.geomspace(1, 0.1, dimensions)
    found[rng.integers(0, count, count // 10)] = found[0]
    if unit:
        found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float32)


def every(queries, documents, threshold):
    """All pairs, each dot product by itself."""
    left, right = (side.ravel() for side in np.indices((len(queries), len(documents))))
    dots = row_dots(queries, left, documents, right)
    return {(int(i), int(j)): float(dot) for i, j, dot in zip(left, right, dots) if dot >= threshold}


def as_dict(found):
    pairs = dict(zip(zip(found[0].tolist(), found[1].tolist()), found[2].tolist()))
    assert len(pairs) == len(found[0])
    return pairs


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 80),
    threshold=st.floats(-0.5, 0.99),
    unit=st.booleans(),
    head=st.sampled_from([1, 4, 39, 40]),
    tile=st.sampled_from([(3, 7), (16, 16), (512, 1024)]),
    cut=st.integers(0, 50),
)
def test_pairs_and_their_last_bits_are_those_of_the_plain_product(seed, count, threshold, unit, head, tile, cut):
    vectors, others = vectors_of(seed, count, unit=unit), vectors_of(seed, 30, unit=unit)
    exact, found = every(vectors, others, threshold), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense_join, "TILE", tile)
        patch.setattr(dense_join, "HEADS", (head,))
        patch.setattr(dense_join, "CHECK", 0)  # the fewest columns
        patch.setattr(dense_join, "WORTH", 0)
        pairs = dense_self_pairs((vectors, vectors), threshold, most=10**6)
        assert as_dict(dense_pairs(vectors, others, threshold, reduce=True)) == exact
    assert as_dict(pairs) == {
        ends: dot for ends, dot in every(vectors, vectors, threshold).items() if ends[0] < ends[1]
    }
    for part in (slice(0, cut), slice(cut, None)):
        some = as_dict(dense_pairs(vectors[part], others, threshold))
        found |= {(row + part.start, column): dot for (row, column), dot in some.items()}
    assert found == exact


def test_no_axes_are_computed_for_fewer_rows_than_they_are_worth(monkeypatch):
    monkeypatch.setattr(np.linalg, "eigh", lambda _: pytest.fail("d x d axes of a few rows"))
    vectors = vectors_of(0, 40, dimensions=16_000)
    assert Rotation.of((vectors, vectors), 0.5) == Rotation(None, 16_000)
    assert as_dict(dense_self_pairs((vectors, vectors), 0.5, most=10**6))


def test_queries_may_differ_from_documents():
    vectors = vectors_of(0, 60)
    queries = np.hstack([vectors, vectors[:, :1], np.ones((60, 1), np.float32)]).astype(np.float32)
    documents = np.hstack([vectors, np.zeros((60, 1), np.float32), np.zeros((60, 1), np.float32)]).astype(np.float32)
    found = dense_self_pairs((queries, documents), 0.7, most=10**6)
    assert as_dict(found).keys() == as_dict(dense_self_pairs((vectors, vectors), 0.7, most=10**6)).keys()


def test_more_pairs_than_may_be_held_are_none():
    vectors = np.ones((300, 3), np.float32)
    assert dense_self_pairs((vectors, vectors), 0.5, most=100) is None
    assert most_self_pairs((vectors, vectors), 0.5, most=100) is None


@pytest.mark.parametrize("kind", ["the same", "of their own"])
def test_cells_find_most_pairs_with_the_same_bits_and_all_where_all_cells_are_compared(kind, monkeypatch):
    vectors = vectors_of(1, 900)
    sides = (vectors, vectors if kind == "the same" else vectors.copy())
    exact = as_dict(dense_self_pairs(sides, 0.8, most=10**6))
    found = as_dict(most_self_pairs(sides, 0.8, most=10**6))
    assert found.items() <= exact.items()
    assert len(found) > 0.95 * len(exact) > 100
    monkeypatch.setattr(cells, "PROBES", 10**6)
    assert as_dict(most_self_pairs(sides, 0.8, most=10**6)) == exact


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
