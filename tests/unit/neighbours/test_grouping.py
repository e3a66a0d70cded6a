"""Groups of texts by components and by average and complete linkage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from twicetold.neighbours import grouping
from twicetold.neighbours.components import components, numbered
from twicetold.neighbours.grouping import NO_LINK, SAMPLED, Links, describe, merge, merge_by_sample


def all_links(similar):
    left, right = np.triu_indices(len(similar), 1)
    return Links.of(len(similar), left, right, similar[left, right])


def by_scipy(similar, rule, threshold):
    """Groups of the dense matrix by scipy, whose distances are 1 - similarity."""
    method = {"components": "single"}.get(rule, rule)
    left, right = np.triu_indices(len(similar), 1)
    return fcluster(linkage(1 - similar[left, right], method), 1 - threshold, "distance")


def unit_vectors(count, columns, seed):
    vectors = np.random.default_rng(seed).standard_normal((count, columns)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(seed=st.integers(0, 10_000), count=st.integers(2, 40), threshold=st.floats(0.05, 0.9))
@pytest.mark.parametrize("rule", grouping.RULES)
def test_groups_are_those_of_scipy_on_all_similarities(rule, seed, count, threshold):
    vectors = unit_vectors(count, 3, seed)
    similar = (vectors @ vectors.T).astype(np.float64)
    links = all_links(similar).at_least(threshold)  # the rest follows from the vectors, or does not matter
    merges = merge(links, rule=rule, threshold=threshold, vectors=(vectors, vectors))
    assert adjusted_rand_score(by_scipy(similar, rule, threshold), merges.cut(threshold)) == 1
    higher = (1 + threshold) / 2
    assert adjusted_rand_score(by_scipy(similar, rule, higher), merges.cut(higher)) == 1


@given(seed=st.integers(0, 10_000), count=st.integers(2, 40), threshold=st.floats(0.05, 0.9), share=st.floats(0, 1))
@pytest.mark.parametrize("rule", grouping.RULES)
def test_a_missing_link_counts_as_a_similarity_of_0(rule, seed, count, threshold, share):
    rng = np.random.default_rng(seed)
    similar = np.triu(np.where(rng.random((count, count)) < share, rng.random((count, count)), 0), 1)
    similar += similar.T
    left, right = np.nonzero(similar)
    merges = merge(Links.of(count, left, right, similar[left, right]), rule=rule, threshold=threshold)
    assert adjusted_rand_score(by_scipy(similar, rule, threshold), merges.cut(threshold)) == 1


@given(seed=st.integers(0, 10_000), count=st.integers(2, 30), threshold=st.floats(0.05, 0.9))
def test_nobody_is_asked_about_known_pairs(seed, count, threshold):
    links = all_links(np.random.default_rng(seed).random((count, count)))
    expected = merge(links, rule="average", threshold=threshold).cut(threshold)
    np.testing.assert_array_equal(merge_by_sample(links, threshold, threshold, unasked), expected)


def unasked(left, right):
    raise AssertionError(f"asked about {left} and {right}")


def rings(count, size, near=6):
    """Links of 0.9 of each text with the next ones of its group, in rings of a size."""
    pairs = {
        (min(a, b), max(a, b))
        for a in range(count)
        for step in range(1, near + 1)
        for b in [a - a % size + (a % size + step) % size]
    }
    left, right = np.array(sorted(pairs)).T
    return Links.of(count, left, right, np.full(len(left), 0.9))


@pytest.mark.parametrize(("others", "groups"), [(0.9, 3), (0.1, 36)])
def test_groups_larger_than_a_list_of_links_are_one_if_what_is_asked_says_so(others, groups):
    links, asked = rings(360, 120), []

    def probability(left, right):
        asked.extend(zip(left.tolist(), right.tolist(), strict=True))
        return np.where(left // 120 == right // 120, others, 0.0)

    codes = merge_by_sample(links, 0.5, 0.6, probability)
    apart = merge(links, rule="average", threshold=0.5).cut(0.5)
    assert len(set(apart)) >= 36
    assert len(set(codes)) == groups if others > 0.5 else len(set(codes)) >= groups
    assert len(set(asked)) == len(asked) <= SAMPLED * len(links)  # not all 21,420 of the three groups
    assert not set(asked) & set(zip(links.left.tolist(), links.right.tolist(), strict=True))
    assert all(left < right for left, right in asked)


def test_pairs_that_were_asked_about_stand_for_all_between_two_groups():
    """Two cliques of six with three links of 1 between them: the mean of all 36 decides, not that of what is known."""
    inside = [(a, b) for group in (range(6), range(6, 12)) for a in group for b in group if a < b]
    left, right = np.array([*inside, (0, 6), (1, 7), (2, 8)]).T
    links = Links.of(12, left, right, np.ones(len(left)))
    for value, together in ((0.5, True), (0.4, False)):  # (3 + 33 value) / 36
        codes = merge_by_sample(links, 0.5, 0.6, lambda left, _, value=value: np.full(len(left), value))
        assert (len(set(codes)) == 1) == together


def test_sparse_vectors_give_the_groups_of_dense_ones():
    dense = np.maximum(unit_vectors(60, 6, seed=1), 0)
    rows = sparse.csr_matrix(dense)
    links = all_links(dense @ dense.T).at_least(0.3)
    codes = [merge(links, rule="average", threshold=0.3, vectors=(v, v)).cut(0.3) for v in (dense, rows)]
    np.testing.assert_array_equal(*codes)
    assert len(np.unique(codes[0])) > 1


def test_vectors_of_two_roles_give_the_similarity_of_both_orders():
    vectors = unit_vectors(30, 4, seed=2)
    similar = (vectors @ vectors.T).astype(np.float64)
    links = all_links(2 * similar).at_least(0.5)
    both = np.hstack([vectors, vectors])
    roles = (both * np.repeat([1, 3], 4).astype(np.float32), both * np.repeat([1, 1 / 3], 4).astype(np.float32))
    codes = merge(links, rule="average", threshold=0.5, vectors=roles).cut(0.5)
    assert adjusted_rand_score(by_scipy(similar, "average", 0.25), codes) == 1


def test_a_chain_joins_what_linkage_keeps_apart():
    """Two cliques of four, and one link between them."""
    similar = np.zeros((8, 8))
    similar[:4, :4] = similar[4:, 4:] = 0.9
    similar[3, 4] = similar[4, 3] = 0.85
    left, right = np.nonzero(np.triu(similar, 1))
    links = Links.of(8, left, right, similar[left, right])
    apart = [0, 0, 0, 0, 1, 1, 1, 1]
    assert merge(links, rule="components", threshold=0.8).cut(0.8).tolist() == [0] * 8
    assert merge(links, rule="average", threshold=0.8).cut(0.8).tolist() == apart
    assert merge(links, rule="complete", threshold=0.8).cut(0.8).tolist() == apart


@pytest.mark.parametrize("rule", grouping.RULES)
def test_a_large_clique_of_equal_similarities_is_one_group_after_few_rounds(rule, monkeypatch):
    rounds = []
    nearest = grouping._each_others_nearest
    monkeypatch.setattr(grouping, "_each_others_nearest", lambda *args: rounds.append(1) or nearest(*args))
    left, right = np.triu_indices(400, 1)
    merges = merge(Links.of(400, left, right, np.ones(len(left))), rule=rule, threshold=0.5)
    assert merges.cut(0.5).tolist() == [0] * 400
    assert len(rounds) < 40


@pytest.mark.parametrize("rule", grouping.RULES)
def test_groups_do_not_depend_on_the_order_or_the_repetition_of_links(rule):
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 80, (2, 400))
    value = (np.minimum(left, right) * 7 + np.maximum(left, right) * 3) % 5 / 5  # with ties
    once = merge(Links.of(80, left, right, value), rule=rule, threshold=0.5).cut(0.5)
    mixed = rng.permutation(np.tile(np.arange(400), 2))
    again = merge(Links.of(80, right[mixed], left[mixed], value[mixed]), rule=rule, threshold=0.5).cut(0.5)
    np.testing.assert_array_equal(once, again)


@given(seed=st.integers(0, 10_000), count=st.integers(2, 60))
@pytest.mark.parametrize("rule", grouping.RULES)
def test_a_component_alone_has_its_groups_of_the_whole(rule, seed, count):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0, 3, (count, 4)).astype(np.float32)  # many pairs are equally similar
    links = all_links((vectors @ vectors.T).astype(np.float64)).at_least(5)
    whole = merge(links, rule=rule, threshold=5, vectors=(vectors, vectors)).cut(5)
    component = components(count, links.left, links.right)
    for number in range(component.max() + 1):
        texts = np.flatnonzero(component == number)
        inside = links.take(component[links.left] == number)
        ends = (np.searchsorted(texts, side) for side in (inside.left, inside.right))
        part = Links(len(texts), *ends, inside.similarity)
        own = vectors[texts]
        alone = merge(part, rule=rule, threshold=5, vectors=(own, own), positions=texts).cut(5)
        np.testing.assert_array_equal(alone, numbered(whole[texts]))


def test_a_table_of_groups_names_the_link_that_holds_each_together():
    left, right, similarity = zip((0, 1, 0.9), (1, 2, 0.8), (0, 2, 0.5), (3, 4, 0.7), (2, 3, 0.6))
    links = Links.of(6, left, right, similarity)
    table = describe(np.array([0, 0, 0, 1, 1, 2]), links)
    assert table.size.tolist() == [3, 2, 1]
    assert table.density.tolist() == [1, 1, 1]
    held = [(links.left[w], links.right[w], links.similarity[w]) for w in table.weakest if w != NO_LINK]
    assert held == [(1, 2, 0.8), (3, 4, 0.7)]
    chained = describe(components(6, links.left, links.right), links)
    assert chained.density.tolist() == [0.5, 1.0]
    assert links.similarity[chained.weakest[0]] == 0.6
    assert chained.weakest[1] == NO_LINK


def test_no_links_leave_every_text_alone():
    links = Links.of(3, [], [], [])
    for rule in grouping.RULES:
        codes = merge(links, rule=rule, threshold=0.5).cut(0.5)
        assert codes.tolist() == [0, 1, 2]
        assert describe(codes, links).weakest.tolist() == [NO_LINK] * 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "ward"}, "expected one of the rules"),
        ({"threshold": 0.0}, "must be below the threshold"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        merge(Links.of(2, [0], [1], [0.7]), **({"rule": "average", "threshold": 0.5} | change))


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ((2, [0], [2], [0.5]), "expected texts 0 to 1, got 0 to 2"),
        ((2, [0], [1], [np.nan]), "1 of 1 similarities are NaN"),
        ((2, [0], [1], [0.5, 0.5]), "lengths differ: "),
    ],
)
def test_wrong_links_are_named(links, message):
    with pytest.raises(ValueError, match=message):
        Links.of(*links)
