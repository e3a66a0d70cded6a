"""The tables of public datasets: malformed rows are left out and counted, as nobody can correct them.

Shape letters: R rows of a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.tables.bad_rows import LISTED
from twicetold.tables.blocks import is_utf8, one_piece
from twicetold.tables.reading import Delimited
from twicetold.tables.streams import naming

MAX_BAD_ROWS = 0.01
"""Share of the rows of a file that may be left out."""
SEPARATORS = {"\t": "tab", ",": "comma"}

Malformed = Mapping[str, NDArray[np.int64]]
"""Reason -> lines (from 1) that were left out for it."""


@dataclass(frozen=True)
class PublicTable:
    """The sound rows of a file as columns of text, and the lines of the others by reason."""

    table: pa.Table
    lines: NDArray[np.int64]
    """(R,) line of the file, from 1, on which each row begins."""
    malformed: Malformed = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.StringArray:
        """One column, in one piece."""
        return one_piece(self.table[name])

    def without(self, bad: pa.BooleanArray | pa.ChunkedArray | NDArray[np.bool_], reason: str) -> "PublicTable":
        """The rows that are not bad, with the lines of the bad ones listed under `reason`."""
        mask: NDArray[np.bool_] = np.asarray(bad)
        if not mask.any():
            return self
        lines = np.concatenate([self.malformed.get(reason, np.empty(0, np.int64)), self.lines[mask]])
        return replace(
            self,
            table=self.table.filter(pa.array(~mask)),
            lines=self.lines[~mask],
            malformed={**self.malformed, reason: np.sort(lines)},
        )

    def account(self, file: str, *, max_bad_rows: float = MAX_BAD_ROWS) -> dict[str, Any]:
        """What a card says about the rows: how many there were, how many were left out for what, and where.

        Args:
            file: its name, for the message.
            max_bad_rows: share of the rows that may be malformed.

        Raises:
            ValueError: if more rows are malformed, or none is sound.
        """
        if not 0 <= max_bad_rows <= 1:
            raise ValueError(f"max_bad_rows is a share from 0 to 1, got {max_bad_rows}")
        card = card_of(len(self), self.malformed)
        rows, bad = card["rows"], card["rows"] - len(self)
        if not len(self) or bad > max_bad_rows * rows:
            what = "has no sound row" if not len(self) else f"has more malformed rows than {max_bad_rows:.1%}"
            ways = "" if not len(self) else ", or allow more with +data.source.max_bad_rows=<share>"
            raise ValueError(
                f"{file} {what}: {bad:,} of {rows:,} are malformed, "
                f"{_reasons(card['malformed'], card.get('malformed_lines', {}))}. Check that the file is "
                f"whole and of this dataset{ways}"
            )
        return card


def card_of(sound: int, malformed: Mapping[str, Sequence[int] | NDArray[np.int64]]) -> dict[str, Any]:
    """For a card: `rows` of a file, those left out by reason and the first lines of each.

    Args:
        sound: number of rows that are not left out.
        malformed: lines of the others, ascending, by reason.
    """
    counts = {reason: len(lines) for reason, lines in malformed.items()}
    first = {reason: np.asarray(lines)[:LISTED].tolist() for reason, lines in malformed.items()}
    card: dict[str, Any] = {"rows": sound + sum(counts.values()), "malformed": counts}
    return {**card, "malformed_lines": first} if counts else card


def left_out(card: Mapping[str, Any]) -> str:
    """A sentence with the rows of a card that were left out, and the first lines of each reason."""
    counts, lines = card.get("malformed", {}), card.get("malformed_lines", {})
    if any(isinstance(part, Mapping) for part in counts.values()):  # file -> reason -> count
        text = "; ".join(f"{file}: {_reasons(part, lines[file])}" for file, part in counts.items())
    else:
        text = _reasons(counts, lines)
    return f"{card['rows']:,} rows, left out: {text or 'none'}"


def read_quoted(path: Path, columns: Sequence[str], *, delimiter: str = "\t") -> PublicTable:
    """Read a delimited file with a header, whose fields may be in double quotes (and then hold line ends).

    Fields are trimmed, and nothing counts as a missing value: "n/a" and "NA" are texts.

    Args:
        path: the file.
        columns: its header.
        delimiter: between fields.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty or its header is another one.
    """
    with _opened(path) as stream:
        reader = Delimited(stream, delimiter)
        if reader.columns != list(columns):
            raise ValueError(
                f"expected the {SEPARATORS.get(delimiter, delimiter)}-separated header {list(columns)}, "
                f"got {reader.columns}"
            )
        blocks, bad = zip(*reader.blocks(), strict=True)
    malformed: dict[str, list[int]] = {}
    for line, reason, *_ in (row for part in bad for row in part):
        malformed.setdefault(reason, []).append(line)
    return PublicTable(
        trimmed(pa.concat_tables([block.table for block in blocks])).combine_chunks(),
        np.concatenate([block.lines for block in blocks]),
        {reason: np.array(lines, np.int64) for reason, lines in malformed.items()},
    )


def read_unquoted(path: Path, columns: Sequence[str], *, optional: int = 0) -> PublicTable:
    """Read a tab-separated file without header, in which quotes are literal text and every line is a row.

    Args:
        path: the file.
        columns: names of the fields of a row. A line with another number of fields is malformed.
        optional: number of further fields that a row may have, all or none; they are dropped.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty.
    """
    with _opened(path) as stream:
        data = stream.read()
        if not data.strip():
            raise ValueError("is empty: expected rows")
    raw = pa.array(data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n"), pa.binary())
    lines = raw.view(pa.string())
    rows = PublicTable(pa.table({"line": lines}), np.arange(1, len(lines) + 1)).without(~is_utf8(lines), "not_utf8")
    parts = pc.split_pattern(pc.utf8_rtrim(rows.column("line"), "\r"), "\t")
    rows = replace(rows, table=pa.table({"parts": parts}))
    widths = np.asarray(pc.list_value_length(parts))
    rows = rows.without((widths != len(columns)) & (widths != len(columns) + optional), "wrong_column_count")
    parts = one_piece(rows.table["parts"])
    return replace(
        rows, table=trimmed(pa.table({name: pc.list_element(parts, place) for place, name in enumerate(columns)}))
    )


def trimmed(table: pa.Table) -> pa.Table:
    """The table with no white space around its texts."""
    return pa.table({name: pc.utf8_trim_whitespace(table[name]) for name in table.column_names})


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.name} is not in {path.parent}. Run `dvc repro download@{path.parent.name}`, which fetches it"
        )
    with path.open("rb") as stream, naming(path):
        yield stream


def _reasons(counts: Mapping[str, int], lines: Mapping[str, Sequence[int]]) -> str:
    return ", ".join(
        f"{reason} {count:,} (line {', '.join(map(str, lines[reason]))}{', …' if count > len(lines[reason]) else ''})"
        for reason, count in counts.items()
    )
