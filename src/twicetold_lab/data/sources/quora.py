"""Quora Question Pairs: 404,290 pairs of questions, labelled as duplicates or not.

Iyer, Dandekar and Csernai, "First Quora Dataset Release: Question Pairs" (2017). Tab-separated with a header; a
field that holds a quote is quoted. The question "n/a" is a question.

Questions are identified by qid. Three splits:

- `pairs`: random, with balanced val and test, made as Wang, Hamza and Florian 2017 (arXiv:1702.03814) made theirs;
- `wang`: their own published partition. Its dev and test pairs come with this package as fingerprints, made by
  `tools/wang_fingerprints.py`; every other pair is for training;
- `disjoint`: whole connected components of shared questions, so no question is on two sides.

Fingerprints are a split that can be distributed without its texts. A fingerprint is the 64-bit BLAKE2b hash of a pair's
normalised texts. The pairs can be recovered from the texts. Of 20,000 fingerprints and the 404,290 pairs of Quora in
either order, two that differ are taken for the same with probability 2 * 404,290 * 20,000 / 2^64 = 9e-10.

Shape letters: P published pairs, R pairs of texts.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.files import write_file
from twicetold_lab.data.corpus import Corpus, pair_keys
from twicetold_lab.data.sources import first_of_each, numbered, pair_corpus
from twicetold_lab.data.sources.source_table import MAX_BAD_ROWS, SourceTable, read_quoted
from twicetold_lab.data.splits import TEST, TRAIN, UNUSED, VAL, Side, balanced, by_component

FILE = "quora_duplicate_questions.tsv"
COLUMNS = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
PARTITION = Path(__file__).with_name("quora_wang.npz")
PARTITION_SHA256 = "4096e7c414890869a06ed5ed22292d01d60240e436ee618bb12449353a2e085b"
LEAST_MATCHED = 0.95


@dataclass(frozen=True)
class FingerprintedPairs:
    """Labelled pairs of val and test, in their published order.

    Stored as `.npz` without pickle: `fingerprint` (uint64), `label` (uint8) and `side` (int8), each (P,).
    """

    fingerprint: NDArray[np.uint64]
    """(P,) of the left and the right text, in this order."""
    label: NDArray[np.float32]
    """(P,) 1 for duplicates, else 0."""
    side: Side
    """(P,) `VAL` or `TEST` of `twicetold_lab.data.splits`."""

    def __len__(self) -> int:
        return len(self.fingerprint)

    def save(self, path: Path) -> None:
        """Write the pairs; the same pairs give the same bytes."""
        with write_file(path) as temporary, temporary.open("wb") as out:
            np.savez_compressed(
                out,
                allow_pickle=False,
                fingerprint=self.fingerprint.astype("<u8"),
                label=self.label.astype(np.uint8),
                side=self.side.astype(np.int8),
            )

    @classmethod
    def load(cls, path: Path, *, sha256: str) -> "FingerprintedPairs":
        """Read the pairs.

        Args:
            path: of a file that `save` wrote.
            sha256: of the file. It is part of the caller's code, so a new file changes the code's version.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file has another checksum.
        """
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
        if actual != sha256:
            raise ValueError(f"{path} was changed: expected sha256 {sha256}, got {actual}. Restore it, or reinstall")
        with np.load(path, allow_pickle=False) as arrays:
            return cls(
                arrays["fingerprint"].astype(np.uint64),
                arrays["label"].astype(np.float32),
                arrays["side"].astype(np.int8),
            )


def fingerprints(left: Iterable[str], right: Iterable[str]) -> NDArray[np.uint64]:
    """(R,) fingerprints of pairs of normalised texts that hold no line end. The order of the two texts counts."""
    pairs = (f"{one}\n{other}".encode() for one, other in zip(left, right, strict=True))
    digests = b"".join(hashlib.blake2b(pair, digest_size=8).digest() for pair in pairs)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


@dataclass(frozen=True)
class _Questions:
    """Questions by id, and the labelled pairs of them (R pairs)."""

    ids: pa.StringArray
    texts: pa.StringArray
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    label: NDArray[np.float32]


def read(
    raw: Path,
    *,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    split: Literal["pairs", "wang", "disjoint"] = "pairs",
    val_pairs: int = 10_000,
    test_pairs: int = 10_000,
    splits: Sequence[float] = (0.8, 0.1, 0.1),
    max_bad_rows: float = MAX_BAD_ROWS,
) -> Corpus:
    """Read the pairs.

    Args:
        raw: folder with `quora_duplicate_questions.tsv`.
        name: of the dataset.
        seed: of the split and of the cut to `limit`.
        limit: after the split, keep about so many pairs, of both labels and every split; None for all.
        split: `pairs`, `wang` or `disjoint`.
        val_pairs: size of the balanced val set (`pairs` only).
        test_pairs: size of the balanced test set (`pairs` only).
        splits: of the pairs that go to train, val and test (`disjoint` only).
        max_bad_rows: share of the rows that may be malformed. These are left out and counted.

    Raises:
        FileNotFoundError: if a file is not in `raw`.
        ValueError: if the file has too many malformed rows or too few for the split, or an option is wrong.
    """
    if split not in ("pairs", "wang", "disjoint"):
        raise ValueError(f"quora is split by 'pairs', 'wang' or 'disjoint', got {split!r}")
    rows = _read_pairs(raw / FILE)
    counts = rows.account(max_bad_rows=max_bad_rows)
    questions = _questions(rows)
    spellings, _ = numbered(rows.column("question1"), rows.column("question2"))
    card: dict[str, Any] = {
        "split": split,
        **counts,
        "questions": len(questions.ids),
        "texts_with_several_qids": len(questions.ids) - len(questions.texts.unique()),
        "further_spellings_of_a_qid": len(spellings) - len(questions.texts.unique()),
    }
    if split == "wang":
        questions, side, counts = _take_partition(questions, _wang_partition())
        card["partition"] = counts
    else:
        # By form, not by qid: some questions were asked twice and have two qids.
        forms = np.asarray(normal_form(questions.texts).dictionary_encode().indices).astype(np.int64)
        left, right = forms[questions.left], forms[questions.right]
        if split == "disjoint":
            side = by_component(len(forms), left, right, splits=splits, seed=seed)
        else:
            first = first_of_each(left, right)
            side = np.full(len(left), UNUSED, np.int8)
            side[first] = balanced(questions.label[first], val=val_pairs, test=test_pairs, seed=seed)
            card["repeated_pairs_left_out"] = len(left) - len(first)
    return pair_corpus(
        name=name,
        ids=questions.ids,
        texts=questions.texts,
        left=questions.left,
        right=questions.right,
        label=questions.label,
        side=side,
        seed=seed,
        limit=limit,
        card=card,
    )


def _read_pairs(path: Path) -> SourceTable:
    rows = read_quoted(path, COLUMNS).with_texts("qid1", "qid2", reason="missing_qid")
    rows = rows.with_texts("question1", "question2", reason="empty_question")
    return rows.with_one_of("is_duplicate", ["0", "1"], "bad_label")


def _questions(rows: SourceTable) -> _Questions:
    """Return one text per qid: the spelling it has first."""
    qids, (left, right) = numbered(rows.column("qid1"), rows.column("qid2"))
    _, first = np.unique(np.concatenate([left, right]), return_index=True)
    texts = pa.concat_arrays([rows.column("question1"), rows.column("question2")]).take(pa.array(first))
    label = np.asarray(pc.equal(rows.column("is_duplicate"), "1")).astype(np.float32)
    return _Questions(qids, texts, left, right, label)


def _wang_partition() -> FingerprintedPairs:
    return FingerprintedPairs.load(PARTITION, sha256=PARTITION_SHA256)


def _take_partition(questions: _Questions, published: FingerprintedPairs) -> tuple[_Questions, Side, dict[str, Any]]:
    """Give the published pairs to val and test, and every other pair to train.

    A published pair is the pair of the file with the same letters and digits, in either order. No pair of that form
    stays in train, whether it was the matched one or a further copy.

    Returns:
        All pairs (the file's, then the published ones that it has), their sides, and counts for the card.

    Raises:
        ValueError: if the file has too few of the published pairs.
    """
    encoded = normal_form(questions.texts).dictionary_encode()
    code = np.asarray(encoded.indices).astype(np.int64)
    names = encoded.dictionary.to_pylist()
    left, right = code[questions.left], code[questions.right]
    one_way = fingerprints([names[a] for a in left], [names[b] for b in right])
    other_way = fingerprints([names[b] for b in right], [names[a] for a in left])
    known, row = np.unique(np.concatenate([one_way, other_way]), return_index=True)
    place = np.minimum(np.searchsorted(known, published.fingerprint), len(known) - 1)
    matched = known[place] == published.fingerprint
    if matched.mean() < LEAST_MATCHED:
        raise ValueError(
            f"{FILE} has {int(matched.sum()):,} of the {len(published):,} dev and test pairs of Wang et al. 2017: "
            f"expected {LEAST_MATCHED:.0%} of them at least. Use Quora's whole file (404,290 pairs), or data=quora, "
            "whose split is made in the same way from whatever pairs there are"
        )
    row = row[place[matched]]
    label, side = published.label[matched], published.side[matched]

    # The first question of each form represents it.
    _, first = np.unique(code, return_index=True)
    ends = first[np.stack([np.concatenate([left, right])[row], np.concatenate([right, left])[row]])]
    leaves_train = np.isin(one_way, published.fingerprint) | np.isin(other_way, published.fingerprint)
    pairs = replace(
        questions,
        left=np.concatenate([questions.left, ends[0]]),
        right=np.concatenate([questions.right, ends[1]]),
        label=np.concatenate([questions.label, label]),
    )
    key, published_key = pair_keys(left, right), pair_keys(code[ends[0]], code[ends[1]])
    agrees = np.isin(2 * published_key + (label > 0), 2 * key + (questions.label > 0))
    distinct = len(np.unique(published_key))
    counts: dict[str, Any] = {
        "pairs": len(published),
        "matched": int(matched.sum()),
        "matched_with_another_label": int((~agrees).sum()),
        "not_in_the_file": {
            name: int((~matched & (published.side == place)).sum()) for name, place in (("val", VAL), ("test", TEST))
        },
        "pairs_that_left_train": int(leaves_train.sum()),
        "of_these_further_copies": int(leaves_train.sum()) - distinct,
        "repeated_pairs": int(matched.sum()) - distinct,
    }
    return pairs, np.concatenate([np.where(leaves_train, UNUSED, TRAIN), side]).astype(np.int8), counts


def normal_form(texts: pa.StringArray) -> pa.StringArray:
    """Return the letters and digits of each text, case folded; the text itself where it has none.

    The partition is tokenised as the Penn Treebank is, where brackets became words of letters (-LRB-, -RRB-):
    these are no letters of the question.
    """
    one_line = pc.replace_substring(texts, "\n", " ")
    folded = pa.array("\n".join(one_line.to_pylist()).casefold().split("\n"), pa.string())
    unbracketed = pc.replace_substring_regex(folded, "-[lr][rsc]b-", "")
    bare = pc.replace_substring_regex(unbracketed, r"[^\p{L}\p{N}]+", "")
    return pc.if_else(pc.equal(bare, ""), folded, bare)
