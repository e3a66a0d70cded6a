import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import UNKNOWN
from twicetold_lab.data.sources import cluster_card, duplicate_clusters


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=25))
def test_components_are_those_of_networkx_numbered_by_their_first_node(edges):
    left, right = np.array(edges, np.int64).reshape(-1, 2).T
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(15))
    expected = sorted(map(sorted, nx.connected_components(graph)))
    number = {node: place for place, nodes in enumerate(expected) for node in nodes}
    assert components(15, left, right).tolist() == [number[node] for node in range(15)]


def test_clusters_close_transitively_over_members_only():
    codes = duplicate_clusters(6, left=np.array([0, 1]), right=np.array([1, 3]), members=np.array([0, 1, 3, 4]))
    assert codes.tolist() == [0, 0, UNKNOWN, 0, 1, UNKNOWN]


def test_the_card_counts_clusters_singletons_and_contradictions():
    codes = np.array([0, 0, UNKNOWN, 0, 1, UNKNOWN])
    counts = cluster_card(codes, left=np.array([0, 0, 2]), right=np.array([3, 4, 5]))
    assert counts == {"clusters": 1, "singletons": 1, "largest": 3, "contradictions": 1}
