"""Sources: one module per dataset, each with one function `read` from a raw folder to a `Corpus`.

This module has what they share: building a corpus from rows whose side of the split is known. `source_table` and
`user_table` read tables and account for every line.

The leakage audit says how much of val and test can be known from train without understanding the texts. Three things
can reveal a label: a question that is also in train, a pair that follows from train's pairs by transitivity, and the
number of pairs that a question is in (Zhang et al. 2019, "Selection Bias Explorations and Debias Methods for Natural
Language Sentence Matching Datasets", arXiv:1905.06221). The audit measures each.

Shape letters: R rows of a file, N texts, M members of a split, P pairs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import SPLITS, UNKNOWN, Corpus, Kind, Pairs, pair_keys
from twicetold_lab.data.splits import UNUSED, Side, thin

HELD_OUT = ("val", "test")


def encode(values: pa.StringArray) -> tuple[NDArray[np.int64], list[str]]:
    """Return the code of each value, and the sorted names of the codes; a null is `UNKNOWN`."""
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
    leakage = audit(corpus, time=None if time is None else time[used.to_numpy()])
    return replace(corpus, card={**card, "splits": splits, "audit": leakage})


def pair_corpus(
    *,
    name: str,
    kind: Kind = "labelled_pairs",
    texts: pa.StringArray,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    label: NDArray[np.float32],
    side: Side,
    positive: float = 1,
    seed: int,
    limit: int | None,
    card: Mapping[str, Any],
    ids: pa.StringArray | None = None,
) -> Corpus:
    """Build a corpus of pairs with train's duplicate clusters, cut to `limit` (every class in every split).

    Args:
        name: of the dataset.
        kind: of labels.
        texts: (N,); those that no pair of a split uses are left out.
        left: (R,) texts of the pairs.
        right: (R,) texts of the pairs.
        label: (R,) labels or grades.
        side: (R,) side of the split of each pair; pairs of none are left out.
        positive: label (grade) from which on the two texts of a pair of train are duplicates.
        seed: of the cut.
        limit: pairs to keep, or None for all.
        card: what the source counted; sizes of splits and clusters, and the audit, are added.
        ids: (N,); None to number the texts.
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
        ids=pa.array([str(number) for number in used]) if ids is None else ids.take(pa.array(used)),
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


def numbered(*columns: pa.StringArray) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """The distinct texts of columns of equal length, by first occurrence, and (columns, R) the number of each text."""
    encoded = pa.concat_arrays(list(columns)).dictionary_encode()
    return encoded.dictionary, np.asarray(encoded.indices).astype(np.int64).reshape(len(columns), -1)


def official_card(accounts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the card of a split that came in files: rows of all of them, and what is malformed in each.

    Args:
        accounts: what `SourceTable.account` says of each file, by name.
    """
    bad = {file: account for file, account in accounts.items() if account["malformed"]}
    lines = {file: account["malformed_lines"] for file, account in bad.items()}
    return {
        "split": "official",
        "rows": sum(account["rows"] for account in accounts.values()),
        "malformed": {file: account["malformed"] for file, account in bad.items()},
        **({"malformed_lines": lines} if lines else {}),
    }


def first_of_each(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows with the first occurrence of each unordered pair, so that a pair that is labelled twice is on one side."""
    return np.sort(np.unique(pair_keys(left, right), return_index=True)[1])


def audit(corpus: Corpus, *, time: NDArray[np.int64] | None = None) -> dict[str, Any]:
    """Audit val and test of a corpus against its train.

    For pairs:

    - `texts_in_train`: share of the split's texts that are also in train; `equal_texts_in_train`: the same by equality
      of the text, regardless of its id.
    - `pairs_with_both_texts_in_train`; `equal_pairs_in_train`: share of the pairs whose two texts form a pair of train;
      `identical_pairs`: share whose two texts are equal.
    - `closure_coverage`: share of the pairs with both ends in one duplicate cluster of train, which implies that they
      are duplicates; `closure_label_mean`: the mean label (grade) of these.
    - `frequency_auroc_min` and `frequency_auroc_sum` (labelled pairs): AUROC of a score that does not read the text:
      the smaller (the sum) of the numbers of train pairs in which the two texts occur. It is 0.5 for a fair split.

    For documents: `equal_texts_in_train`; `stories_in_train` and `texts_of_train_stories` (shares of the split's
    stories, and of its texts of known story); `texts_before_end_of_train` when `time` is given.

    Args:
        corpus: documents or pairs, already split.
        time: (N,) numbers that increase with time, for documents whose order is known.

    Returns:
        split -> name -> share (0 to 1) or AUROC (None where it is not defined), ready for JSON.
    """
    equal = corpus.text_codes()
    if corpus.kind == "documents":
        return {split: _documents(corpus, split, equal=equal, time=time) for split in HELD_OUT}
    return {split: _pairs(corpus, split, equal=equal) for split in HELD_OUT}


def duplicate_clusters(
    count: int, *, left: NDArray[np.int64], right: NDArray[np.int64], members: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return cluster of each text that follows from the given duplicate pairs.

    Args:
        count: N, the number of texts.
        left: (P,) texts of the duplicate pairs of train. Pairs of other splits must not be here: the closure
            would carry their labels into training.
        right: (P,) their duplicates.
        members: the texts of train. One without a duplicate is a cluster of its own.

    Returns:
        (N,) codes from 0 for members, `UNKNOWN` for every other text.
    """
    codes = np.full(count, UNKNOWN, np.int64)
    # Numbered over the members alone, so that the codes have no gaps.
    _, codes[members] = np.unique(components(count, left, right)[members], return_inverse=True)
    return codes


def cluster_card(clusters: NDArray[np.int64], *, left: NDArray[np.int64], right: NDArray[np.int64]) -> dict[str, Any]:
    """Return counts of the clusters, and of contradictory labels.

    Args:
        clusters: (N,) codes of `duplicate_clusters`.
        left: (P,) texts of the pairs of train that are labelled as *not* saying the same.
        right: (P,) the other texts.

    Returns:
        `clusters` (of two texts or more), `singletons`, `largest`, and `contradictions`: labelled non-duplicates
        that the closure puts into one cluster.
    """
    sizes = np.bincount(clusters[clusters != UNKNOWN])
    return {
        "clusters": int(np.count_nonzero(sizes > 1)),
        "singletons": int(np.count_nonzero(sizes == 1)),
        "largest": int(sizes.max(initial=0)),
        "contradictions": int(np.count_nonzero((clusters[left] == clusters[right]) & (clusters[left] != UNKNOWN))),
    }


def _documents(
    corpus: Corpus, split: str, *, equal: NDArray[np.int64], time: NDArray[np.int64] | None
) -> dict[str, float | None]:
    train, held_out = corpus.members["train"], corpus.members[split]
    shares: dict[str, float | None] = {"equal_texts_in_train": _share(np.isin(equal[held_out], equal[train]))}
    if "story" in corpus.groups:
        story = corpus.groups["story"]
        known = story[held_out][story[held_out] != UNKNOWN]
        shares["stories_in_train"] = _share(np.isin(np.unique(known), story[train]))
        shares["texts_of_train_stories"] = _share(np.isin(known, story[train]))
    if time is not None:
        shares["texts_before_end_of_train"] = _share(time[held_out] < time[train].max())
    return shares


def _pairs(corpus: Corpus, split: str, *, equal: NDArray[np.int64]) -> dict[str, float | None]:
    train, held_out = corpus.pairs["train"], corpus.pairs[split]
    members, cluster = corpus.members, corpus.groups["cluster"]
    seen = np.zeros(len(corpus), bool)
    seen[members["train"]] = True
    left, right = held_out.left, held_out.right
    keys = pair_keys(equal[left], equal[right])
    closed = (cluster[left] == cluster[right]) & (cluster[left] != UNKNOWN)
    shares: dict[str, float | None] = {
        "texts_in_train": _share(seen[members[split]]),
        "equal_texts_in_train": _share(np.isin(equal[members[split]], equal[members["train"]])),
        "pairs_with_both_texts_in_train": _share(seen[left] & seen[right]),
        "equal_pairs_in_train": _share(np.isin(keys, pair_keys(equal[train.left], equal[train.right]))),
        "identical_pairs": _share(equal[left] == equal[right]),
        "closure_coverage": _share(closed),
        "closure_label_mean": round(float(held_out.label[closed].mean()), 6) if closed.any() else None,
    }
    if corpus.kind == "labelled_pairs":
        degree = np.bincount(np.concatenate([train.left, train.right]), minlength=len(corpus))
        shares["frequency_auroc_min"] = _auroc(held_out.label, np.minimum(degree[left], degree[right]))
        shares["frequency_auroc_sum"] = _auroc(held_out.label, degree[left] + degree[right])
    return shares


def _share(holds: NDArray[np.bool_]) -> float | None:
    return round(float(holds.mean()), 6) if len(holds) else None


def _auroc(label: NDArray[np.float32], score: NDArray[np.int64]) -> float | None:
    from sklearn.metrics import roc_auc_score  # imported here: it takes a second, and most commands do not audit

    if label.min() == label.max():
        return None
    return round(float(roc_auc_score(label > 0, score)), 6)
