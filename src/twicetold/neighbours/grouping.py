"""Groups of texts from links between them, by connected components or by hierarchical clustering.

Three rules say when two groups A and B become one, at a threshold t:

    components   some pair of A × B has similarity >= t (single linkage)
    average      the mean similarity of all pairs of A × B is >= t (UPGMA, Sokal and Michener 1958)
    complete     every pair of A × B has similarity >= t (Sørensen 1948)

Components join whatever a chain of links joins. Average and complete linkage split a component that is not a clique of
links, and leave a clique as it is: where the mean or the least similarity of A × B reaches t, some pair does, so their
groups always lie within components. A pair without a link counts as below the threshold.

Both linkages are reducible: merging A and B brings neither nearer to a third group than the nearer of both was. So all
pairs of groups that are each other's nearest can be merged at once without a change of the result (Murtagh 1983, "A
survey of recent advances in hierarchical clustering algorithms"), and a group without a pair at the threshold is
finished. Each round is a few array operations over the links that are left; a chain of ever weaker links needs as many
rounds as it has texts. Where similarities are dot products, the mean over A × B is the dot product of the means, so it
is computed from the vectors of the texts, and pairs without a link count with their true similarity.

Equal similarities are ordered by a fixed function of the texts' positions: the same links give the same groups. A part
of the texts is grouped as in the whole if it is told their positions there.

Shape letters: n texts, L links, G groups, E pairs of groups, S sampled pairs of texts, D columns of the vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from twicetold.neighbours.components import components
from twicetold.neighbours.nearest import row_dots
from twicetold.neighbours.rules import RULES, Rule
from twicetold.neighbours.sample import mixed

NO_LINK = -1  # weakest link of a group without links
SAMPLED = 8  # pairs between two groups that are asked for at a time
FEWEST = 5  # pairs between two groups of which some are asked for
PASSES = 12  # at most
STEP = np.uint64(0x9E3779B97F4A7C15)  # between states that are mixed
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Vectors: TypeAlias = tuple[Any, Any]
"""(n, D) matrices, dense or CSR, whose rows' dot products are the similarities, the same for both orders of a pair."""


@dataclass(frozen=True)
class Links:
    """Similarities of some pairs of texts, each pair once.

    Args:
        count: n, the number of texts.
        left: (L,) the earlier text of each pair.
        right: (L,) the later one.
        similarity: (L,) higher = more alike.
    """

    count: int
    left: Ints
    right: Ints
    similarity: Floats

    @classmethod
    def of(cls, count: int, left: ArrayLike, right: ArrayLike, similarity: ArrayLike) -> "Links":
        """Return links from pairs in any order, each once or several times: the highest similarity of a pair counts.

        Raises:
            ValueError: if a text is outside of 0 .. n - 1, or a similarity is not finite.
        """
        one, other = np.asarray(left, np.int64), np.asarray(right, np.int64)
        value = np.asarray(similarity, np.float64)
        if not one.shape == other.shape == value.shape:
            raise ValueError(f"lengths differ: {one.size}, {other.size}, {value.size}")
        if one.size and not (min(one.min(), other.min()) >= 0 and max(one.max(), other.max()) < count):
            raise ValueError(
                f"expected texts 0 to {count - 1}, got {min(one.min(), other.min())} to {max(one.max(), other.max())}"
            )
        if not np.isfinite(value).all():
            raise ValueError(f"{int((~np.isfinite(value)).sum())} of {len(value)} similarities are NaN or infinite")
        low, high = np.minimum(one, other), np.maximum(one, other)
        order = np.lexsort((-value, high, low))
        low, high, value = low[order], high[order], value[order]
        keep = (low != high) & np.append(True, (low[1:] != low[:-1]) | (high[1:] != high[:-1]))[: len(low)]
        return cls(count, low[keep], high[keep], value[keep])

    def __len__(self) -> int:
        return len(self.left)

    def at_least(self, threshold: float) -> "Links":
        """Return the links of at least this similarity."""
        return self.take(self.similarity >= threshold)

    def take(self, keep: NDArray[Any]) -> "Links":
        """Return some of the links, by a mask or by positions."""
        return Links(self.count, self.left[keep], self.right[keep], self.similarity[keep])


@dataclass(frozen=True)
class Merges:
    """Groups that were merged, and how similar they were.

    Args:
        count: n, the number of texts.
        left: a text of the one group.
        right: a text of the other.
        similarity: of the two groups, by the rule of the merges.
    """

    count: int
    left: Ints
    right: Ints
    similarity: Floats

    @classmethod
    def of(cls, codes: Ints) -> "Merges":
        """Return merges, before all others, that give the (n,) groups."""
        first, texts = np.unique(codes, return_index=True)[1][codes], np.arange(len(codes))
        rest = np.flatnonzero(first != texts)
        return cls(len(codes), first[rest], rest, np.full(len(rest), np.inf))

    def cut(self, threshold: float) -> Ints:
        """Return (n,) group of each text if only groups of at least this similarity are merged, see `components`."""
        keep = self.similarity >= threshold
        return components(self.count, self.left[keep], self.right[keep])


def merge(
    links: Links,
    *,
    rule: Rule,
    threshold: float,
    vectors: Vectors | None = None,
    positions: Ints | None = None,
    start: Merges | None = None,
    weight: Floats | None = None,
) -> Merges:
    """Merge by a rule, down to a threshold; `Merges.cut` gives the groups at this threshold or a higher one.

    Args:
        links: of the texts. Those below the threshold matter only to average linkage without vectors.
        rule: see the head of this module.
        threshold: the least similarity of a merge.
        vectors: of the texts, for average linkage; without them a pair without a link counts as 0.
        positions: (n,) ascending, of these texts among all of a larger whole; None: they are the whole.
        start: of average linkage, merges that come before all others, of several texts with one each.
        weight: (L,) of average linkage without vectors, pairs that each link stands for; None: one each.

    Raises:
        ValueError: if the rule is unknown, or a pair without a link counts as much as the threshold.
    """
    strong = links.at_least(threshold)
    match rule:
        case "components":
            held = strong.take(strongest_forest(strong))
            return Merges(held.count, held.left, held.right, held.similarity)
        case "complete":
            return _rounds(strong, threshold, _least, positions)
        case "average" if vectors is not None:
            return _rounds(strong, threshold, _mean_of_vectors(vectors), positions, start)
        case "average":
            if threshold <= 0:
                raise ValueError(
                    f"a pair without a link counts as 0 and must be below the threshold, which is {threshold:g}: raise "
                    "the threshold, or give the vectors of the texts"
                )
            return _rounds(links, threshold, _mean_of_links, positions, start, weight)
    raise ValueError(f"expected one of the rules {RULES}, got {rule!r}")


def merge_by_sample(links: Links, threshold: float, sure: float, probability: Callable[[Ints, Ints], Floats]) -> Ints:
    """Return (n,) groups by average linkage on probabilities, some of which are asked for.

    A text has a score with its nearest ones, so of a large group most pairs have none, and counting these as 0 takes it
    apart. Where the known pairs of two groups are probable, a sample of the others stands for all of them; then groups
    are merged further. The nearest ones alone join no large groups. Of small ones, a pair without a link counts as 0.

    Args:
        links: known probabilities, each pair once.
        threshold: minimum mean probability of two groups that become one.
        sure: mean of the known pairs of two groups from which others are asked for.
        probability: of (S,) pairs, by their earlier and their later texts.
    """
    weight, start = np.ones(len(links)), None
    for number in range(PASSES):
        codes = merge(links, rule="average", threshold=threshold, weight=weight, start=start).cut(threshold)
        left, right, stands_for = _unknown(codes, links, weight, sure, number)
        if not len(left):
            break
        similarity = np.append(links.similarity, probability(left, right))
        links = Links(links.count, np.append(links.left, left), np.append(links.right, right), similarity)
        weight, start = np.append(weight, stands_for), Merges.of(codes)
    return codes


def _unknown(codes: Ints, links: Links, weight: Floats, sure: float, salt: int) -> tuple[Ints, Ints, Floats]:
    """Return pairs to score, and how many each stands for: those between groups whose known pairs are sure.

    Args:
        codes: (n,) groups.
        links: that are known.
        weight: (L,) pairs that each stands for.
        sure: mean of the known pairs.
        salt: another one gives another sample.
    """
    size, members = np.bincount(codes), np.argsort(codes, kind="stable")
    first = np.cumsum(size) - size
    ends = codes[links.left], codes[links.right]
    apart = np.flatnonzero(ends[0] != ends[1])
    cells = np.minimum(*ends)[apart] * len(size) + np.maximum(*ends)[apart]
    cells, place = np.unique(cells, return_inverse=True)
    known = np.bincount(place, weight[apart], len(cells))
    total = np.bincount(place, (weight * links.similarity)[apart], len(cells))
    one, other = np.divmod(cells, max(len(size), 1))
    count = size[one] * size[other]
    asked = np.flatnonzero((total >= sure * known) & (count - known > 0.5) & (count >= FEWEST))
    one, other, count, known = one[asked], other[asked], count[asked], known[asked]
    drawn = np.minimum(count, SAMPLED)
    edge = np.repeat(np.arange(len(asked)), drawn)
    turn = np.arange(len(edge)) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    name = (members[first[one]].astype(np.uint64) << np.uint64(32)) + members[first[other]].astype(np.uint64)
    random = mixed(name[edge] + STEP * (turn + SAMPLED * salt).astype(np.uint64)) % count[edge].astype(np.uint64)
    row, column = np.divmod(np.where(count[edge] <= SAMPLED, turn, random.astype(np.int64)), size[other][edge])
    sides = members[first[one][edge] + row], members[first[other][edge] + column]
    pairs, at = np.unique(np.minimum(*sides) * len(codes) + np.maximum(*sides), return_index=True)
    fresh = ~np.isin(pairs, links.left * len(codes) + links.right, assume_unique=True)  # else each side is hashed
    pairs, edge = pairs[fresh], edge[at[fresh]]
    stands_for = ((count - known) / np.maximum(np.bincount(edge, minlength=len(asked)), 1))[edge]
    left, right = np.divmod(pairs, max(len(codes), 1))
    return left, right, np.asarray(stands_for, np.float64)


@dataclass(frozen=True)
class GroupTable:
    """Statistics of the links that hold each group together.

    Args:
        size: (G,) texts.
        density: (G,) share of its pairs that are links; 1 for a single text.
        weakest: (G,) position of the link without which the group, held by its strongest links, falls apart;
            `NO_LINK` for a single text.
    """

    size: Ints
    density: Floats
    weakest: Ints


def describe(codes: Ints, links: Links) -> GroupTable:
    """Describe groups.

    Args:
        codes: (n,) group of each text, from 0 without gaps.
        links: those between groups are left out.
    """
    size = np.bincount(codes).astype(np.int64)
    inside = np.flatnonzero(codes[links.left] == codes[links.right])
    pairs = size * (size - 1) / 2
    linked = np.bincount(codes[links.left[inside]], minlength=len(size))
    density = np.divide(linked, pairs, out=np.ones(len(size)), where=pairs > 0)
    tree = inside[strongest_forest(links.take(inside))]  # ends with the weakest
    weakest = np.full(len(size), NO_LINK, np.int64)
    weakest[codes[links.left[tree]]] = tree  # of several assignments the last one holds
    return GroupTable(size, density, weakest)


def strongest_forest(links: Links) -> Ints:
    """Find the links of a maximum spanning forest, strongest first: as few as hold the components together."""
    order = np.argsort(-links.similarity, kind="stable")
    cost = np.arange(1, len(order) + 1, dtype=np.float64)
    graph = sparse.coo_array((cost, (links.left[order], links.right[order])), shape=(links.count, links.count))
    return np.asarray(order[np.sort(minimum_spanning_tree(graph.tocsr()).data.astype(np.int64)) - 1])


class _Edges(NamedTuple):
    """Pairs of groups with a link between them; a group is named by its first text, and that of `one` comes first."""

    one: Ints
    other: Ints
    similarity: Floats
    """(E,) by the rule."""
    least: Floats
    """(E,) of the links."""
    total: Floats
    """(E,) of the links."""
    links: Floats
    """(E,) their number."""

    def take(self, keep: NDArray[Any]) -> "_Edges":
        return _Edges(*(field[keep] for field in self))

    def joined(self) -> "_Edges":
        """Return each pair of groups once; its similarity is not known yet."""
        low, high = np.minimum(self.one, self.other), np.maximum(self.one, self.other)
        order = np.argsort(low * (high.max(initial=0) + 1) + high, kind="stable")  # twice as fast as np.lexsort
        low, high = low[order], high[order]
        starts = np.flatnonzero(np.append(True, (low[1:] != low[:-1]) | (high[1:] != high[:-1]))[: len(low)])
        if not len(starts):
            return self
        least = np.minimum.reduceat(self.least[order], starts)
        total, links = (np.add.reduceat(field[order], starts) for field in (self.total, self.links))
        return _Edges(low[starts], high[starts], np.full(len(starts), np.nan), least, total, links)


_Measure: TypeAlias = Callable[[_Edges, Ints, Ints], _Edges]
"""From edges without similarity and the (n,) size and group of first texts, to those edges that count, with it."""


def _rounds(
    links: Links,
    threshold: float,
    measure: _Measure,
    positions: Ints | None,
    start: Merges | None = None,
    weight: Floats | None = None,
) -> Merges:
    """Merge all pairs of groups that are each other's nearest, until no pair reaches the threshold."""
    count = links.count
    place = np.arange(count) if positions is None else positions
    value, weight = links.similarity, np.ones(len(links)) if weight is None else weight
    edges = _Edges(links.left, links.right, value, value, value * weight, weight)
    group = np.arange(count)
    size = np.ones(count, np.int64)
    into = np.arange(count)  # the group that a merged one is part of
    found: list[tuple[Ints, Ints, Floats]] = []

    def merged(edges: _Edges, one: Ints, other: Ints, similarity: Floats) -> _Edges:
        """Return the edges once groups are merged."""
        nonlocal group
        found.append((one, other, similarity))
        np.add.at(size, one, size[other])
        into[other] = one
        group = into[group]
        changed = np.zeros(count, bool)
        changed[one] = changed[other] = True
        touched = changed[edges.one] | changed[edges.other]
        moved = edges.take(touched)
        moved = moved._replace(one=into[moved.one], other=into[moved.other])
        moved = moved.take(moved.one != moved.other).joined()
        moved = measure(moved, size, group) if len(moved.one) else moved
        return _Edges(*(np.concatenate(fields) for fields in zip(edges.take(~touched), moved, strict=True)))

    if start is not None:
        first = np.flatnonzero(start.similarity >= threshold)
        edges = merged(edges, start.left[first], start.right[first], start.similarity[first])
    while True:
        near = np.flatnonzero(edges.similarity >= threshold)
        unfinished = np.zeros(count, bool)
        unfinished[edges.one[near]] = unfinished[edges.other[near]] = True
        edges = edges.take(unfinished[edges.one] & unfinished[edges.other])
        if not len(edges.one):
            break
        best = edges.take(_each_others_nearest(edges, np.flatnonzero(edges.similarity >= threshold), place))
        edges = merged(edges, best.one, best.other, best.similarity)
    one, other, similarity = (np.concatenate(part) for part in zip(*found, strict=True)) if found else ((), (), ())
    return Merges(count, np.asarray(one, np.int64), np.asarray(other, np.int64), np.asarray(similarity, np.float64))


def _each_others_nearest(edges: _Edges, reaching: Ints, place: Ints) -> Ints:
    """Return positions of the edges that are the strongest one of both their groups."""
    one, other = edges.one[reaching], edges.other[reaching]
    pair = (place[one].astype(np.uint64) << np.uint64(32)) + place[other].astype(np.uint64)
    order = np.lexsort((mixed(pair), -edges.similarity[reaching]))  # by place, equals would all have one nearest
    one, other = one[order], other[order]
    rank = np.arange(len(order))
    best = np.full(len(place), len(order))
    np.minimum.at(best, one, rank)
    np.minimum.at(best, other, rank)
    return np.asarray(reaching[order[(best[one] == rank) & (best[other] == rank)]])


def _least(edges: _Edges, size: Ints, group: Ints) -> _Edges:
    whole = edges.take(edges.links == size[edges.one] * size[edges.other])  # a pair without a link never gets one
    return whole._replace(similarity=whole.least)


def _mean_of_links(edges: _Edges, size: Ints, group: Ints) -> _Edges:
    return edges._replace(similarity=edges.total / (size[edges.one] * size[edges.other]))


def _mean_of_vectors(vectors: Vectors) -> _Measure:
    queries, documents = vectors

    def measure(edges: _Edges, size: Ints, group: Ints) -> _Edges:
        needed, place = np.unique(np.concatenate([edges.one, edges.other]), return_inverse=True)
        row = np.full(len(group), -1, np.int64)
        row[needed] = np.arange(len(needed))
        texts = np.flatnonzero(row[group] >= 0)
        share = (1 / size[group[texts]]).astype(np.float32)
        belongs = sparse.csr_matrix((share, (row[group[texts]], texts)), shape=(len(needed), len(group)))
        left = belongs @ queries
        right = left if documents is queries else belongs @ documents
        one, other = np.split(place, 2)
        return edges._replace(similarity=row_dots(left, one, right, other))

    return measure
