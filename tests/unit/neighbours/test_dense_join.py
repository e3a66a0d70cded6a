"""All pairs of dense vectors that reach a threshold, against the plain product; and most of them by cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_vectors import vectors_of
from twicetold.neighbours import dense_join
from twicetold.neighbours.dense_join import Rotation, dense_pairs, dense_self_pairs, most_self_pairs
from twicetold.neighbours.nearest import row_dots


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
    monkeypatch.setattr(dense_join, "PROBES", 10**6)
    assert as_dict(most_self_pairs(sides, 0.8, most=10**6)) == exact
