"""Stages of groups: `components` of all links, `route` to bins of these, `group` in each, and `number` groups.

Links are read chunk by chunk. What is held is the component of each text that has a link, some 100 bytes a text, and
one chunk: texts without links and the number of links cost nothing.

Shape letters: K texts with links, L links of a chunk or a bin.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.caution import chains_in, evenly
from twicetold.dedupe.groups import Grouped
from twicetold.dedupe.pairs import PairsByVectors
from twicetold.neighbours.components import components as connected
from twicetold.neighbours.grouping import Ints, Links, describe
from twicetold.staged.arrays import LINK, Arrays, Numbers, read_links, write_arrays, write_numbers
from twicetold.staged.plan import Plan, numbered
from twicetold.staged.texts import firsts_of
from twicetold.staged.vectors import lengths_of, vectors_of

OF_LINK = 150  # bytes that grouping holds for a link
SHOWN = 5  # groups that a summary shows
LOOKED_AT = 500  # links whose texts are compared


def components(plan: Plan, name: str) -> dict[str, Any]:
    """Connected components of all links, and the bins of components that are grouped together.

    Returns:
        Number of bins.
    """
    node, root = np.empty(0, np.int64), np.empty(0, np.int64)
    for links in _all(plan):
        node, root = joined(node, root, links["left"], links["right"])
    _, place, texts = np.unique(root, return_inverse=True, return_counts=True)
    counts = np.zeros(len(texts), np.int64)
    for links in _all(plan):
        counts += np.bincount(place[np.searchsorted(node, links["left"])], minlength=len(texts))
    held = np.cumsum(4 * plan.width * texts + counts * OF_LINK)
    bins = held // max(1, plan.settings.memory // 2)
    bins = np.unique(bins, return_inverse=True)[1].astype(np.int64)
    write_arrays(plan.file("components", name, "nodes"), {"node": node, "bin": bins[place]})
    return {"bins": int(bins.max(initial=-1)) + 1}


def joined(node: Ints, root: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Texts with links, ascending, and the first text of the component of each, after further links."""
    names = np.unique(np.concatenate([node, left, right]))
    one, other = (np.searchsorted(names, np.concatenate(side)) for side in ((node, left), (root, right)))
    codes = connected(len(names), one, other)
    return names, names[np.unique(codes, return_index=True)[1]][codes]


def files_of_links(plan: Plan) -> list[tuple[str, Path]]:
    """Names and paths of the files of links that were found."""
    stage, names = ("links", numbered(plan.shards)) if plan.cells else ("links_all", plan.blocks)
    return [(name, plan.file(stage, name, "links")) for name in names]


def bins_in(plan: Plan) -> tuple[Ints, Ints]:
    """(K,) texts with links, ascending, and the bin of each."""
    arrays = Arrays(plan.file("components", "all", "nodes"))
    return arrays.read("node"), arrays.read("bin")


def _all(plan: Plan) -> Iterator[NDArray[Any]]:
    for _, path in files_of_links(plan):
        yield from read_links(path)


def route(plan: Plan, name: str) -> dict[str, Any]:
    """The links of a file to the bins of their components: one file, sorted by bin."""
    node, of_node = bins_in(plan)
    links = np.concatenate([np.empty(0, LINK), *read_links(dict(files_of_links(plan))[name])])
    goes = of_node[np.searchsorted(node, links["left"])]
    order = np.argsort(goes, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(goes, minlength=plan.bins)))
    content = {"starts": starts, **{side: links[side][order] for side in ("left", "right", "dot")}}
    write_arrays(plan.file("route", name, "links"), content)
    return {}


def group(plan: Plan, name: str) -> dict[str, Any]:
    """The groups of a bin of components, by the rule; rows keep their numbers of the whole.

    Returns:
        Number of links, the loosest groups of two or more texts, groups that are chains (`caution.Chains`), and some of
        the links.
    """
    texts, links = _links(plan, int(name))
    least, vectors = plan.link.threshold, vectors_of(plan, texts)
    pairs = PairsByVectors((vectors, vectors), plan.link, plan.constant)
    codes = pairs.groups(links, least, plan.settings.rule, positions=texts)(least)
    grouped = Grouped.of(pairs, links, codes, plan.settings, lengths=lambda: lengths_of(plan, texts))
    first = np.unique(codes, return_index=True)[1]
    content = {
        "node": texts,
        "first": texts[first[codes]],
        "representative": texts[grouped.row],
        "probability": grouped.probability,
    }
    write_arrays(plan.file("group", name, "groups"), content)
    chains, some = chains_in(codes, links, pairs, least=least), links.take(evenly(len(links), LOOKED_AT))
    return {
        "links": len(links),
        "loosest": _loosest(codes, links, texts),
        "chains": None if chains is None else (chains.groups, *texts[list(chains[1:3])].tolist(), chains.score),
        "some": [texts[some.left].tolist(), texts[some.right].tolist(), some.similarity.tolist()],
    }


def _links(plan: Plan, number: int) -> tuple[Ints, Links]:
    """The texts of a bin, ascending, and the links between them, each once."""
    sides: dict[str, list[Any]] = {"left": [], "right": [], "dot": []}
    for name, _ in files_of_links(plan):
        file = Arrays(plan.file("route", name, "links"))
        begin, end = (int(place) for place in file.starts[number : number + 2])
        for side, pieces in sides.items():
            pieces.append(file.read(side, begin, end))
    left, right, dot = (np.concatenate(pieces) for pieces in sides.values())
    texts = np.unique(np.concatenate([left, right]))
    one, other = (np.searchsorted(texts, side) for side in (left, right))
    return texts, Links.of(len(texts), one, other, dot + plan.constant)


def _loosest(codes: Ints, links: Links, texts: Ints) -> list[dict[str, Any]]:
    """Some groups of two or more texts with the link without which each falls apart, the weakest first."""
    table = describe(codes, links)
    several = np.flatnonzero(table.size > 1)
    loose = several[np.lexsort((-table.size[several], links.similarity[table.weakest[several]]))]
    rows = []
    for group in loose[:SHOWN].tolist():
        weakest = int(table.weakest[group])
        rows.append(
            {
                "first": int(texts[np.flatnonzero(codes == group)[0]]),
                "size": int(table.size[group]),
                "density": float(table.density[group]),
                "left": int(texts[links.left[weakest]]),
                "right": int(texts[links.right[weakest]]),
                "score": float(links.similarity[weakest]),
            }
        )
    return rows


def number(plan: Plan, name: str) -> dict[str, Any]:
    """Numbers of groups, by the first text of each, and the rows of representatives.

    Returns:
        Number of all groups; of those of two or more rows, of rows in these, and of rows of the largest one.
    """
    files = [Arrays(plan.file("group", bin, "groups")) for bin in numbered(plan.bins)]
    kinds = (("node", np.int64), ("first", np.int64), ("representative", np.int64), ("probability", np.float64))
    node, first, representative, probability = (
        np.concatenate([np.empty(0, kind), *(file.read(each) for file in files)]) for each, kind in kinds
    )
    order = np.argsort(node)
    node, first, representative, probability = (each[order] for each in (node, first, representative, probability))
    groups = write_numbers(plan.file("number", name, "numbers"), plan.distinct, node[node != first])
    firsts = firsts_of(plan)
    content = {
        "node": node,
        "group": groups.ranks(first),
        "row": firsts.numbers(representative),
        "probability": probability,
    }
    write_arrays(plan.file("number", name, "groups"), content)
    sizes = _sizes(plan, firsts, node, first)
    larger = sizes[sizes > 1]
    return {
        "all": len(groups),
        "groups": len(larger),
        "grouped": int(larger.sum()),
        "largest": int(sizes.max(initial=1)),
    }


def _sizes(plan: Plan, firsts: Numbers, node: Ints, first: Ints) -> Ints:
    """Rows of each group that has a link or a copy."""
    copies = [Arrays(plan.file("exact", bucket, "copies")).read("first") for bucket in numbered(plan.buckets)]
    copied, times = np.unique(firsts.ranks(np.concatenate(copies)), return_counts=True)
    text = np.union1d(node, copied)
    rows = np.ones(len(text), np.int64)
    rows[np.searchsorted(text, copied)] += times
    group = text.copy()
    group[np.searchsorted(text, node)] = first
    return np.bincount(np.unique(group, return_inverse=True)[1], weights=rows).astype(np.int64)
