"""The file that `twicetold dedupe` and `ask` read, with its columns, and the files that `dedupe` writes.

Shape letters: n rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.commands._options import Reading, file_format
from twicetold.commands._progress import progress, tell_left_out
from twicetold.dedupe.results import ADDED, PROBABILITY, TextGroups
from twicetold.errors import require
from twicetold.files import lock_beside, one_at_a_time, write_file
from twicetold.tables.bad_rows import LISTED, BadRow, shown, table_of
from twicetold.tables.blocks import Block, as_text, decoded, one_piece
from twicetold.tables.columns import strings_of
from twicetold.tables.files import choose_text, open_rows, write_rows
from twicetold.tables.streams import format_of

SAME = "same"  # of a file of pairs: whether a person says that they are duplicates
PAIRS = 1 << 14  # whose texts are held at a time


@dataclass(frozen=True)
class TextFile:
    """A file of texts, all of it.

    Args:
        name: for messages.
        format: that it has.
        unit: what the places of rows count, `line` or `row`.
        blocks: its sound rows.
        texts: n of them.
        id_column: with the ids; None: rows are named by their numbers from 1.
        delimiter: between the fields of .csv files that are written.
        bad: rows that were left out.
    """

    name: str
    format: str
    unit: str
    blocks: list[Block]
    texts: list[str]
    id_column: str | None = None
    delimiter: str | None = None
    bad: Sequence[BadRow] = ()

    @classmethod
    def read(
        cls,
        file: str,
        reading: Reading,
        *,
        id_column: str | None = None,
        needed: Sequence[str] = (),
        added: Sequence[str] = ADDED,
    ) -> "TextFile":
        """Read a file, or of a folder of parts the texts and the columns that are needed; bad rows are told on stderr.

        Args:
            file: its path, or `-`.
            reading: options by which it is read.
            id_column: the column with the ids, if there is one.
            needed: further columns that must be there.
            added: columns that are added, so that no column of the file may have their names.

        Raises:
            ValueError: if a column is not there or has the name of one that is added, there are no rows, or an id is
                missing or there twice.
        """
        named = [*needed, *([] if id_column is None else [id_column])]
        bad, blocks, texts = list[BadRow](), list[Block](), list[str]()
        for part in _parts(file) if (folder := Path(file).is_dir()) else [file]:
            with progress(f"reading {part}"), open_rows(part, **file_format(reading.format)) as rows:
                column = choose_text(rows, reading.text)
                if taken := [name for name in added if name in rows.columns]:
                    raise ValueError(f"{rows.name}: there is a column {taken[0]!r} already: rename it, or leave it out")
                for name in named:
                    rows.require(name)
                rows.bad.rows = bad
                for block in rows.blocks([column], skip_bad=reading.skip_bad):
                    places = len(texts) + np.arange(1, 1 + len(block))
                    blocks.append(Block(block.table.select({*named}), places) if folder else block)
                    texts += block.texts(column)
            tell_left_out(rows.bad)
        if not texts:
            raise ValueError(f"{file}: there are no rows to group")
        name, unit = (file, "row") if folder else (rows.name, rows.unit)
        file_of_texts = cls(name, rows.format, unit, blocks, texts, id_column, rows.delimiter, bad)
        file_of_texts._check_ids()
        return file_of_texts

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return list(self.blocks[0].table.column_names)

    def column(self, name: str) -> pa.Array:
        """Return (n,) values of a column; categories are their values.

        Raises:
            ValueError: unless there is one column of this name.
        """
        require(
            self.columns.count(name) == 1, f"{self.name}: the column {name!r} is there {self.columns.count(name)} times"
        )
        parts = [decoded(part) for block in self.blocks for part in block.table[name].chunks]
        if len({part.type for part in parts}) > 1:  # of a folder
            parts = [pa.array(strings_of(part), pa.string()) for part in parts]
        return one_piece(pa.chunked_array(parts))

    @cached_property
    def names(self) -> pa.Array:
        """(n,) the id of each row, or its number from 1."""
        return pa.array(np.arange(1, len(self.texts) + 1)) if self.id_column is None else self.column(self.id_column)

    @cached_property
    def _texts(self) -> pa.Array:
        return pa.array(self.texts, pa.large_string())

    def lines(self, rows: NDArray[Any]) -> str:
        """Return places of rows, for a message: the first ones, and the number of others."""
        places = np.concatenate([block.lines for block in self.blocks])[rows[:LISTED]].tolist()
        more = f" and {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
        return f"{self.unit}{'s' if len(rows) > 1 else ''} {', '.join(map(str, places))}{more}"

    def _check_ids(self) -> None:
        if self.id_column is None:
            return
        about = f"{self.name}: column {self.id_column!r}"
        try:
            ids = pc.utf8_trim_whitespace(as_text(self.names))
        except pa.ArrowException as error:
            raise ValueError(f"{about}: expected ids that are texts or numbers, got {self.names.type}") from error
        empty = np.flatnonzero(pc.fill_null(pc.equal(ids, ""), True).to_numpy(zero_copy_only=False))
        if len(empty):
            raise ValueError(f"{about}: expected an id in each row, got none in {self.lines(empty)}")
        codes = ids.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        often = np.flatnonzero(np.bincount(codes) > 1)
        if len(often):
            rows = np.flatnonzero(codes == codes[np.isin(codes, often)][0])
            others = f" {len(often) - 1:,} more ids are there several times." if len(often) > 1 else ""
            raise ValueError(
                f"{about}: expected ids that differ, got {shown(ids[int(rows[0])].as_py())} in {self.lines(rows)}."
                f"{others} Name a column with other ids, or leave --id out: rows then have numbers"
            )

    def with_groups(self, groups: TextGroups, chosen: NDArray[np.bool_]) -> Iterator[Block]:
        """Yield rows with the columns that are added, by (n,) whether each is written."""
        columns = {
            "group": pa.array(groups.group),
            "representative": self.names.take(pa.array(groups.representative)),
            PROBABILITY: pa.array(groups.probability),
        }
        start = 0
        for block in self.blocks:
            added = {name: each.slice(start, len(block)) for name, each in columns.items()}
            yield block.with_columns(added).where(chosen[start : start + len(block)])
            start += len(block)

    def links(self, groups: TextGroups) -> Iterator[Block]:
        """Yield a row a pair, some at a time; the score of texts equal except for case and white space is empty."""
        again = np.flatnonzero(groups.exact != np.arange(len(self.texts)))
        left, right = np.append(groups.links.left, groups.exact[again]), np.append(groups.links.right, again)
        score = np.append(groups.links.score, np.full(len(again), np.nan))
        probability = np.append(groups.links.probability, np.ones(len(again)))
        order = np.lexsort((right, left))
        for start in range(0, max(1, len(order)), PAIRS):
            part = order[start : start + PAIRS]
            exact = part >= len(groups.links)
            columns = {
                "score": pa.array(score[part], from_pandas=True),
                "probability": pa.array(probability[part]),
                "exact": pa.array(exact),
            }
            if groups.why is not None:
                reasons = np.full(len(part), None, object)
                reasons[~exact] = groups.why(part[~exact])
                columns["why"] = pa.array(reasons, pa.string())
            yield self.pairs(left[part], right[part], columns)

    def pairs(
        self,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        columns: Mapping[str, Any],
        *,
        other: "TextFile | None" = None,
    ) -> Block:
        """Return a row a pair, with the names of both rows, their texts, and further columns.

        Args:
            left: rows of this file.
            right: rows of this file, or of the other one.
            columns: values by name.
            other: file with the rows on the right.
        """
        other = other or self
        sides = {
            "left": self.names.take(pa.array(left)),
            "right": other.names.take(pa.array(right)),
            "left_text": self._texts.take(pa.array(left)),
            "right_text": other._texts.take(pa.array(right)),
        }
        return Block(pa.table({**sides, **columns}), np.arange(1, len(left) + 1), added=tuple(columns))


def write_files(
    read: TextFile,
    groups: TextGroups,
    files: Mapping[str, str | None],
    *,
    drop: bool,
    format: str | None,
) -> None:
    """Write rows with their groups, links and a page.

    Rows that are kept and those that are not are of one run: all are written before the first file is there, the former
    rows are gone before the others take their places, and another run waits.

    Args:
        read: the texts.
        groups: of the texts.
        files: those of `rows`, `links`, `page`, `dropped rows` and `bad rows`; None: it is not written.
        drop: write representatives alone to `rows`.
        format: of `rows` and `dropped rows`, if their names do not say it.
    """
    survives: NDArray[np.bool_] = groups.representative == np.arange(len(read.texts))
    tables: dict[str, Callable[[], Iterator[Block]]] = {
        "rows": lambda: read.with_groups(groups, survives if drop else np.ones_like(survives)),
        "dropped rows": lambda: read.with_groups(groups, ~survives),
        "bad rows": lambda: iter([table_of(read.bad, read.unit)]),
        "links": lambda: read.links(groups),
    }
    kept = None if files["dropped rows"] is None else Path(str(files["rows"])).resolve()
    with ExitStack() as renamed_last_first:
        if kept is not None:
            renamed_last_first.enter_context(one_at_a_time(lock_beside(kept)))
        for what, blocks in tables.items():
            if (file := files[what]) is not None:
                chosen = format_of(file, read.format if what == "links" else format or read.format)
                together = kept is not None and what != "links"
                place = renamed_last_first.enter_context(write_file(Path(file).resolve())) if together else file
                with write_rows(place, format=chosen, delimiter=read.delimiter) as write:
                    for block in blocks():
                        write(block if chosen == "parquet" else block.rounded())
        if kept is not None:
            kept.unlink(missing_ok=True)
    if (file := files["page"]) is not None:
        groups.html(read.names.to_pylist()).write(file)


def _parts(folder: str) -> list[str]:
    from twicetold.commands._console import tell
    from twicetold.staged.parts import parts_of

    return [part.file for part in parts_of(Path(folder), tell)]
