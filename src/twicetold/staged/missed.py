"""`missed`: the share of the links of a sample of texts that were found, of all that there are.

The unit is the text: the interval is by a jackknife over the sampled texts that have links (on the scale of log-odds),
or Wilson's of as many texts where nothing was missed, or nothing found. One text that misses some says nothing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from twicetold.evaluation.intervals import Interval, accuracy_interval, effective_degrees, logit_interval
from twicetold.evaluation.resampling import jackknife_variance
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
    low, high = _interval(met, there)
    return {**counts, "recall": float(met.sum() / there.sum()), "low": low, "high": high}


def _interval(met: Ints, there: Ints) -> Interval:
    total, found = int(there.sum()), int(met.sum())
    if found in (0, total):
        return accuracy_interval(len(met) if found else 0, len(met))
    if len(met) < 2:
        return 0.0, 1.0
    without = (found - met) / np.maximum(1, total - there)
    return logit_interval(found / total, jackknife_variance(without), effective_degrees(without))


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
