"""Sources: one module per dataset, each with one function `read` from a raw folder to a `Corpus`.

This module has what they share: building a corpus from rows whose side of the split is known. `source_table` and
`user_table` read tables and account for every line.

Shape letters: R rows of a file, N texts.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold_lab.data.audit import audit
from twicetold_lab.data.clusters import cluster_card, duplicate_clusters
from twicetold_lab.data.corpus import SPLITS, UNKNOWN, Corpus, Kind, Pairs, pair_keys
from twicetold_lab.data.splits import UNUSED, Side, thin


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


def first_of_each(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows with the first occurrence of each unordered pair, so that a pair that is labelled twice is on one side."""
    return np.sort(np.unique(pair_keys(left, right), return_index=True)[1])
