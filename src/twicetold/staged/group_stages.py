"""Stages of groups: `components` of all links, in bins, `group` in each bin, and `number` groups.

Links are read chunk by chunk. What is held is the component of each text that has a link, some 100 bytes a text, and
one chunk: texts without links and the number of links cost nothing.

Shape letters: K texts with links, L links of a chunk or a bin.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.caution import chains_in, evenly
from twicetold.dedupe.groups import representatives
from twicetold.dedupe.pairs import PairsByVectors
from twicetold.neighbours.components import components as connected
from twicetold.neighbours.grouping import Ints, Links
from twicetold.staged.arrays import Numbers, in_memory, mapped, of_texts, read_links, write_arrays
from twicetold.staged.plan import Plan, numbered
from twicetold.staged.row_stages import firsts_of

OF_LINK = 150  # bytes that grouping holds for a link
LOOKED_AT = 500  # links whose texts are compared


def components(plan: Plan, name: str) -> dict[str, Any]:
    """Return connected components of all links, and the bins of components that are grouped together.

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
    write_arrays(plan, "components", name, node=node, bin=bins[place])
    return {"bins": int(bins.max(initial=-1)) + 1}


def joined(node: Ints, root: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return texts with links, ascending, and the first text of the component of each, after further links."""
    names = np.unique(np.concatenate([node, left, right]))
    one, other = (np.searchsorted(names, np.concatenate(side)) for side in ((node, left), (root, right)))
    codes = connected(len(names), one, other)
    return names, names[np.unique(codes, return_index=True)[1]][codes]


def tasks_of_links(plan: Plan) -> tuple[str, list[str]]:
    """Return the stage that found links, and names of its tasks."""
    return ("links", numbered(plan.shards)) if plan.cells else ("links_all", plan.blocks)


def _all(plan: Plan) -> Iterator[NDArray[Any]]:
    stage, names = tasks_of_links(plan)
    for name in names:
        yield from read_links(plan.file(stage, name, "links"))


def group(plan: Plan, name: str) -> dict[str, Any]:
    """Return the groups of a bin of components, by the rule; rows keep their numbers of the whole.

    Returns:
        Number of links, groups that are chains (`caution.Chains`), and some of the links.
    """
    texts, links = _links(plan, int(name))
    least, vectors = plan.decision.threshold, of_texts(plan, "vectors", texts)
    pairs = PairsByVectors((vectors, vectors), plan.decision, plan.constant)
    codes = pairs.groups(links, least, plan.settings.rule, positions=texts)
    represented, probability = representatives(
        pairs, codes, plan.settings, lengths=lambda: of_texts(plan, "length", texts).astype(np.int64)
    )
    first = np.unique(codes, return_index=True)[1][codes]
    columns = {"representative": texts[represented], "probability": probability}
    write_arrays(plan, "group", name, node=texts, first=texts[first], **columns)
    chains, some = chains_in(codes, links, pairs, least=least), links.take(evenly(len(links), LOOKED_AT))
    return {
        "links": len(links),
        "chains": None if chains is None else (chains.groups, *texts[list(chains[1:3])].tolist(), chains.score),
        "some": [texts[some.left].tolist(), texts[some.right].tolist(), some.similarity.tolist()],
    }


def _links(plan: Plan, number: int) -> tuple[Ints, Links]:
    """Return the texts of a bin, ascending, and the links between them, each once."""
    node, of_node = (mapped(plan, "components", "all", kind) for kind in ("node", "bin"))
    links = np.concatenate([some[of_node[np.searchsorted(node, some["left"])] == number] for some in _all(plan)])
    texts = np.unique(np.concatenate([links["left"], links["right"]]))
    one, other = (np.searchsorted(texts, links[side]) for side in ("left", "right"))
    return texts, Links.of(len(texts), one, other, links["dot"] + plan.constant)


def number(plan: Plan, name: str) -> dict[str, Any]:
    """Return numbers of groups, by the first text of each, and the rows of representatives.

    Returns:
        Number of all groups; of those of two or more rows, of rows in these, and of rows of the largest one.
    """
    kinds = ("node", "first", "representative", "probability")
    columns = [in_memory(plan, "group", numbered(plan.bins), kind) for kind in kinds]
    order = np.argsort(columns[0])
    node, first, representative, probability = (column[order] for column in columns)
    groups, firsts = Numbers.write(plan, "number", node[node != first]), firsts_of(plan)
    rows = {"row": firsts.numbers(representative), "probability": probability}
    write_arrays(plan, "number", name, node=node, group=groups.ranks(first), **rows)
    sizes = _sizes(plan, firsts, node, first)
    larger = sizes[sizes > 1]
    return {
        "all": plan.distinct - len(groups.without),
        "groups": len(larger),
        "grouped": int(larger.sum()),
        "largest": int(sizes.max(initial=1)),
    }


def _sizes(plan: Plan, firsts: Numbers, node: Ints, first: Ints) -> Ints:
    """Return rows of each group that has a link or a copy."""
    copies = in_memory(plan, "exact", numbered(plan.buckets), "first")
    copied, times = np.unique(firsts.ranks(copies), return_counts=True)
    text = np.union1d(node, copied)
    rows = np.ones(len(text), np.int64)
    rows[np.searchsorted(text, copied)] += times
    group = text.copy()
    group[np.searchsorted(text, node)] = first
    return np.bincount(np.unique(group, return_inverse=True)[1], weights=rows).astype(np.int64)
