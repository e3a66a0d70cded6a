"""Sources: one module per dataset, each with one function `read` from a raw folder to a `Corpus`.

This module has what they share: reading tables with a count of the rows left out, and building a corpus from rows
whose side of the split is known.

Shape letters: R rows of a file, N texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from twicetold.data.audit import audit
from twicetold.data.clusters import cluster_card, duplicate_clusters
from twicetold.data.corpus import SPLITS, UNKNOWN, Corpus, Kind, Pairs, pair_keys
from twicetold.data.splits import UNUSED, Side, thin


@dataclass(frozen=True)
class Rows:
    """The sound rows of a file as columns of text, and the count of the others by reason."""

    table: pa.Table
    malformed: Mapping[str, int] = field(default_factory=dict)
    """Reason -> number of lines that were left out for it."""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.StringArray:
        """One column, in one piece."""
        return one_piece(self.table[name])

    def without(self, bad: pa.BooleanArray | NDArray[np.bool_], reason: str) -> "Rows":
        """The rows that are not bad, with the bad ones counted under `reason`."""
        bad = pa.array(bad) if isinstance(bad, np.ndarray) else bad
        return replace(
            self,
            table=self.table.filter(pc.invert(bad)),
            malformed=counted(self.malformed, reason, pc.sum(bad).as_py() or 0),
        )


def read_quoted(path: Path, columns: Sequence[str], *, delimiter: str = "\t") -> Rows:
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
    odd_lines: list[int] = []

    def left_out(row: Any) -> str:
        odd_lines.append(row.text.count("\n") + 1)
        return "skip"

    header = bytes_of(path).split(b"\n", 1)[0].decode("utf-8-sig", errors="replace").rstrip("\r").split(delimiter)
    if header != list(columns):
        separated = {"\t": "tab", ",": "comma"}.get(delimiter, delimiter)
        raise ValueError(f"{path.name}: expected the {separated}-separated header {list(columns)}, got {header}")
    table = pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=left_out),
        convert_options=pa.csv.ConvertOptions(
            column_types={name: pa.string() for name in columns}, strings_can_be_null=False, check_utf8=False
        ),
    )
    rows = Rows(table, counted({}, "wrong_column_count", sum(odd_lines)))
    rows = rows.without(~np.logical_and.reduce([_is_utf8(one_piece(table[name])) for name in columns]), "not_utf8")
    # A quote that is never closed swallows the lines up to the next quote: one field gets them, delimiters and all.
    across = rf"{delimiter}[^\n]*\n|\n[^\n]*{delimiter}"
    swallowed = [pc.match_substring_regex(rows.table[name], across) for name in columns]
    odd = np.logical_or.reduce([_numpy(mask) for mask in swallowed])
    spans = 1 + np.sum([_numpy(pc.count_substring(rows.table[name], "\n")) for name in columns], axis=0)
    kept = rows.table.filter(pa.array(~odd))
    malformed = counted(rows.malformed, "unclosed_quote", int(spans[odd].sum()))
    return Rows(_trimmed(kept), malformed)


def read_unquoted(path: Path, columns: Sequence[str], *, optional: int = 0) -> Rows:
    """Read a tab-separated file without header, in which quotes are literal text and every line is a row.

    Args:
        path: the file.
        columns: names of the fields of a row. A line with another number of fields is malformed.
        optional: number of further fields that a row may have, all or none; they are dropped.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty.
    """
    raw = pa.array(bytes_of(path).removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n"), pa.binary())
    lines = raw.view(pa.string())
    sound = _is_utf8(lines)
    malformed = counted({}, "not_utf8", int((~sound).sum()))
    lines = pc.utf8_rtrim(lines.filter(pa.array(sound)), "\r")
    parts = pc.split_pattern(lines, "\t")
    widths = _numpy(pc.list_value_length(parts))
    right = (widths == len(columns)) | (widths == len(columns) + optional)
    malformed = counted(malformed, "wrong_column_count", int((~right).sum()))
    parts = parts.filter(pa.array(right))
    table = pa.table({name: pc.list_element(parts, place) for place, name in enumerate(columns)})
    return Rows(_trimmed(table), malformed)


def bytes_of(path: Path) -> bytes:
    """The content of a file.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is empty.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.name} is not in {path.parent}. Run `dvc repro download@{path.parent.name}`, which fetches it"
        )
    data = path.read_bytes()
    if not data.strip():
        raise ValueError(f"{path} is empty: expected rows of data")
    return data


def counted(malformed: Mapping[str, int], reason: str, count: int) -> dict[str, int]:
    """The counts with `count` added to `reason`; reasons with a count of 0 are not listed."""
    return dict(malformed) | ({reason: malformed.get(reason, 0) + count} if count else {})


def one_piece(column: pa.ChunkedArray) -> pa.StringArray:
    """A column of a table as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def encode(values: pa.StringArray) -> tuple[NDArray[np.int64], list[str]]:
    """Code of each value, and the sorted names of the codes; a null is `UNKNOWN`."""
    encoded = values.dictionary_encode()
    names = encoded.dictionary.to_numpy(zero_copy_only=False).astype(object)
    order = np.argsort(names, kind="stable")
    rank = np.empty(len(names) + 1, np.int64)
    rank[order] = np.arange(len(names))
    rank[len(names)] = UNKNOWN
    places = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    return rank[places], [str(name) for name in names[order]]


def document_corpus(
    *,
    name: str,
    ids: pa.StringArray,
    texts: pa.StringArray,
    side: Side,
    groups: Mapping[str, pa.StringArray],
    fields: Mapping[str, pa.StringArray] | None = None,
    time: NDArray[np.int64] | None = None,
    seed: int,
    limit: int | None,
    card: Mapping[str, Any],
) -> Corpus:
    """Build a corpus of documents, cut to `limit` (a few texts per story, every category in every split).

    Args:
        name: of the dataset.
        ids: (R,).
        texts: (R,).
        side: (R,) side of the split of each row; rows of none are left out.
        groups: name -> (R,) values, null where a text has none.
        fields: further columns.
        time: (R,) a number that grows with time, for the audit.
        seed: of the cut.
        limit: rows to keep, or None for all.
        card: what the source counted; sizes of splits and groups, and the audit, are added.
    """
    codes = {group: encode(values)[0] for group, values in groups.items()}
    blank = np.zeros(len(texts), np.int64)
    side = thin(side, limit=limit, seed=seed, strata=codes.get("category", blank), groups=codes.get("story"))
    used = pa.array(np.flatnonzero(side != UNUSED))
    side = side[side != UNUSED]
    encoded = {group: encode(values.take(used)) for group, values in groups.items()}
    corpus = Corpus(
        name=name,
        kind="documents",
        ids=ids.take(used),
        texts=texts.take(used),
        groups={group: codes for group, (codes, _) in encoded.items()},
        group_names={group: names for group, (_, names) in encoded.items() if group == "category"},
        members={split: np.flatnonzero(side == place) for place, split in enumerate(SPLITS)},
        fields={field_name: values.take(used) for field_name, values in (fields or {}).items()},
    )
    splits: dict[str, Any] = {}
    for split, members in corpus.members.items():
        splits[split] = {"texts": len(members)}
        for group, (values, names) in encoded.items():
            present = values[members]
            splits[split][group] = (
                dict(zip(names, np.bincount(present[present != UNKNOWN], minlength=len(names)).tolist(), strict=True))
                if group == "category"
                else len(np.unique(present[present != UNKNOWN]))
            )
    found = audit(corpus, time=None if time is None else time[used.to_numpy()])
    return replace(corpus, card={**card, "splits": splits, "audit": found})


def pair_corpus(
    *,
    name: str,
    kind: Kind,
    ids: pa.StringArray,
    texts: pa.StringArray,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    label: NDArray[np.float32],
    side: Side,
    positive: float,
    seed: int,
    limit: int | None,
    card: Mapping[str, Any],
) -> Corpus:
    """Build a corpus of pairs with train's duplicate clusters, cut to `limit` (every class in every split).

    Args:
        name: of the dataset.
        kind: of labels.
        ids: (N,).
        texts: (N,); those that no pair of a split uses are left out.
        left: (R,) texts of the pairs.
        right: (R,) texts of the pairs.
        label: (R,) labels or grades.
        side: (R,) side of the split of each pair; pairs of none are left out.
        positive: label (grade) from which on the two texts of a pair of train are duplicates.
        seed: of the cut.
        limit: pairs to keep, or None for all.
        card: what the source counted; sizes of splits and clusters, and the audit, are added.
    """
    side = thin(side, limit=limit, seed=seed, strata=np.rint(label).astype(np.int64))
    kept = side != UNUSED
    side, label = side[kept], label[kept].astype(np.float32)
    used, ends = np.unique(np.stack([left[kept], right[kept]]), return_inverse=True)
    left, right = ends.reshape(2, -1).astype(np.int64)
    chosen = {split: side == place for place, split in enumerate(SPLITS)}
    members = {split: np.unique(np.stack([left[rows], right[rows]])) for split, rows in chosen.items()}
    same = chosen["train"] & (label >= positive)
    clusters = duplicate_clusters(len(used), left=left[same], right=right[same], members=members["train"])
    corpus = Corpus(
        name=name,
        kind=kind,
        ids=ids.take(pa.array(used)),
        texts=texts.take(pa.array(used)),
        groups={"cluster": clusters},
        members=members,
        pairs={split: Pairs(left[rows], right[rows], label[rows]) for split, rows in chosen.items()},
    )
    different = chosen["train"] & (label < positive)
    measure = "mean_grade" if kind == "graded_pairs" else "share_of_duplicates"
    splits = {
        split: {
            "pairs": len(pairs),
            "texts": len(members[split]),
            measure: round(float(pairs.label.mean(dtype=np.float64)), 6),
        }
        for split, pairs in corpus.pairs.items()
    }
    counts = cluster_card(clusters, left=left[different], right=right[different])
    return replace(corpus, card={**card, "splits": splits, "clusters": counts, "audit": audit(corpus)})


def _trimmed(table: pa.Table) -> pa.Table:
    return pa.table({name: pc.utf8_trim_whitespace(table[name]) for name in table.column_names})


def _numpy(values: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(values)
    return array


def _is_utf8(values: pa.StringArray) -> NDArray[np.bool_]:
    """(R,) whether each value is valid UTF-8. Rows are looked at one by one only when some row is not."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([_decodes(value) for value in values.view(pa.binary()).to_pylist()])
    return np.ones(len(values), bool)


def _decodes(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def first_of_each(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows with the first occurrence of each unordered pair, so that a pair that is labelled twice is on one side."""
    return np.sort(np.unique(pair_keys(left, right), return_index=True)[1])
