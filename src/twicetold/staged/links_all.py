"""`links_all`: the links of a block of dense vectors with itself and with all later blocks, without cells."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from twicetold.staged.cells import Pairs, links_between
from twicetold.staged.encode import block
from twicetold.staged.links import write_links
from twicetold.staged.plan import Plan, bounds


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find them.

    Returns:
        Their number, and how many pairs were compared.
    """
    least = plan.known.least - plan.known.constant
    left, numbers = block(plan, name), np.arange(*bounds(name, plan.distinct))
    compared = len(numbers) * (len(numbers) - 1) // 2

    def found() -> Iterator[Pairs]:
        nonlocal compared
        yield from links_between(left, numbers, left, numbers, least, same=True)
        for later in plan.blocks[int(name) + 1 :]:
            others = np.arange(*bounds(later, plan.distinct))
            compared += len(numbers) * len(others)
            yield from links_between(left, numbers, block(plan, later), others, least)

    links = write_links(plan.file("links_all", name, "links"), found())
    return {"links": links, "compared": compared}
