"""Stages of pairs: `pairs` that begin in a block, the `standing` of all among each other, and the `score` of each.

Shape letters: N texts, P pairs.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from twicetold.matching.candidates import Pairs, like_enough
from twicetold.matching.comparison import BLOCK, Comparison, View
from twicetold.matching.generic import generic_matcher
from twicetold.matching.pair_features import Standing, standings
from twicetold.staged.arrays import in_memory, mapped, write_arrays
from twicetold.staged.filed import terms_in_files, vectors_in_files
from twicetold.staged.order_stages import order_of
from twicetold.staged.plan import Plan

SIMILARITIES = ("lexical", "cosine")
OF_STANDING = ("rank", "best", "second", "total", "number")


def pairs(plan: Plan, name: str) -> dict[str, Any]:
    """Compute the similarities of the pairs whose earlier text is of a block, and leave out those that have none.

    Returns:
        P.
    """
    edges = np.multiply(plan.bounds(name), plan.distinct)
    keys = []
    for block in plan.blocks:
        some = mapped(plan, "candidates", block, "key")
        keys.append(some[slice(*np.searchsorted(some, edges))])
    key = np.unique(np.concatenate(keys))
    view = View(terms_in_files(plan), vectors_in_files(plan), no_pairs(plan))
    parts = [
        like_enough(view.at(*np.divmod(key[start : start + BLOCK], plan.distinct)).pairs)
        for start in range(0, max(len(key), 1), BLOCK)
    ]
    kinds = ("left", "right", *similarities(plan))
    write_arrays(
        plan, "pairs", name, **{kind: np.concatenate([getattr(part, kind) for part in parts]) for kind in kinds}
    )
    return {"pairs": sum(map(len, parts))}


def standing(plan: Plan, name: str) -> dict[str, Any]:
    """Rank all pairs of each text."""
    middles = {}
    for kind, each in standings(pairs_of(plan, plan.blocks)).items():
        middles[kind] = float(each.middle)
        write_arrays(plan, "standing", name, **{f"{kind}-{part}": getattr(each, part) for part in OF_STANDING})
    return {"middle": middles}


def score(plan: Plan, name: str) -> dict[str, Any]:
    """Compute the log odds of the pairs of a block."""
    number = plan.blocks.index(name)
    before = sum(len(mapped(plan, "pairs", each, "left")) for each in plan.blocks[:number])
    found = comparison_of(plan, [name], before)
    write_arrays(plan, "score", name, score=found.log_odds)
    return {}


def filed_comparison(plan: Plan) -> Comparison:
    """Return the comparison of all texts, once their pairs have scores; files are read as they are asked for."""
    return replace(comparison_of(plan, plan.blocks), known=in_memory(plan, "score", plan.blocks, "score"))


def comparison_of(plan: Plan, names: Sequence[str], before: int = 0) -> Comparison:
    """Return the comparison of all texts, by the pairs of some blocks.

    Args:
        plan: whose texts these are.
        names: of consecutive blocks.
        before: number of pairs of the blocks before them.
    """
    pairs = pairs_of(plan, names)
    some = slice(before, before + len(pairs))
    standings = {}
    for kind in similarities(plan):
        parts = {part: mapped(plan, "standing", "all", f"{kind}-{part}") for part in OF_STANDING}
        parts["rank"] = parts["rank"][:, some]
        standings[kind] = Standing(**parts, middle=np.float32(plan.middle[kind]))
    view = View(terms_in_files(plan), vectors_in_files(plan), pairs, standings)
    matcher = generic_matcher(plan.settings.sense, vectors=bool(plan.width))
    return Comparison(order_of(plan), [view], matcher)


def pairs_of(plan: Plan, names: Sequence[str]) -> Pairs:
    """Return the pairs of consecutive blocks."""
    kinds = ("left", "right", *similarities(plan))
    columns: dict[str, Any] = {kind: in_memory(plan, "pairs", names, kind) for kind in kinds}
    return Pairs(**{"cosine": None, **columns}, count=plan.distinct, unfinished=plan.unfinished)


def similarities(plan: Plan) -> tuple[str, ...]:
    """Name the similarities that pairs have."""
    return SIMILARITIES if plan.width else SIMILARITIES[:1]


def no_pairs(plan: Plan) -> Pairs:
    """Return no pair of the N texts."""
    none = np.empty(0, np.float32)
    return Pairs(plan.distinct, np.empty(0, np.int64), np.empty(0, np.int64), none, none)
