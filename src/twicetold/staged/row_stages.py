"""Stages of rows: `read` parts, find `exact` copies by hashes, number `distinct` texts, and `join` parts with groups.

Shape letters: r rows of a part.
"""

import hashlib
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from twicetold.dedupe.distinct import folded, require_texts
from twicetold.dedupe.results import ADDED, PROBABILITY
from twicetold.files import write_file
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.staged.arrays import Numbers, in_memory, mapped, write_arrays
from twicetold.staged.plan import Plan, numbered
from twicetold.staged.tasks import marked
from twicetold.tables.bad_rows import table_of
from twicetold.tables.blocks import Block, decoded, one_piece
from twicetold.tables.files import choose_text, open_rows, write_rows

TEXT = pa.field("text", pa.large_string())
COLUMN = "column "  # before the name of each further column
KEY = ("row", "high", "low")  # of a part, sorted by the two halves of the hash


def read(plan: Plan, name: str) -> dict[str, Any]:
    """Read the texts of a part, the columns that options name, and a hash of each folded text, sorted by the hash.

    Returns:
        Number of its rows, and of the bad ones that were left out, with the first of them; the column with the
        texts; and names of all columns, those that JSON lines have later on among them.

    Raises:
        ValueError: if the part is damaged, has bad rows and these are not to be left out, or a column that is added.
    """
    part, settings = plan.part(name), plan.settings
    hashes: list[bytes] = []
    columns: dict[str, None] = {}
    with (
        open_rows(part.file, delimiter=settings.delimiter) as rows,
        write_file(plan.file("read", name, "arrow")) as temporary,
        ExitStack() as stack,
    ):
        column, writer = choose_text(rows, settings.text), None
        for needed in settings.columns:
            rows.require(needed)
        for block in rows.blocks([column], skip_bad=settings.skip_bad):
            columns.update(dict.fromkeys(block.table.column_names))
            if taken := [each for each in ADDED if each in columns]:
                raise ValueError(f"{rows.name}: there is a column {taken[0]!r} already: rename it, or leave it out")
            texts = block.texts(column)
            hashes += hashes_of(texts)
            values = [one_piece(decoded(block.table[each])) for each in settings.columns]
            further = zip(settings.columns, values, strict=True)
            schema = pa.schema([TEXT, *((COLUMN + each, value.type) for each, value in further)])
            writer = writer or stack.enter_context(pa.ipc.new_file(temporary, schema))
            writer.write_batch(pa.record_batch([pa.array(texts, TEXT.type), *values], schema=schema))
    keys = np.frombuffer(b"".join(hashes), "<u8").reshape(-1, 2)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    write_arrays(plan, "read", name, **dict(zip(KEY, (order, *keys[order].T), strict=True)))
    bad = {"bad": rows.bad.count, "listed": rows.bad.listed}
    return {"rows": len(keys), **bad, "text": column, "columns": [*columns]}


def hashes_of(texts: list[str]) -> list[bytes]:
    """Return 16 bytes for each text, the same for texts that are equal in their normal form except for white space."""
    plain = require_texts(folded(pa.array(texts, pa.large_string())))
    return [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in plain.to_pylist()]


def exact(plan: Plan, name: str) -> dict[str, Any]:
    """Return rows whose folded texts have equal hashes, of a range of hashes over all parts.

    Of each text that several have, the first row is written, and the row whose text sorts last.

    Returns:
        Their number.
    """
    step = -(-(2**64) // plan.buckets)
    least, most = int(name) * step, min((int(name) + 1) * step, 2**64) - 1
    slices = []
    for part, offset in zip(plan.names, plan.offsets[:-1], strict=True):
        row, high, low = (mapped(plan, "read", part, kind) for kind in KEY)
        inside = slice(np.searchsorted(high, np.uint64(least)), np.searchsorted(high, np.uint64(most), side="right"))
        slices.append((row[inside] + offset, high[inside], low[inside]))
    rows, high, low = map(np.concatenate, zip(*slices, strict=True))
    order = np.lexsort((rows, low, high))
    rows, high, low = rows[order], high[order], low[order]
    is_first = np.append(True, (high[1:] != high[:-1]) | (low[1:] != low[:-1]))[: len(rows)]
    first = rows[is_first][np.cumsum(is_first) - 1]
    copies = np.flatnonzero(~is_first)
    copies = copies[np.argsort(rows[copies])]
    row, first = rows[copies], first[copies]
    copied, place = np.unique(first, return_inverse=True)
    last, last_text = copied.copy(), texts_of_rows(plan, copied)
    for each, text, number in zip(row.tolist(), texts_of_rows(plan, row), place.tolist(), strict=True):
        if text > last_text[number]:
            last[number], last_text[number] = each, text
    write_arrays(plan, "exact", name, row=row, copied=copied, last=last)
    return {"copies": len(row)}


def distinct(plan: Plan, name: str) -> dict[str, Any]:
    """Find the rows that are the first of their text; those are numbered, and known by their numbers from here on.

    Returns:
        Their number.
    """
    copies = in_memory(plan, "exact", numbered(plan.buckets), "row")
    Numbers.write(plan, "distinct", np.sort(copies))
    return {"distinct": plan.rows - len(copies)}


def firsts_of(plan: Plan) -> Numbers:
    """Return the rows that are the first of their text."""
    return Numbers.read(plan, "distinct")


def texts_of_rows(plan: Plan, rows: Ints) -> list[str]:
    """Return texts of some rows, which ascend."""
    result: list[str] = []
    ends = np.searchsorted(rows, plan.offsets)
    for number in np.flatnonzero(np.diff(ends)).tolist():
        inside = rows[ends[number] : ends[number + 1]] - plan.offsets[number]
        with pa.memory_map(f"{plan.file('read', plan.names[number], 'arrow')}") as source:
            file, start = pa.ipc.open_file(source), 0
            for place in range(file.num_record_batches):
                texts = file.get_batch(place)["text"]
                begin, end = np.searchsorted(inside, (start, start + len(texts)))
                result += texts.take(pa.array(inside[begin:end] - start)).to_pylist()
                start += len(texts)
    return result


def values_of(plan: Plan, column: str) -> list[pa.Array]:
    """Return the values of a further column, an array a part."""
    parts = []
    for name in plan.names:
        with pa.memory_map(f"{plan.file('read', name, 'arrow')}") as source:
            parts.append(one_piece(pa.ipc.open_file(source).read_all()[COLUMN + column]))
    return parts


def join(plan: Plan, name: str) -> dict[str, Any]:
    """Write a part, and the rows that are dropped from it, bad ones apart.

    Returns:
        Number of the rows of either.

    Raises:
        ValueError: if the part is not as it was when it was read.
    """
    number = plan.names.index(name)
    group, representative, probability = _of_rows(plan, plan.offsets[number], plan.offsets[number + 1])
    survives = representative == np.arange(plan.offsets[number], plan.offsets[number + 1])
    start, written, columns = 0, 0, marked(plan, "read", name).result["columns"]
    with ExitStack() as stack:
        rows = stack.enter_context(open_rows(plan.part(name).file, delimiter=plan.settings.delimiter))
        write = stack.enter_context(write_rows(plan.file("join", name, "parquet")))
        drop = stack.enter_context(write_rows(plan.file("join", name, "dropped"))) if plan.settings.drop else None
        column = choose_text(rows, plan.settings.text)
        if drop is not None:
            rows.bad.rows = []
        for block in rows.blocks([column], skip_bad=plan.settings.skip_bad):
            rows_of_block = slice(start, start + len(block))
            start += len(block)
            if start > len(group):
                break
            added = {
                "group": pa.array(group[rows_of_block]),
                "representative": pa.array(representative[rows_of_block] + 1),
                PROBABILITY: pa.array(probability[rows_of_block]),
            }
            block = _with_all(block, columns).with_columns(added)
            if drop is not None:
                drop(block.where(~survives[rows_of_block]))
                block = block.where(survives[rows_of_block])
            written += len(block)
            write(block)
        if start != len(group) or not plan.part(name).unchanged:
            raise ValueError(f"{rows.name} was changed while it was read: run the same command again")
    plan.file("join", name, "bad").unlink(missing_ok=True)
    if rows.bad.rows:
        with write_rows(plan.file("join", name, "bad")) as write:
            write(table_of(rows.bad.rows, rows.unit))
    return {"rows": written, "dropped": start - written}


def _with_all(block: Block, columns: list[str]) -> Block:
    """Return the rows with all columns; JSON lines may have some in later rows alone."""
    table = block.table
    for name in columns:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(block), pa.string()))
    return replace(block, table=table)


def _of_rows(plan: Plan, start: int, stop: int) -> tuple[Ints, Ints, Floats]:
    """Return (r,) group, row of the representative, and probability, of consecutive rows."""
    group, row, probability = (mapped(plan, "compare", "all", kind) for kind in ("group", "row", "probability"))
    return group[start:stop], row[start:stop], probability[start:stop]
