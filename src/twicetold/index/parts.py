"""The texts of several parts, numbered through; removed texts have numbers, too.

Shape letters: M texts of all parts, R rows.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from twicetold.index.segments import Segment
from twicetold.index.texts import SCHEMA, taken
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import Matrix


def numbered(segments: Sequence[Segment]) -> Iterator[tuple[int, Segment]]:
    """The parts of an index, each with the number of its first text."""
    first = 0
    for segment in segments:
        yield first, segment
        first += len(segment)


def count_of(segments: Sequence[Segment]) -> int:
    """M, with the texts that were removed."""
    return sum(map(len, segments))


def groups_of(segments: Sequence[Segment]) -> Ints:
    """(M,) group of each text."""
    return np.concatenate([np.empty(0, np.int64), *(segment.groups for segment in segments)])


def in_groups(segments: Sequence[Segment], groups: Ints) -> list[Segment]:
    """The same parts with other groups of their (M,) texts; a part whose groups do not change stays as it is."""
    return [segment.in_groups(groups[first : first + len(segment)]) for first, segment in numbered(segments)]


def alive_of(segments: Sequence[Segment]) -> NDArray[np.bool_]:
    """(M,) which texts have not been removed."""
    return np.concatenate([np.empty(0, bool), *(segment.alive for segment in segments)])


def table_of(segments: Sequence[Segment]) -> pa.Table:
    """Id, text and group of all texts that have not been removed, sorted by group."""
    parts = [part.texts.table.set_column(2, "group", pa.array(part.groups)) for part in segments]
    alive = [part.filter(pa.array(segment.alive)) for part, segment in zip(parts, segments, strict=True)]
    table = pa.concat_tables([SCHEMA.empty_table(), *(part.cast(SCHEMA) for part in alive)])
    return taken(table, np.argsort(table["group"].to_numpy(), kind="stable"))


def rows_of(segments: Sequence[Segment], rows: Ints) -> pa.Table:
    """Ids, texts and groups of these (R,) texts, in this order."""
    order, parts = np.argsort(rows, kind="stable"), [SCHEMA.empty_table()]
    for part, own in _by_part(segments, rows[order]):
        parts.append(part.texts.at(own).set_column(2, "group", pa.array(part.groups[own])).cast(SCHEMA))
    return taken(pa.concat_tables(parts), np.argsort(order))


def rows_of_ids(segments: Sequence[Segment], ids: Sequence[str]) -> Ints:
    """(R,) number of the text of each of these distinct ids, -1 where no text has it."""
    wanted, rows = pa.array(ids, pa.string()), np.full(len(ids), -1)
    for first, segment in numbered(segments):
        place = pc.index_in(segment.texts.column("id"), value_set=wanted).to_numpy()
        own = np.flatnonzero(~np.isnan(place) & segment.alive)
        rows[place[own].astype(np.int64)] = first + own
    return rows


def vectors_of(segments: Sequence[Segment], rows: Ints) -> Matrix:
    """(R, D) vectors of these ascending texts, as documents."""
    found = [part.vectors[own] for part, own in _by_part(segments, rows)]
    if len(found) == 1:
        return found[0]
    return sparse.vstack(found, format="csr") if sparse.issparse(found[0]) else np.concatenate(found)


def _by_part(segments: Sequence[Segment], rows: Ints) -> Iterator[tuple[Segment, Ints]]:
    """The parts that have some of these ascending texts, with the rows within the part."""
    for first, segment in numbered(segments):
        start, end = np.searchsorted(rows, [first, first + len(segment)])
        if start < end:
            yield segment, rows[start:end] - first
