"""`links_all`: the links of a block of dense vectors with itself and with all later blocks, without cells."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from twicetold.neighbours.dense_joining import Found, Turn, links_between, pairs_above
from twicetold.staged.encode import block
from twicetold.staged.links import in_numbers, write_links
from twicetold.staged.plan import Plan, bounds


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Find them.

    Returns:
        Their number, and how many pairs were compared.
    """
    least = plan.known.least - plan.known.constant
    left, numbers = block(plan, name), np.arange(*bounds(name, plan.distinct))
    compared = len(numbers) * (len(numbers) - 1) // 2

    def found() -> Iterator[Found]:
        nonlocal compared
        whole = pairs_above((left, left), least, most=len(left) ** 2)
        assert whole is not None
        yield from in_numbers([whole], numbers, numbers)
        turn = Turn.of((left, left), least)
        heads = turn.reduced(left)
        for later in plan.blocks[int(name) + 1 :]:
            others, right = np.arange(*bounds(later, plan.distinct)), block(plan, later)
            compared += len(numbers) * len(others)
            links = links_between(left, right, least, reduced=(heads, turn.reduced(right)))
            yield from in_numbers([links], numbers, others)

    links = write_links(plan.file("links_all", name, "links"), found())
    return {"links": links, "compared": compared}
