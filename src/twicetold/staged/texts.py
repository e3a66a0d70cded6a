"""Stages of texts: `read` parts, find `exact` copies by hashes, and number `distinct` texts."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twicetold.dedupe.distinct import folded, require_texts
from twicetold.files import write_file
from twicetold.neighbours.grouping import Ints
from twicetold.staged.arrays import Arrays, write_arrays
from twicetold.staged.bits import Bits
from twicetold.staged.plan import BLOCK, Plan, numbered
from twicetold.tables.files import choose_text, open_rows

GROUP = 1 << 13  # rows of a group of Parquet, which is the least that is read
ADDED = ("group", "representative", "probability_to_representative", "similarity_to_representative")
SCHEMA = pa.schema([("text", pa.large_string())])


def read(plan: Plan, name: str) -> dict[str, Any]:
    """A part to its texts, and to a hash of each folded text, sorted by the hash.

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
        write_file(plan.file("read", name, "parquet")) as temporary,
        pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as writer,
    ):
        column = choose_text(rows, settings.text)
        waiting: list[str] = []
        for block in rows.blocks([column], skip_bad=settings.skip_bad):
            columns.update(dict.fromkeys(block.table.column_names))
            if taken := [each for each in ADDED if each in columns]:
                raise ValueError(f"{rows.name}: there is a column {taken[0]!r} already: rename it, or leave it out")
            texts = block.texts(column)
            hashes += hashes_of(texts)
            waiting += texts
            whole = len(waiting) - len(waiting) % GROUP
            _write(writer, waiting[:whole])
            waiting = waiting[whole:]
        _write(writer, waiting)
    keys = np.frombuffer(b"".join(hashes), "<u8").reshape(-1, 2)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    content = {"row": order, "high": keys[order, 0], "low": keys[order, 1]}
    write_arrays(plan.file("read", name, "keys"), content)
    bad = {"bad": rows.bad.count, "listed": rows.bad.listed}
    return {"rows": len(keys), **bad, "text": column, "columns": [*columns]}


def hashes_of(texts: list[str]) -> list[bytes]:
    """16 bytes for each text, the same for texts that are equal in their normal form but for white space."""
    plain = require_texts(folded(pa.array(texts, pa.large_string())))
    return [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in plain.to_pylist()]


def _write(writer: pq.ParquetWriter, texts: list[str]) -> None:
    if texts:
        writer.write_table(pa.table({"text": pa.array(texts, pa.large_string())}, SCHEMA), row_group_size=GROUP)


def exact(plan: Plan, name: str) -> dict[str, Any]:
    """Rows whose folded texts have equal hashes, of a range of hashes over all parts.

    Returns:
        Their number.
    """
    rows, high, low = (np.concatenate(each) for each in zip(*_slices(plan, int(name)), strict=True))
    order = np.lexsort((rows, low, high))
    rows, high, low = rows[order], high[order], low[order]
    is_first = np.append(True, (high[1:] != high[:-1]) | (low[1:] != low[:-1]))[: len(rows)]
    first = rows[is_first][np.cumsum(is_first) - 1]
    copies = np.flatnonzero(~is_first)
    copies = copies[np.argsort(rows[copies])]
    write_arrays(plan.file("exact", name, "copies"), {"row": rows[copies], "first": first[copies]})
    return {"copies": len(copies)}


def _slices(plan: Plan, bucket: int) -> Iterator[tuple[Ints, Any, Any]]:
    step = -(-(2**64) // plan.buckets)
    least, most = bucket * step, min((bucket + 1) * step, 2**64) - 1
    for part, offset in zip(plan.names, plan.offsets[:-1], strict=True):
        found = Arrays(plan.file("read", part, "keys"))
        high = found.mapped("high")
        start = int(np.searchsorted(high, np.uint64(least)))
        stop = int(np.searchsorted(high, np.uint64(most), side="right"))
        yield tuple(  # type: ignore[misc]
            found.read(each, start, stop) + (offset if each == "row" else 0) for each in ("row", "high", "low")
        )


def copies_in(plan: Plan, start: int, stop: int) -> tuple[Ints, Ints]:
    """The rows from `start` to `stop` that are copies, ascending, and the first row of the same text for each."""
    parts = []
    for bucket in range(plan.buckets):
        found = Arrays(plan.file("exact", f"{bucket:06}", "copies"))
        rows = found.mapped("row")
        begin, end = (int(place) for place in np.searchsorted(rows, (start, stop)))
        parts.append((found.read("row", begin, end), found.read("first", begin, end)))
    row, first = (np.concatenate(side) for side in zip(*parts, strict=True))
    order = np.argsort(row)
    return row[order], first[order]


def distinct(plan: Plan, name: str) -> dict[str, Any]:
    """Find the rows that are the first of their text; those are numbered, and known by their numbers from here on.

    Returns:
        Their number; and of each block of distinct texts the first row, the one after the last, and a digest of which
        rows between these it has.
    """
    copies = [Arrays(plan.file("exact", bucket, "copies")).read("row") for bucket in numbered(plan.buckets)]
    firsts = Bits.all_but(plan.rows, np.concatenate(copies))
    firsts.write(plan.file("distinct", name, "bits"))
    return {"distinct": len(firsts), "blocks": list(_blocks(firsts))}


def _blocks(firsts: Bits) -> Iterator[list[Any]]:
    for start in range(0, len(firsts), BLOCK):
        rows = firsts.numbers(np.arange(start, min(start + BLOCK, len(firsts))))
        yield [int(rows[0]), int(rows[-1]) + 1, hashlib.sha256((rows - rows[0]).tobytes()).hexdigest()[:16]]


def firsts_of(plan: Plan) -> Bits:
    """The rows that are the first of their text."""
    return Bits.read(plan.file("distinct", "all", "bits"))


def texts_of_rows(plan: Plan, rows: Ints) -> list[str]:
    """Texts of some rows, which ascend."""
    found: list[str] = []
    ends = np.searchsorted(rows, plan.offsets)
    for number in np.flatnonzero(np.diff(ends)).tolist():
        inside = rows[ends[number] : ends[number + 1]] - plan.offsets[number]
        with pq.ParquetFile(plan.file("read", plan.names[number], "parquet")) as file:
            groups = np.unique(inside // GROUP)
            for start in range(0, len(groups), 8):
                some = groups[start : start + 8]
                here = inside[np.isin(inside // GROUP, some)]
                place = np.searchsorted(some, here // GROUP) * GROUP + here % GROUP
                texts = file.read_row_groups(some.tolist())["text"]
                found += pc.take(texts, place).to_pylist()
    return found
