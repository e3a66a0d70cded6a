"""A manifest and parts, and the state of an index after a change. Nothing is written; no model is needed.

The texts of several parts are numbered through; removed texts have numbers, too. Ids that are given are distinct,
others are numbers.

Shape letters: N texts, M texts of all parts with those that were removed, R rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from twicetold.index.folder import IndexManifest
from twicetold.index.segments import REMOVED, Segment
from twicetold.index.texts import SCHEMA
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import Matrix
from twicetold.tables.texts import TextsLike, texts_of

MERGE_BELOW = 2  # a part with fewer texts than this many times those of the next one is merged with it


@dataclass(frozen=True)
class IndexState:
    """An index at one time.

    Args:
        manifest: what is known besides the parts.
        segments: the parts.
    """

    manifest: IndexManifest
    segments: Sequence[Segment] = ()

    def __len__(self) -> int:
        return sum(segment.count for segment in self.segments)

    def in_groups(self, groups: Ints) -> "IndexState":
        """Return a state with other groups of the (M,) texts; a part whose groups do not change stays as it is."""
        own = ((segment, groups[first : first + len(segment)]) for first, segment in numbered(self.segments))
        return replace(self, segments=[segment.in_groups(its) for segment, its in own])

    def with_part(self, fresh: Segment) -> "IndexState":
        """Return a state with a further part, merged with small ones before it, as a log-structured merge tree does.

        (O'Neil et al. 1996.)
        """
        kept, merging, size = list(self.segments), [fresh], fresh.count
        while kept and kept[-1].count < MERGE_BELOW * size:
            merging.insert(0, kept.pop())
            size += merging[0].count
        return replace(self, segments=[*kept, Segment.merged(merging)])

    def without(self, ids: TextsLike) -> "IndexState":
        """Return a state without some texts. The groups of the others stay as they are, and so do their ids.

        Raises:
            ValueError: if there is no text of an id, or an id is given twice.
            TypeError: if one id is given in place of several.
        """
        names = distinct(ids)
        rows = rows_of_ids(self.segments, names)
        if unknown := [names[place] for place in np.flatnonzero(rows < 0).tolist()]:
            raise ValueError(f"the index has no text with the id {some(unknown)}: nothing was removed")
        groups = groups_of(self.segments)
        groups[rows] = REMOVED
        left = [segment for segment in self.in_groups(groups).segments if segment.count]
        return replace(self, segments=[Segment.merged([s]) if 2 * s.count < len(s) else s for s in left])


def names_of(texts: Sequence[str], ids: TextsLike | None, *, first: int) -> list[str]:
    """Return the ids of new texts: those given, or numbers from `first` on.

    Raises:
        ValueError: if there are more or fewer ids than texts; and as `distinct` does.
        TypeError: as `distinct` does.
    """
    if ids is None:
        return [str(first + number) for number in range(len(texts))]
    names = distinct(ids)
    if len(names) != len(texts):
        raise ValueError(f"expected an id for each text, got {len(names)} ids for {len(texts)} texts")
    return names


def distinct(ids: TextsLike) -> list[str]:
    """Return ids, each of which is there once.

    Args:
        ids: a list, another iterable, or a column.

    Raises:
        ValueError: if an id is given twice.
        TypeError: if one id is given in place of several, or one is no text.
    """
    if isinstance(ids, str):
        raise TypeError(f"expected a list of ids, got one: put it in a list, [{ids!r}]")
    try:
        names = list(texts_of(ids))
    except TypeError as error:
        raise TypeError(f"expected ids that are texts, such as map(str, numbers): {error}") from error
    counts = pa.array(names, pa.string()).value_counts()
    if twice := counts.field("values").filter(pc.greater(counts.field("counts"), 1)).to_pylist():
        raise ValueError(f"the id {some(twice)} is given twice: ids are distinct")
    return names


def some(names: Sequence[str]) -> str:
    """Return names for a message: the first three, and how many others there are."""
    shown = ", ".join(repr(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} others"


def numbered(segments: Sequence[Segment]) -> Iterator[tuple[int, Segment]]:
    """Yield the parts of an index, each with the number of its first text."""
    first = 0
    for segment in segments:
        yield first, segment
        first += len(segment)


def count_of(segments: Sequence[Segment]) -> int:
    """Return M, with the texts that were removed."""
    return sum(map(len, segments))


def groups_of(segments: Sequence[Segment]) -> Ints:
    """Return (M,) group of each text, `REMOVED` of one that was removed."""
    return np.concatenate([np.empty(0, np.int64), *(segment.groups for segment in segments)])


def table_of(segments: Sequence[Segment]) -> pa.Table:
    """Return id, text and group of all texts that have not been removed, sorted by group."""
    parts = [part.texts.table.set_column(2, "group", pa.array(part.groups)) for part in segments]
    alive = [part.filter(pa.array(segment.alive)) for part, segment in zip(parts, segments, strict=True)]
    table = pa.concat_tables([SCHEMA.empty_table(), *alive])
    return table.take(pa.array(np.argsort(table["group"].to_numpy(), kind="stable")))


def rows_of(segments: Sequence[Segment], rows: Ints) -> pa.Table:
    """Return ids, texts and groups of these (R,) texts, in this order."""
    order, parts = np.argsort(rows, kind="stable"), [SCHEMA.empty_table()]
    for part, own in _by_part(segments, rows[order]):
        parts.append(part.texts.table.take(pa.array(own)).set_column(2, "group", pa.array(part.groups[own])))
    return pa.concat_tables(parts).take(pa.array(np.argsort(order)))


def rows_of_ids(segments: Sequence[Segment], ids: Sequence[str]) -> Ints:
    """Return (R,) number of the text of each of these distinct ids, -1 where no text has it."""
    wanted, rows = pa.array(ids, pa.large_string()), np.full(len(ids), -1)
    for first, segment in numbered(segments):
        place = pc.index_in(segment.texts.column("id"), value_set=wanted).to_numpy()
        own = np.flatnonzero(~np.isnan(place) & segment.alive)
        rows[place[own].astype(np.int64)] = first + own
    return rows


def vectors_of(segments: Sequence[Segment], rows: Ints) -> Matrix:
    """Return (R, D) vectors of these ascending texts, as documents."""
    found = [part.vectors[own] for part, own in _by_part(segments, rows)]
    if len(found) == 1:
        return found[0]
    return sparse.vstack(found, format="csr") if sparse.issparse(found[0]) else np.concatenate(found)


def _by_part(segments: Sequence[Segment], rows: Ints) -> Iterator[tuple[Segment, Ints]]:
    """Yield the parts that have some of these ascending texts, with the rows within the part."""
    for first, segment in numbered(segments):
        start, end = np.searchsorted(rows, [first, first + len(segment)])
        if start < end:
            yield segment, rows[start:end] - first
