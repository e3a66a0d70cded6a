"""`join`: a part with the group, the representative and the probability of each row.

Shape letters: r rows of the part.
"""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from twicetold.neighbours.grouping import Floats, Ints
from twicetold.staged.arrays import Arrays
from twicetold.staged.bits import Bits
from twicetold.staged.plan import Plan
from twicetold.staged.tasks import marked
from twicetold.staged.texts import copies_in, firsts_of
from twicetold.tables.blocks import Block
from twicetold.tables.files import choose_text, open_rows, write_rows


def join(plan: Plan, name: str) -> dict[str, Any]:
    """Write a part, and the rows that are dropped from it.

    Returns:
        Number of the rows of either.

    Raises:
        ValueError: if the part is not as it was when it was read.
    """
    number = plan.names.index(name)
    group, representative, probability = _of_rows(plan, plan.offsets[number], plan.offsets[number + 1])
    measure = "probability" if plan.known.calibrated else "similarity"
    kept = representative == np.arange(plan.offsets[number], plan.offsets[number + 1])
    start, written, columns = 0, 0, marked(plan, "read", name).found["columns"]
    with ExitStack() as stack:
        rows = stack.enter_context(open_rows(plan.part(name).file, delimiter=plan.settings.delimiter))
        write = stack.enter_context(write_rows(plan.file("join", name, "parquet")))
        drop = stack.enter_context(write_rows(plan.file("join", name, "dropped"))) if plan.settings.drop else None
        column = choose_text(rows, plan.settings.text)
        for block in rows.blocks([column], skip_bad=plan.settings.skip_bad):
            here = slice(start, start + len(block))
            start += len(block)
            if start > len(group):
                break
            added = {
                "group": pa.array(group[here]),
                "representative": pa.array(representative[here] + 1),
                f"{measure}_to_representative": pa.array(probability[here]),
            }
            block = _with_all(block, columns).with_columns(added)
            if drop is not None:
                drop(block.where(~kept[here]))
                block = block.where(kept[here])
            written += len(block)
            write(block)
        if start != len(group) or not plan.part(name).unchanged:
            raise ValueError(f"{rows.name} was changed while it was read: run the same command again")
    return {"rows": written, "dropped": start - written}


def _with_all(block: Block, columns: list[str]) -> Block:
    """The rows with all columns; JSON lines may have some in later rows alone."""
    table = block.table
    for name in columns:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(block), pa.string()))
    return replace(block, table=table)


def _of_rows(plan: Plan, start: int, stop: int) -> tuple[Ints, Ints, Floats]:
    """(r,) group, row of the representative, and probability, of consecutive rows."""
    firsts, groups = firsts_of(plan), Bits.read(plan.file("number", "all", "bits"))
    first = np.arange(start, stop)
    row, of_row = copies_in(plan, start, stop)
    first[row - start] = of_row
    text = firsts.ranks(first)
    file = Arrays(plan.file("number", "all", "groups"))
    node = file.mapped("node")
    place = np.searchsorted(node, text)
    linked = np.flatnonzero(place < len(node))
    linked = linked[node[place[linked]] == text[linked]]
    at = place[linked]
    group, representative, probability = groups.ranks(text), first, np.ones(len(text))
    group[linked] = file.mapped("group")[at]
    representative[linked] = file.mapped("row")[at]
    probability[linked] = file.mapped("probability")[at]
    return group, representative, probability
