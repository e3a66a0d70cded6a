"""`group`: the groups of a bin of components, by the rule; rows keep their numbers of the whole.

Shape letters: K texts, L links.
"""

from typing import Any, cast

import numpy as np

from twicetold.dedupe.caution import chains_in, evenly
from twicetold.dedupe.options import Keep
from twicetold.dedupe.pairs_by_vectors import PairsByVectors
from twicetold.dedupe.representatives import representatives
from twicetold.evaluation.decision import Decision
from twicetold.neighbours.components import components
from twicetold.neighbours.grouping import Ints, Links, describe
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.components import files_of_links
from twicetold.staged.encode import lengths_of, vectors_of
from twicetold.staged.plan import Plan

SHOWN = 5  # groups that a summary shows
LOOKED_AT = 500  # links whose texts are compared


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Group.

    Returns:
        Number of links, the loosest groups of two or more texts, what holds the largest component together, groups
        that are chains (`caution.Chains`), and some of the links.
    """
    texts, links = _links(plan, int(name))
    known, vectors = plan.known, vectors_of(plan, texts)
    decision = Decision(known.least, known.slope, known.intercept)
    pairs = PairsByVectors((vectors, vectors), decision, known.constant, known.calibrated)
    codes = pairs.groups(links, known.least, plan.settings.rule, positions=texts)(known.least)
    keep = cast(Keep, plan.settings.keep)
    lengths = lengths_of(plan, texts) if keep == "longest" else texts
    chosen = representatives(codes, links, keep, lengths, pairs.vectors)[codes]
    probability = np.ones(len(texts))
    others = np.flatnonzero(chosen != np.arange(len(texts)))
    probability[others] = pairs.probability(pairs.score(others, chosen[others]))
    first = np.unique(codes, return_index=True)[1]
    content = {
        "node": texts,
        "first": texts[first[codes]],
        "representative": texts[chosen],
        "probability": probability,
    }
    write_arrays(plan.file("group", name, "groups"), content)
    chains, some = chains_in(codes, links, pairs, least=known.least), links.take(evenly(len(links), LOOKED_AT))
    whole = components(links.count, links.left, links.right)
    largest = np.bincount(whole).argmax()
    return {
        "links": len(links),
        "loosest": _described(codes, links, texts)[:SHOWN],
        "chains": None if chains is None else (chains.groups, *texts[list(chains[1:3])].tolist(), chains.score),
        "some": [texts[some.left].tolist(), texts[some.right].tolist(), some.similarity.tolist()],
        "component": {
            **_described(np.where(whole == largest, 0, np.arange(1, len(whole) + 1)), links, texts)[0],
            "groups": len(np.unique(codes[whole == largest])),
        },
    }


def _links(plan: Plan, number: int) -> tuple[Ints, Links]:
    """The texts of a bin, ascending, and the links between them, each once."""
    sides: dict[str, list[Any]] = {"left": [], "right": [], "dot": []}
    for name, _ in files_of_links(plan):
        file = Arrays(plan.file("route", name, "links"))
        begin, end = (int(place) for place in file.starts[number : number + 2])
        for side, found in sides.items():
            found.append(file.read(side, begin, end))
    left, right, dot = (np.concatenate(found) for found in sides.values())
    texts = np.unique(np.concatenate([left, right]))
    one, other = (np.searchsorted(texts, side) for side in (left, right))
    return texts, Links.of(len(texts), one, other, dot + plan.known.constant)


def _described(codes: Ints, links: Links, texts: Ints) -> list[dict[str, Any]]:
    """The groups of two or more texts with the link without which each falls apart, the weakest first."""
    _, codes = np.unique(codes, return_inverse=True)
    table = describe(codes, links)
    several = np.flatnonzero(table.size > 1)
    loose = several[np.lexsort((-table.size[several], links.similarity[table.weakest[several]]))]
    found = []
    for group in loose[:SHOWN].tolist():
        weakest = int(table.weakest[group])
        found.append(
            {
                "first": int(texts[np.flatnonzero(codes == group)[0]]),
                "size": int(table.size[group]),
                "density": float(table.density[group]),
                "left": int(texts[links.left[weakest]]),
                "right": int(texts[links.right[weakest]]),
                "score": float(links.similarity[weakest]),
            }
        )
    return found
