"""A corpus: texts, what is known about which of them are duplicates, and the split of both.

A *source* (a module in `sources/`) is a function from a raw folder to a `Corpus`; nothing after it knows
where the texts came from.

Shape letters: N texts, M members of a split, P pairs.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold import layout
from twicetold.errors import require
from twicetold.files import csv_text, unchanged, write_folder, write_text

Kind = Literal["documents", "labelled_pairs", "graded_pairs"]
KINDS: tuple[Kind, ...] = ("documents", "labelled_pairs", "graded_pairs")
SPLITS = ("train", "val", "test")
UNKNOWN = -1  # group code of a text whose group is not known
MOST_TEXTS = 1 << 31


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts by index into the corpus, each with a label."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    label: NDArray[np.float32]
    """1 for "says the same", 0 for "does not"; for graded pairs, the grade."""

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class Corpus:
    """Texts with ids and groups, split into train, val and test.

    Args:
        name: the dataset's name, which is also its file name in `conf/data/`.
        kind: what its labels are: groups of documents, pairs labelled 0/1, or graded pairs.
        ids: (N,) strings, unique.
        texts: (N,) strings.
        groups: name -> (N,) int64 codes, `UNKNOWN` where a text has none. Documents have at least one group
            (`category`, `story`); pairs have `cluster`, the duplicate clusters known from train alone.
        group_names: name -> the readable name of each code (may be empty).
        members: split -> (M,) int64, sorted: the texts of each split. Document splits share no text.
        pairs: split -> labelled pairs; empty for documents.
        fields: further text columns, name -> (N,) strings (publisher, URL slug).
        card: counts and notes about how the corpus came about, ready for JSON.
        left_out: file, line and reason of each row of one's own file that is left out; saved, and not loaded.

    Raises:
        ValueError: if the parts do not fit each other.
    """

    name: str
    kind: Kind
    ids: pa.StringArray
    texts: pa.StringArray
    groups: Mapping[str, NDArray[np.int64]]
    members: Mapping[str, NDArray[np.int64]]
    pairs: Mapping[str, Pairs] = field(default_factory=dict)
    group_names: Mapping[str, list[str]] = field(default_factory=dict)
    fields: Mapping[str, pa.StringArray] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)
    left_out: Sequence[tuple[str, int, str]] = ()

    def __post_init__(self) -> None:
        require(self.kind in KINDS, f"kind must be one of {KINDS}, got {self.kind!r}")
        count = len(self.texts)
        for what, column in {"ids": self.ids, **self.groups, **self.fields}.items():
            require(len(column) == count, f"{what} has {len(column)} rows, but there are {count} texts")
        require(set(self.members) == set(SPLITS), f"members must have the splits {SPLITS}, got {sorted(self.members)}")
        for split, indices in self.members.items():
            require(
                len(indices) > 0,
                f"split {split!r} is empty: use more rows, other fractions, or a split column that has it",
            )
            require(bool(np.all(np.diff(indices) > 0)), f"members of {split!r} must be sorted and unique")
            require(indices[0] >= 0 and indices[-1] < count, f"members of {split!r} point outside the {count} texts")
        if self.kind == "documents":
            require(bool(self.groups), "documents need at least one group (category, story)")
            require(not self.pairs, "documents carry no pairs: their groups say which texts belong together")
        else:
            require(set(self.pairs) == set(SPLITS), f"pairs must have the splits {SPLITS}, got {sorted(self.pairs)}")
            for split, pairs in self.pairs.items():
                require(
                    len(pairs) > 0,
                    f"split {split!r} has no pairs: use more rows, other fractions, or a split column that has it",
                )
                ends = np.concatenate([pairs.left, pairs.right])
                require(
                    bool(np.isin(ends, self.members[split]).all()),
                    f"pairs of {split!r} use texts that are not its members",
                )

    def __len__(self) -> int:
        return len(self.texts)

    def texts_of(self, split: str) -> list[str]:
        """Return the texts of one split, in the order of `members[split]`."""
        texts: list[str] = self.texts.take(pa.array(self.members[split])).to_pylist()
        return texts

    def text_codes(self) -> NDArray[np.int64]:
        """Return (N,) a number for each distinct text, below N: texts that are equal have one."""
        codes: NDArray[np.int64] = self.texts.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        return codes.astype(np.int64)

    def group(self, name: str) -> NDArray[np.int64]:
        """Return (N,) the codes of a group.

        Raises:
            ValueError: if the corpus has no group of this name.
        """
        if name not in self.groups:
            others = " or ".join(f"data.label={other}" for other in self.groups)
            raise ValueError(
                f"corpus {self.name!r} has no group {name!r}; it has {sorted(self.groups)}: set {others} (or the key "
                "of examples that names another group)"
            )
        return self.groups[name]

    def train_digest(self) -> str:
        """Return SHA-256 of the train texts and their numbers: what is kept by text number holds for this alone."""
        total = hashlib.sha256("\0".join(self.texts_of("train")).encode())
        total.update(np.ascontiguousarray(self.members["train"], np.int64).data)
        return total.hexdigest()

    def example(self) -> dict[str, list[str]]:
        """Return three texts of validation (`text`), or pairs (`left`, `right`), as a table of a model's input."""
        if self.kind == "documents":
            return {"text": self.texts_of("val")[:3]}
        pairs = self.pairs["val"]
        sides = {"left": pairs.left[:3], "right": pairs.right[:3]}
        return {side: self.texts.take(pa.array(numbers)).to_pylist() for side, numbers in sides.items()}

    @property
    def positive_label(self) -> float:
        """The label from which on a pair is a duplicate: of graded pairs the card's positive grade, else 1."""
        return float(self.card.get("positive_grade", 1))

    @property
    def complete(self) -> bool:
        """True if the card says that all duplicates are labelled; if not, precisions are lower bounds."""
        return bool(self.card.get("complete_labels", False))

    def save(self, folder: Path) -> None:
        """Write the corpus to `folder`, all of it or nothing."""
        columns: dict[str, Any] = {"id": self.ids, "text": self.texts}
        columns |= {f"group.{name}": codes for name, codes in self.groups.items()}
        columns |= {f"field.{name}": values for name, values in self.fields.items()}
        members = [pa.table({"split": [split] * len(m), "text": m}) for split, m in self.members.items()]
        pairs = [
            pa.table({"split": [split] * len(p), "left": p.left, "right": p.right, "label": p.label})
            for split, p in self.pairs.items()
        ]
        about = {"name": self.name, "kind": self.kind, "group_names": dict(self.group_names), "card": dict(self.card)}
        with write_folder(folder) as target:
            pq.write_table(pa.table(columns), target / layout.TEXTS)
            pq.write_table(pa.concat_tables(members), target / layout.MEMBERS)
            if pairs:
                pq.write_table(pa.concat_tables(pairs), target / layout.PAIRS)
            if self.left_out:
                write_text(target / layout.LEFT_OUT, csv_text(("file", "line", "why"), self.left_out))
            write_text(target / layout.CARD, json.dumps(about, indent=2, ensure_ascii=False, sort_keys=True) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "Corpus":
        """Read a corpus that `save` wrote.

        Raises:
            FileNotFoundError: if `folder` holds no corpus.
            OSError: if another process replaced it meanwhile.
        """
        if not (folder / layout.CARD).exists():
            raise FileNotFoundError(
                f"no corpus in {folder}: expected {layout.CARD} and {layout.TEXTS} there. "
                f"Run `dvc repro prepare@{folder.name}`, or `python pipelines/prepare.py data={folder.name}`."
            )
        with unchanged(folder):
            about = json.loads((folder / layout.CARD).read_text(encoding="utf-8"))
            table = pq.read_table(folder / layout.TEXTS, memory_map=True).combine_chunks()
            members = pq.read_table(folder / layout.MEMBERS)
            pairs: dict[str, Pairs] = {}
            if (folder / layout.PAIRS).exists():
                rows = pq.read_table(folder / layout.PAIRS)
                for split in SPLITS:
                    part = rows.filter(pc.equal(rows["split"], split))
                    pairs[split] = Pairs(*(part[column].to_numpy() for column in ("left", "right", "label")))
        return cls(
            name=about["name"],
            kind=about["kind"],
            ids=_column(table, "id"),
            texts=_column(table, "text"),
            groups={n: table[f"group.{n}"].to_numpy() for n in _names(table, "group.")},
            group_names=about["group_names"],
            fields={n: _column(table, f"field.{n}") for n in _names(table, "field.")},
            members={s: members.filter(pc.equal(members["split"], s))["text"].to_numpy() for s in SPLITS},
            pairs=pairs,
            card=about["card"],
        )


def pair_keys(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """(P,) one number for each unordered pair of codes below `MOST_TEXTS`; they sort by smaller, then larger code."""
    return np.minimum(left, right) * MOST_TEXTS + np.maximum(left, right)


def _names(table: pa.Table, prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in table.column_names if name.startswith(prefix)]


def _column(table: pa.Table, name: str) -> pa.StringArray:
    column = table[name]
    return column.chunk(0) if column.num_chunks else pa.array([], pa.string())
