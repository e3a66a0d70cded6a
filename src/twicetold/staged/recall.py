"""`recall`: the links of a sample of texts with a block, by comparing each with all of it."""

from typing import Any

import numpy as np

from twicetold.neighbours.dense_joining import links_between
from twicetold.staged.arrays import Arrays
from twicetold.staged.encode import block
from twicetold.staged.links import in_numbers, write_links
from twicetold.staged.plan import Plan, bounds


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find them.

    Returns:
        Their number.
    """
    sampled = Arrays(plan.file("centres", "all", "centres"))
    numbers = np.arange(*bounds(name, plan.distinct))
    least = plan.known.least - plan.known.constant
    found = links_between(sampled.read("vectors"), block(plan, name), least)
    links = in_numbers([found], sampled.read("asked"), numbers)
    return {"links": write_links(plan.file("recall", name, "links"), links)}
