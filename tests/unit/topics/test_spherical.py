"""Clusters of directions, on planted ones and by their definition."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from twicetold.neighbours.nearest import FEWEST_FULL
from twicetold.topics import spherical
from twicetold.topics.spherical import MOST_AGGLOMERATED, nearest_centre, spherical_k_means, unit, ward

BOTH = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
WAYS = pytest.mark.parametrize("way", [spherical_k_means, ward])


def planted(sizes=(50, 30, 20), dimensions=12, noise=0.15, seed=0):
    """Directions around axes, in random order, and which axis each is of."""
    random = np.random.default_rng(seed)
    label = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    vectors = np.eye(dimensions)[label] + noise * np.abs(random.normal(size=(len(label), dimensions)))
    return (vectors * random.uniform(0.5, 2, (len(label), 1))).astype(np.float32), label


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@BOTH
@WAYS
def test_planted_clusters_are_found_and_the_largest_comes_first(form, way):
    vectors, label = planted()
    found = way(unit(form(vectors)), 3)
    assert adjusted_rand_score(label, found.label) == 1
    assert np.bincount(found.label).tolist() == [50, 30, 20]


@BOTH
def test_each_vector_is_with_its_nearest_centre_and_each_centre_is_the_mean_of_its_vectors(form):
    vectors = unit(form(planted(noise=0.6)[0]))
    found = spherical_k_means(vectors, 7)
    products = dense(vectors) @ dense(found.centre).T
    assert found.label.tolist() == products.argmax(axis=1).tolist()
    assert found.closeness == pytest.approx(products.max(axis=1), abs=1e-6)
    for topic in range(7):
        total = dense(vectors)[found.label == topic].sum(axis=0)
        assert dense(found.centre[[topic]])[0] == pytest.approx(total / np.linalg.norm(total), abs=1e-5)


def test_dense_and_sparse_vectors_give_the_same_clusters():
    vectors = unit(planted(noise=0.5)[0])
    one, other = spherical_k_means(vectors, 5), spherical_k_means(sparse.csr_matrix(vectors), 5)
    assert one.label.tolist() == other.label.tolist()
    assert sparse.issparse(other.centre)


def test_vectors_with_both_full_and_rare_columns_give_the_same_clusters():
    random = np.random.default_rng(3)
    full = random.normal(size=(200, FEWEST_FULL))
    rare = random.normal(size=(200, 300)) * (random.random((200, 300)) < 0.05)
    vectors = unit(np.hstack([full, rare]).astype(np.float32))
    one, other = spherical_k_means(vectors, 6), spherical_k_means(sparse.csr_matrix(vectors), 6)
    assert one.label.tolist() == other.label.tolist()
    assert one.closeness == pytest.approx(other.closeness, abs=1e-6)


def test_ward_agrees_with_scikit_learn():
    vectors = unit(planted(noise=0.6)[0])
    golden = AgglomerativeClustering(n_clusters=6, linkage="ward").fit_predict(vectors)
    assert adjusted_rand_score(golden, ward(vectors, 6).label) == 1


@WAYS
def test_the_same_seed_gives_the_same_and_lengths_do_not_matter(way):
    vectors, _ = planted(noise=0.8)
    one, other = way(unit(vectors), 6), way(unit(vectors * 7), 6)
    assert one.label.tolist() == other.label.tolist()
    assert np.array_equal(way(unit(vectors), 6).closeness, one.closeness)


@BOTH
@WAYS
def test_one_cluster_has_all_and_as_many_as_vectors_are_all_alone(form, way):
    vectors = unit(form(planted(sizes=(5, 4))[0]))
    assert set(way(vectors, 1).label) == {0}
    alone = way(vectors, 9)
    assert sorted(alone.label) == list(range(9))
    assert alone.closeness == pytest.approx(np.ones(9), abs=1e-5)
    assert way(vectors[:1], 1).label.tolist() == [0]


@BOTH
@WAYS
def test_equal_vectors_are_together_and_there_are_no_more_clusters_than_directions(form, way):
    vectors = unit(form(np.repeat(np.eye(3, dtype=np.float32), [4, 3, 2], axis=0)))
    assert way(vectors, 9).label.tolist() == way(vectors, 3).label.tolist()
    found = way(vectors, 6)
    assert found.label.tolist() == [0] * 4 + [1] * 3 + [2] * 2
    assert found.centre.shape == (3, 3)


def test_a_sample_decides_on_the_centres_of_many(monkeypatch):
    monkeypatch.setattr(spherical, "SAMPLE", 60)
    monkeypatch.setattr(spherical, "PER_CLUSTER", 1)
    vectors, label = planted(sizes=(500, 300, 200))
    assert adjusted_rand_score(label, spherical_k_means(unit(vectors), 3).label) == 1


def test_products_are_made_in_blocks_with_the_same_result(monkeypatch):
    vectors, centre = unit(planted()[0]), unit(planted(seed=1)[0])[:5]
    whole = nearest_centre(vectors, centre)
    monkeypatch.setattr(spherical, "BLOCK", 35)
    assert all(np.allclose(one, other) for one, other in zip(whole, nearest_centre(vectors, centre)))


def test_an_empty_cluster_gets_the_vector_furthest_from_its_centre():
    label = spherical._refilled(np.array([0, 0, 0, 2, 2]), np.array([0.9, 0.1, 0.8, 0.2, 0.9]), 4)
    assert label.tolist() == [0, 1, 0, 3, 2]
    unfilled = spherical._refilled(np.array([0, 2]), np.array([0.9, 0.1]), 3)
    assert unfilled.tolist() == [0, 2], "no cluster gives its only vector away"


def test_too_many_to_compare_all_pairs_are_refused_before_any_work():
    with pytest.raises(ValueError, match=r"at most 5,000 of them, got 5,001: use kmeans, or a sample"):
        ward(np.ones((MOST_AGGLOMERATED + 1, 1), np.float32), 2)
