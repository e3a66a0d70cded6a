import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twicetold.neighbours.components import components
from twicetold_lab.data.clusters import cluster_card, duplicate_clusters
from twicetold_lab.data.corpus import UNKNOWN


def union_find(count, edges):
    parent = list(range(count))
    for a, b in edges:
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    roots = []
    for node in range(count):
        while parent[node] != node:
            node = parent[node]
        roots.append(node)
    return roots


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=25))
def test_components_are_those_of_union_find_numbered_by_their_first_node(edges):
    left, right = np.array(edges, np.int64).reshape(-1, 2).T
    roots = union_find(15, edges)
    numbers = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    assert components(15, left, right).tolist() == [numbers[root] for root in roots]


def test_clusters_close_transitively_over_members_only():
    codes = duplicate_clusters(6, left=np.array([0, 1]), right=np.array([1, 3]), members=np.array([0, 1, 3, 4]))
    assert codes.tolist() == [0, 0, UNKNOWN, 0, 1, UNKNOWN]


def test_the_card_counts_clusters_singletons_and_contradictions():
    codes = np.array([0, 0, UNKNOWN, 0, 1, UNKNOWN])
    counts = cluster_card(codes, left=np.array([0, 0, 2]), right=np.array([3, 4, 5]))
    assert counts == {"clusters": 1, "singletons": 1, "largest": 3, "contradictions": 1}
