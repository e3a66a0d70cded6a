"""Wrongly joined and split groups are counted as a naive count over all pairs gives them."""

from itertools import combinations

import numpy as np

from twicetold import layout
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.reporting.wrong_groups import LISTED, TEXTS, compare_groups, wrong_groups
from twicetold_lab.runs.records import read_runs


def test_pairs_of_a_group_that_are_of_different_parts_are_counted_one_by_one():
    generator = np.random.default_rng(0)
    groups, parts = generator.integers(0, 12, 90), generator.integers(0, 5, 90)
    texts = [f"text {row}" for row in range(90)]
    found, count = compare_groups(texts, groups, parts)
    naive = {}
    for group in range(12):
        rows = np.flatnonzero(groups == group)
        naive[group] = sum(parts[one] != parts[other] for one, other in combinations(rows, 2))
    assert [each.pairs for each in found] == sorted(naive.values(), reverse=True)[:LISTED]
    assert count == sum(value > 0 for value in naive.values())
    for each in found:
        rows = [[texts.index(text) for text in part] for part in each.texts]
        (group,) = {groups[row] for part in rows for row in part}
        assert each.size == (groups == group).sum()
        assert each.parts == len(np.unique(parts[groups == group]))
        assert len({parts[part[0]] for part in rows}) == len(rows)
        assert all(len({parts[row] for row in part}) == 1 for part in rows)
        assert sum(map(len, rows)) <= TEXTS


def test_groups_that_agree_have_no_mistakes():
    groups = np.array([3, 3, 1, 1, 0])
    assert compare_groups(list("abcde"), groups, groups + 7) == ((), 0)


def test_pairs_and_missing_texts_have_no_groups(finished):
    project, cells = finished
    for data, by_data in read_runs(cells, project.root / "runs").items():
        assert wrong_groups(rank(data, by_data), project.root / "processed" / data) == ()
        assert not (project.root / "processed" / data / layout.TEXTS).exists()
