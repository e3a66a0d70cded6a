"""Your own documents: a CSV, TSV, JSONL or Parquet file with a column of texts and one or two of labels.

A faulty row raises an error that names it, as you can correct your own file: none is left out. `UserTable`, which
checks the rows, is also used for your own pairs.

Shape letters: R rows of the file.
"""

import codecs
import csv
import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.data.sources import document_corpus, encode
from twicetold.data.sources.delimited import is_utf8, lines_of, one_piece, records, trimmed
from twicetold.data.splits import TEST, TRAIN, VAL, Side, by_group, by_rows

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, ".jsonl", ".parquet")
LARGEST_GRADE = 1e6  # 32-bit floats, which grades become, tell numbers up to here apart by less than 0.1
SIDE_NAMES = {"train": TRAIN, "val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}


def read(
    raw: Path,
    *,
    name: str,
    path: str | Path,
    text: str,
    category: str | None = None,
    story: str | None = None,
    id: str | None = None,
    split_column: str | None = None,
    splits: Sequence[float] = (0.6, 0.2, 0.2),
    seed: int = 0,
    limit: int | None = None,
) -> Corpus:
    """Read the documents.

    Args:
        raw: not used; the file is where `path` says.
        name: of the dataset.
        path: the file, with the suffix .csv, .tsv, .jsonl or .parquet.
        text: column with the texts.
        category: column with the topic of each text. At least one of `category` and `story` is needed.
        story: column with the story of each text: two texts of one story are duplicates.
        id: column with unique names of the texts; they are numbered from 0 when None.
        split_column: column with the values train, val and test; when None, the split is drawn.
        splits: shares of train, val and test when it is drawn: of the stories (no story on two sides) when
            there is a story column, else of the texts of each category.
        seed: of the draw and of the cut to `limit`.
        limit: keep about so many documents, of every category and split; None for all.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is malformed; the message names the row and what was expected.
    """
    groups = {group: column for group, column in (("category", category), ("story", story)) if column is not None}
    if not groups:
        raise ValueError(
            "documents need a label: name a column with data.source.category=<column>, data.source.story=<column>, "
            "or both"
        )
    table = UserTable.read(Path(path), [text, *groups.values(), *(c for c in (id, split_column) if c is not None)])
    texts = table.filled(text)
    ids = pa.array([str(row) for row in range(len(texts))]) if id is None else table.unique(id)
    values = {group: table.or_null(column) for group, column in groups.items()}
    if split_column is not None:
        how, side = "column", table.sides(split_column)
    elif "story" in values:
        how, side = "story", by_group(encode(values["story"])[0], splits=splits, seed=seed)
    else:
        strata = encode(values["category"])[0]
        how, side = "rows", by_rows(len(texts), splits=splits, seed=seed, strata=strata)
    return document_corpus(
        name=name,
        ids=ids,
        texts=texts,
        side=side,
        groups=values,
        seed=seed,
        limit=limit,
        card={
            "split": how,
            **table.counts,
            "unlabelled": {group: column.null_count for group, column in values.items()},
        },
    )


@dataclass(frozen=True)
class UserTable:
    """Columns of text from a user's own file, with checks that name the faulty row."""

    path: Path
    table: pa.Table
    places: NDArray[np.int64]
    """(R,) line on which each row begins; in a Parquet file the number of the row. From 1."""
    counts: Mapping[str, int | dict[str, int]] = field(default_factory=dict)
    """For the card: `rows`; `malformed`, of which there are none; of CSV and TSV `rows_over_several_lines`, if any."""

    @classmethod
    def read(cls, path: Path, columns: Sequence[str]) -> "UserTable":
        """Read the given columns as text.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the suffix is unknown, a column is missing, the file has no rows or cannot be read.
        """
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}; got {suffix!r}")
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path.absolute()}: check data.source.path")
        chosen = list(dict.fromkeys(columns))
        several = 0
        if suffix == ".parquet":
            table, places = _read_parquet(path, chosen)
        elif suffix == ".jsonl":
            table, places = _read_jsonl(path, chosen)
        else:
            table, places, several = _read_delimited(path, chosen, DELIMITERS[suffix])
        if not table.num_rows:
            raise ValueError(f"{path} has no rows: expected at least one for each of train, val and test")
        counts: dict[str, int | dict[str, int]] = {"rows": table.num_rows, "malformed": {}}
        if several:
            counts["rows_over_several_lines"] = several
        return cls(path, trimmed(table), places, counts)

    def filled(self, column: str, expected: str = "a text") -> pa.StringArray:
        """(R,) a column in which no row may be empty."""
        values = one_piece(self.table[column])
        self._check(column, pc.not_equal(values, "").fill_null(False), expected=f"{expected}, not an empty one")
        return values

    def unique(self, column: str) -> pa.StringArray:
        """(R,) a column in which no value may be empty or repeated."""
        values = self.filled(column)
        _, first = np.unique(np.asarray(values.dictionary_encode().indices), return_index=True)
        new = np.zeros(len(values), bool)
        new[first] = True
        self._check(column, pa.array(new), expected="an id that no earlier row has")
        return values

    def or_null(self, column: str) -> pa.StringArray:
        """(R,) a column in which an empty value means that it is not known."""
        values = one_piece(self.table[column])
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
        if values.null_count == len(values):
            raise ValueError(f"{self.path}: column {column!r} is empty in every row")
        return values

    def sides(self, column: str) -> Side:
        """(R,) side of the split that each row names."""
        names = pc.utf8_lower(self.filled(column))
        places = pc.index_in(names, pa.array(list(SIDE_NAMES)))
        self._check(column, places.is_valid(), expected=f"one of {', '.join(SIDE_NAMES)}")
        sides = np.array(list(SIDE_NAMES.values()), np.int8)
        return sides.take(np.asarray(places))

    def labels(self, column: str) -> NDArray[np.float32]:
        """(R,) 1 or 0, from 1, 0, true or false."""
        names = pc.utf8_lower(self.filled(column, expected := "0, 1, true or false"))
        self._check(column, pc.is_in(names, pa.array(["0", "1", "true", "false"])), expected=expected)
        return np.asarray(pc.is_in(names, pa.array(["1", "true"]))).astype(np.float32)

    def grades(self, column: str) -> NDArray[np.float32]:
        """(R,) numbers, none larger than `LARGEST_GRADE` in either direction."""
        expected = f"a number from {-LARGEST_GRADE:,.0f} to {LARGEST_GRADE:,.0f}"
        values = self.filled(column, expected)
        number = pc.match_substring_regex(values, r"^[+-]?([0-9]{1,30}\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$")
        self._check(column, number, expected=expected)
        grades = np.asarray(pc.cast(pc.utf8_ltrim(values, "+"), pa.float64()))
        self._check(column, pa.array(np.abs(grades) <= LARGEST_GRADE), expected=expected)
        return grades.astype(np.float32)

    def _check(self, column: str, good: pa.BooleanArray, *, expected: str) -> None:
        bad = np.flatnonzero(~np.asarray(good))
        if len(bad):
            got = _shown(self.table[column][int(bad[0])].as_py())
            more = f" ({len(bad):,} rows are like this)" if len(bad) > 1 else ""
            where = f"{_unit(self.path)} {self.places[bad[0]]}"
            raise ValueError(f"{self.path}, {where}, column {column!r}: expected {expected}; got {got}{more}")


def _read_delimited(path: Path, columns: list[str], delimiter: str) -> tuple[pa.Table, NDArray[np.int64], int]:
    lines = lines_of(_decoded(path))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise ValueError(f"{path}, line 1: expected a header with the names of the columns; {error}") from error
    _require_columns(path, columns, header)
    found = records(lines, delimiter=delimiter, width=len(header), start=reader.line_num)
    if found.malformed:
        raise ValueError(f"{path}, {_first_fault(found.malformed, lines, delimiter, header)}")
    table = pa.table({name: found.column(header.index(name)) for name in columns})
    return table, np.array(found.lines, np.int64), found.several


def _first_fault(
    malformed: Sequence[tuple[int, str]], lines: Sequence[str], delimiter: str, header: Sequence[str]
) -> str:
    """The first malformed line, what to do about it, and how many there are."""
    line, reason = malformed[0]
    if reason == "wrong_column_count":
        fields = next(csv.reader(lines[line - 1 :], delimiter=delimiter))
        what = (
            f"expected {len(header)} fields ({', '.join(header)}), got {len(fields)}. A field that holds the "
            'separator, a quote or a line end must be in double quotes, and its own quotes doubled ("")'
        )
    elif reason == "field_too_long":
        what = f"a field has more than {csv.field_size_limit():,} characters. Keep such texts in .jsonl or .parquet"
    else:
        what = (
            "a field begins with a quote, and no quote before a separator or a line end closes it (or it closes after "
            "swallowing other rows). A field that holds a quote must be in double quotes, and its own quotes doubled "
            '(""). If the file quotes nothing, docs/your-own-data.md has a command that quotes its fields'
        )
    counts = Counter(reason for _, reason in malformed)
    others = ", ".join(f"{reason} {count:,}" for reason, count in counts.items())
    return f"line {line}: {what}" + (f". Malformed lines in all: {others}" if len(malformed) > 1 else "")


def _read_jsonl(path: Path, columns: list[str]) -> tuple[pa.Table, NDArray[np.int64]]:
    rows: list[list[str | None]] = []
    places: list[int] = []
    for line, text in _json_lines(_decoded(path)):
        try:
            row = json.loads(text)
            if not isinstance(row, dict):
                raise ValueError(f"got {_shown(text)}")
            _require_columns(path, columns, list(row), where=f", line {line}")
            values = [_as_text(row[column]) for column in columns]
            "".join(value or "" for value in values).encode()
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {line}: expected one JSON object; {error.msg} at {error.colno}") from error
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{path}, line {line}: expected text, got half of a surrogate pair (\\ud800 to \\udfff). Correct or "
                "remove it"
            ) from error
        except RecursionError as error:
            raise ValueError(f"{path}, line {line}: the JSON object is nested too deeply") from error
        except _MissingColumnError:
            raise
        except ValueError as error:  # not an object; a number of thousands of digits
            raise ValueError(f"{path}, line {line}: expected a JSON object such as {{...}}; {error}") from error
        rows.append(values)
        places.append(line)
    table = pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(columns)})
    return table, np.array(places, np.int64)


def _read_parquet(path: Path, columns: list[str]) -> tuple[pa.Table, NDArray[np.int64]]:
    try:
        _require_columns(path, columns, pq.read_schema(path).names)
        table = pq.read_table(path, columns=columns)
        table = pa.table({name: pc.cast(table[name], pa.string()) for name in columns})
    except _MissingColumnError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file with columns of text: {error}") from error
    for name in columns:
        if not (valid := is_utf8(one_piece(table[name]))).all():
            raise ValueError(f"{path}, row {int(np.argmin(valid)) + 1}, column {name!r}: expected UTF-8")
    return table, np.arange(1, table.num_rows + 1)


class _MissingColumnError(ValueError):
    """A column that is not there, or there twice."""


def _require_columns(path: Path, columns: Sequence[str], present: Sequence[str], where: str = "") -> None:
    for column in columns:
        if present.count(column) > 1:
            raise _MissingColumnError(f"{path}: the column {column!r} is there {present.count(column)} times")
        if column not in present:
            close = difflib.get_close_matches(column, present, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            there = ", ".join(repr(name) for name in present)
            raise _MissingColumnError(f"{path}{where}: there is no column {column!r}.{hint} Columns there are: {there}")


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    if not data.strip():
        raise ValueError(f"{path} is empty: expected rows")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        likely = "UTF-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "WINDOWS-1252"
        raise ValueError(
            f"{path}, line {line}: expected UTF-8, got the byte 0x{data[error.start]:02x}. "
            f"Convert the file, say with `iconv -f {likely} -t UTF-8`"
        ) from error


def _unit(path: Path) -> str:
    return "row" if path.suffix.lower() == ".parquet" else "line"


def _json_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their number from 1; empty lines are none."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _shown(value: str | None) -> str:
    """A value for a message, cut where it is long."""
    return repr(value) if value is None or len(value) <= 60 else f"{value[:60]!r}…"
