"""Cells over common centres, and vectors in 8 bits, against the exact search."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twicetold.index import cells, probing
from twicetold.index.cells import in_8_bits
from twicetold.index.centres import EXACT, Centres, TextSample, whole_numbers
from twicetold.index.probing import above, nearest
from twicetold.index.recall import PROBES, measured
from twicetold.index.segments import Segment
from twicetold.index.texts import SCHEMA
from twicetold.neighbours.cells import centres_of


def clustered(seed, count, dimensions=16, centres=40):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(centres, dimensions))[rng.integers(0, centres, count)]
    vectors += 0.3 * rng.normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def table_of(numbers):
    names = [str(number) for number in numbers]
    return pa.table([pa.array(names), pa.array(names), pa.array(numbers)], schema=SCHEMA)


def parts_of(vectors, centres, bounds):
    """Parts of consecutive rows."""
    ends = [0, *bounds, len(vectors)]
    return [
        Segment.of(vectors[start:end], table_of(np.arange(start, end)), centres=centres)
        for start, end in pairwise(ends)
    ]


def found_in(parts, centres, queries, k, **options):
    """(query, number of the text, similarity) of all hits, nearest first."""
    hits = nearest(parts, centres, queries, k, **options).nearest(k)
    groups = np.concatenate([part.members.group for part in parts])
    return list(zip(hits.query.tolist(), groups[hits.row].tolist(), hits.similarity.tolist()))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), dimensions=st.sampled_from([1, 3, 64, 300]), scale=st.sampled_from([1e-6, 1, 1e4]))
def test_sums_of_whole_numbers_are_exact_and_near_the_dot_products(seed, dimensions, scale):
    rng = np.random.default_rng(seed)
    vectors = (scale * rng.normal(size=(20, dimensions))).astype(np.float32)
    vectors[3] = 0
    vectors[4] = scale  # the longest whole numbers
    queries = vectors[2:9] * np.float32(3)
    codes, scales = in_8_bits(vectors)
    whole = whole_numbers(queries)
    centres = Centres(vectors)
    np.testing.assert_array_equal(whole @ centres._whole.T, whole.astype(np.int64) @ centres._whole.T.astype(np.int64))
    np.testing.assert_array_equal(whole @ codes.astype(np.float32).T, whole.astype(np.int64) @ codes.astype(np.int64).T)
    assert np.abs(codes * scales[:, None] - vectors).max() <= 0.51 * scales.max()
    assert np.linalg.norm(whole, axis=1).max() * np.linalg.norm(codes.astype(float), axis=1).max() <= EXACT
    long = np.linalg.norm(whole, axis=1, keepdims=True)
    there = long[:, 0] > 0
    units = (queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-30))[there]
    np.testing.assert_allclose((whole / np.maximum(long, 1))[there], units, atol=1e-3)


def test_cells_find_most_of_what_the_exact_search_finds_with_its_similarities():
    vectors, queries = clustered(0, 4000), clustered(0, 4000)[:100]
    centres = Centres(centres_of(vectors, 63))
    parts = [part.without(np.arange(50)) for part in parts_of(vectors, centres, [1500])]
    for part in parts:
        np.testing.assert_array_equal(part.vectors, vectors[part.members.group])  # texts are sorted as vectors are
    found, exact = (found_in(parts, centres, queries, 10, exact=how) for how in (False, True))
    gone = {int(number) for part in parts for number in part.members.group[:50]}
    assert not gone & {row for _, row, _ in found}
    similarity = {(query, row): value for query, row, value in exact}
    both = [(value, similarity[query, row]) for query, row, value in found if (query, row) in similarity]
    assert len(both) / len(exact) > 0.9
    np.testing.assert_allclose(*zip(*both), atol=1e-6)


def test_as_many_cells_as_are_visited_find_all_that_the_exact_search_finds():
    vectors, queries = clustered(1, 200), clustered(2, 30)
    centres = Centres(centres_of(vectors, 14))
    parts = parts_of(vectors, centres, [])
    found, exact = (found_in(parts, centres, queries, 7, exact=how) for how in (False, True))
    assert [hit[:2] for hit in found] == [hit[:2] for hit in exact]


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    bounds=st.lists(st.integers(1, 899), max_size=5, unique=True),
    k=st.integers(1, 30),
    nprobe=st.integers(1, 8),
    rows=st.sampled_from([7, 1 << 14]),
)
def test_the_same_is_found_to_the_last_bit_however_texts_are_divided_into_parts(seed, bounds, k, nprobe, rows):
    vectors = clustered(seed, 900)
    vectors[100:120] = vectors[700:720]  # ties
    centres = Centres(centres_of(vectors, 30))
    queries = np.concatenate([clustered(seed, 40), clustered(seed + 1, 40)])
    whole = found_in(parts_of(vectors, centres, []), centres, queries, k, nprobe=nprobe)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "ROWS", rows)
        patch.setattr(probing, "BLOCK", 500)
        assert found_in(parts_of(vectors, centres, sorted(bounds)), centres, queries, k, nprobe=nprobe) == whole
    merged = Segment.merged(parts_of(vectors, centres, sorted(bounds)), centres)
    assert found_in([merged], centres, queries, k, nprobe=nprobe) == whole


def test_texts_from_a_dot_product_on_are_those_of_the_visited_cells():
    vectors, queries = clustered(1, 900), clustered(2, 50)
    centres = Centres(centres_of(vectors, 30))
    whole, parts = parts_of(vectors, centres, []), parts_of(vectors, centres, [200, 500])
    found = {}
    for name, some in (("whole", whole), ("parts", parts)):
        hits = above(some, centres, queries, 0.8, most=9, nprobe=3)
        numbers = np.concatenate([part.members.group for part in some])[hits.row]
        found[name] = set(zip(hits.query.tolist(), numbers.tolist()))
    assert found["whole"] == found["parts"]
    every = above(whole, centres, queries, 0.8, most=9, nprobe=99)
    expected = set(zip(*(side.tolist() for side in np.nonzero(queries @ whole[0].vectors.T >= 0.8))))
    assert set(zip(every.query.tolist(), every.row.tolist())) == expected
    assert len(found["whole"]) <= len(expected)


def test_similarities_that_are_no_numbers_are_refused_by_a_search_in_cells():
    vectors = clustered(0, 300)
    centres = Centres(centres_of(vectors, 10))
    (part,) = parts_of(vectors, centres, [])
    part.cells.scales[:] = np.nan
    with pytest.raises(ValueError, match="not a number"):
        nearest([part], centres, vectors[:3], 5)


def test_the_recall_of_a_search_in_cells_is_that_of_texts_of_the_index():
    vectors = np.random.default_rng(3).normal(size=(3000, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    centres = Centres(centres_of(vectors, 55))
    parts = parts_of(vectors, centres, [1000])
    known = measured(parts, centres)
    assert (known.texts, known.asked) == (3000, 100)
    assert list(known.found) == list(PROBES)
    shares = list(known.found.values())
    assert shares == sorted(shares)
    assert 0.2 < shares[0] < shares[-1] <= 1
    assert type(known).from_json(known.to_json()) == known
    assert (
        measured(parts_of(vectors, Centres(centres_of(vectors, 4)), []), Centres(centres_of(vectors, 4))).found[
            PROBES[0]
        ]
        == 1
    )


def test_the_sample_for_centres_depends_on_the_texts_alone():
    texts = [f"text {number % 4000}" for number in range(9000)]
    samples = []
    for order in (texts, texts[::-1]):
        for step in (9000, 1000):
            sample = TextSample()
            for start in range(0, len(order), step):
                sample.add(order[start : start + step])
            rows, lowest = sample.lowest()
            assert [order[row] for row in rows] == lowest
            samples.append(lowest)
    assert all(sample == samples[0] for sample in samples)
    assert len(set(samples[0])) == len(samples[0]) == min(4000, 64 * 95)
