"""`missed`: the share of the links of a text that were found, on average over a sample of texts that have links.

The unit is the text, and each counts once: by links, one text with hundreds of near-copies would hold most of the share
and of its variance. The interval is that of Clopper and Pearson 1934 with as many cases as texts, which is wide enough
for shares between 0 and 1 as their variance is at most that of cases that are found or not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from twicetold.evaluation.exact_interval import exact_interval
from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays
from twicetold.staged.components import files_of_links
from twicetold.staged.links import read_links
from twicetold.staged.plan import Plan


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Compare.

    Returns:
        Texts of the sample, those with links, their links, how many of these were found, the share and its interval;
        without a share if there are no links.
    """
    asked = Arrays(plan.file("centres", "all", "centres")).read("asked")
    truth = _keys(plan, asked, (plan.file("recall", block, "links") for block in plan.blocks))
    found = np.intersect1d(truth, _keys(plan, asked, (path for _, path in files_of_links(plan))))
    there, met = (_by_text(plan, asked, keys) for keys in (truth, found))
    linked = np.flatnonzero(there)
    there, met = there[linked], met[linked]
    counts = {"asked": len(asked), "linked": len(linked), "links": int(there.sum()), "found": int(met.sum())}
    if not len(linked):
        return counts
    share = float((met / there).mean())
    low, high = exact_interval(share * len(linked), (1 - share) * len(linked))
    return {**counts, "recall": share, "low": low, "high": high}


def _keys(plan: Plan, asked: Ints, files: Iterator[Path]) -> Ints:
    """Links of the sampled texts, each as one number, once, ascending."""
    keys = [np.empty(0, np.int64)]
    for path in files:
        for links in read_links(path):
            some = links[np.isin(links["left"], asked) | np.isin(links["right"], asked)]
            keys.append(some["left"] * plan.distinct + some["right"])
    return np.unique(np.concatenate(keys))


def _by_text(plan: Plan, asked: Ints, keys: Ints) -> Ints:
    """Number of links of each sampled text."""
    ends = np.concatenate(np.divmod(keys, plan.distinct))
    return np.bincount(np.searchsorted(asked, ends[np.isin(ends, asked)]), minlength=len(asked))
