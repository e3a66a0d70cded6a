"""`read`: a part to its texts, and to a hash of each folded text, sorted by the hash."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twicetold.dedupe.distinct import folded, require_texts
from twicetold.files import write_file
from twicetold.staged.arrays import write_arrays
from twicetold.staged.plan import Plan
from twicetold.tables.files import choose_text, open_rows

GROUP = 1 << 13  # rows of a group of Parquet, which is the least that is read
ADDED = ("group", "representative", "probability_to_representative", "similarity_to_representative")
SCHEMA = pa.schema([("text", pa.large_string())])


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Read a part.

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
