"""Must-link and cannot-link pairs hold in the groups."""

import numpy as np
import pandas as pd
import pytest

import twicetold
from twicetold.dedupe.constraints import Constraints, Contradiction, MustLinkRefused
from twicetold.dedupe.limits import Limits
from twicetold.neighbours.components import components, numbered
from twicetold.neighbours.grouping import Links
from twicetold.neighbours.rules import RULES


def join(groups, pair):
    touched = [group for group in groups if group & pair]
    return [group for group in groups if not group & pair] + [set().union(*touched)]


def divided(group, ends, must, apart):
    """Kruskal's algorithm with pairs that must stay apart."""
    parts = [{text} for text in group]
    for pair in must:
        parts = join(parts, pair)
    for pair in ends:
        joined = set().union(*(part for part in parts if part & pair))
        if not any(two <= joined for two in apart):
            parts = join(parts, pair)
    return parts


def one_by_one(links, constraints, codes):
    """The same as `Constraints.apply`, one link at a time."""
    ends = [{int(a), int(b)} for a, b in zip(constraints.left, constraints.right)]
    must = [pair for pair, same in zip(ends, constraints.same) if same]
    apart = [pair for pair, same in zip(ends, constraints.same) if not same]
    whole = [set(np.flatnonzero(codes == code).tolist()) for code in np.unique(codes)]
    for pair in must:
        whole = join(whole, pair)
    order = np.argsort(-links.similarity)
    order = order[codes[links.left[order]] == codes[links.right[order]]]
    strongest_first = [{int(links.left[place]), int(links.right[place])} for place in order]
    found = np.empty(len(codes), int)
    number = 0
    for group in whole:
        inside = [[pair for pair in pairs if pair <= group] for pairs in (strongest_first, must, apart)]
        for part in divided(group, *inside) if inside[2] else [group]:
            found[list(part)] = number
            number += 1
    return numbered(found)


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_those_of_joining_one_link_at_a_time(seed):
    rng = np.random.default_rng(seed)
    count = 60
    left, right = rng.integers(0, count, (2, 90))
    links = Links.of(count, left, right, rng.random(90))
    codes = components(count, links.left, links.right)
    truth = rng.integers(0, 8, count)  # so that nothing contradicts itself
    one, other = rng.integers(0, count, (2, 30))
    keep = one != other
    constraints = Constraints.of(count, one[keep], other[keep], (truth[one] == truth[other])[keep])
    held, found = constraints.apply(links, codes, lambda left, right: np.zeros(len(left)))
    np.testing.assert_array_equal(found, one_by_one(links, constraints, codes))
    must, cannot = ([found[side] for side in pairs] for pairs in (constraints.must_link, constraints.cannot_link))
    assert (must[0] == must[1]).all()
    assert (cannot[0] != cannot[1]).all()
    pairs = {*zip(held.left.tolist(), held.right.tolist())}
    ends = [tuple(sorted(pair)) for pair in zip(constraints.left.tolist(), constraints.right.tolist())]
    assert all((pair in pairs) == same for pair, same in zip(ends, constraints.same.tolist()))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_constraints_hold_by_every_rule_and_the_other_groups_stay(family, rule, run, questions):
    texts = questions.texts.to_pylist()
    model = twicetold.load(run(family))
    probability = model.dedupe(texts, threshold=0.02).links.probability
    thresholds = np.quantile(probability, np.linspace(0.05, 1, 40))
    tried = (model.dedupe(texts, threshold=float(threshold), rule=rule) for threshold in thresholds)
    before = next(found for found in tried if 2 <= found.summary.counts.largest <= len(texts) - 4)
    threshold = before.summary.threshold.probability
    group = int(before.table.group[np.argmax(before.table.size)])
    inside = np.flatnonzero(before.group == group)
    outside = np.flatnonzero(before.group != group)[:2]
    pairs = ([inside[0], outside[0]], [inside[-1], outside[1]], [False, True])
    found = model.dedupe(texts, threshold=threshold, rule=rule, pairs=pairs)
    assert found.group[inside[0]] != found.group[inside[-1]]
    assert found.group[outside[0]] == found.group[outside[1]]
    touched = np.isin(before.group, before.group[[*inside, *outside]])
    np.testing.assert_array_equal(numbered(found.group[~touched]), numbered(before.group[~touched]))
    assert found.summary.counts.groups == len(found.table)
    assert (found.table.weakest[found.table.distinct > 1] >= 0).all()


def test_equal_texts_of_a_cannot_link_pair_are_apart(run):
    texts = ["bank rate", "Bank rate", "bank rate", "drug trial"]
    found = twicetold.load(run()).dedupe(texts, threshold=0.6, pairs=([0], [1], [False]))
    assert found.group[0] != found.group[1]
    assert found.group[2] in (found.group[0], found.group[1])
    assert found.exact.tolist()[:2] == [0, 1]


def test_must_link_texts_bring_their_groups_and_are_links_whatever_their_score(run):
    texts = ["bank rate", "bank rate cut", "drug trial", "drug trial phone"]
    model = twicetold.load(run())
    found = model.dedupe(texts, rule="components", threshold=0.3, pairs=([0], [3], [True]))
    assert found.group.tolist() == [0] * 4
    linked = {*zip(found.links.left.tolist(), found.links.right.tolist())}
    assert (0, 3) in linked
    place = list(zip(found.links.left.tolist(), found.links.right.tolist())).index((0, 3))
    assert found.links.score[place] == pytest.approx(model.similarity([texts[0]], [texts[3]])[0], abs=1e-6)


@pytest.mark.parametrize(
    ("pairs", "apart", "joining"),
    [
        (([0, 1, 5, 0], [1, 2, 6, 2], [True, True, True, False]), 3, [0, 1]),
        (([3, 2, 1, 0, 9], [0, 1, 0, 3, 8], [False, True, True, True, True]), 0, [3]),
        (([0, 0], [1, 1], [True, False]), 1, [0]),
        (([4], [4], [False]), 0, []),
    ],
)
def test_contradictions_are_refused_with_the_pairs_that_make_them(pairs, apart, joining):
    with pytest.raises(Contradiction, match=rf"pair {apart} \(from 0\) keeps its texts apart, but") as found:
        Constraints.of(10, *pairs)
    assert (found.value.cannot_link, found.value.must_link) == (apart, joining)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (([0], [4], [True]), "expected rows 0 to 3, got 0 and 4 as pair 0"),
        (([0, -1], [1, 1], [True, True]), "expected rows 0 to 3, got -1 and 1 as pair 1"),
        (([0], [1, 2], [True]), "lengths differ: "),
        (([0, 0.5], [1, 2], [True, True]), r"expected numbers of rows, got 0\.5 as pair 1"),
        (([0], ["How?"], [True]), r"expected numbers of rows, got 'How\?' as pair 0"),
    ],
)
def test_wrong_rows_are_named(pairs, message):
    with pytest.raises(ValueError, match=message):
        Constraints.of(4, *pairs)


def test_answers_are_those_of_a_column_and_a_pair_without_one_is_left_out():
    constraints = Constraints.of(4, pd.Series([0, 1, 2]), np.array([1.0, 2.0, 3.0]), ["Yes", "no", None])
    assert [side.tolist() for side in constraints.must_link] == [[0], [1]]
    assert [side.tolist() for side in constraints.cannot_link] == [[1], [2]]
    with pytest.raises(ValueError, match=r"pairs: expected 1 or 0, true or false, yes or no, .*; got .* in row 1"):
        Constraints.of(4, [0, 1], [1, 2], [1, 0.2])


def test_equal_values_keep_apart_what_a_pair_would_join_and_a_window_does_not():
    constraints = Constraints.of(3, [0], [1], [True])
    with pytest.raises(MustLinkRefused, match=r"pair 0 \(from 0\) is to join texts 0 and 1, but same or"):
        constraints.require_allowed(Limits.of(3, same=[["en", "de", "en"]]))
    constraints.require_allowed(Limits.of(3, within=[([1, 100, 2], 5)]))
