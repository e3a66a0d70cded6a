"""Leakage audit: how much of val and test can be known from train without understanding the texts.

Three things can reveal a label: a question that is also in train, a pair that follows from train's pairs by
transitivity, and the number of pairs that a question is in (Zhang et al. 2019, "Selection Bias Explorations and
Debias Methods for Natural Language Sentence Matching Datasets", arXiv:1905.06221). The audit measures each.

Shape letters: N texts, M members of a split, P pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.corpus import UNKNOWN, Corpus, pair_keys

HELD_OUT = ("val", "test")


def audit(corpus: Corpus, *, time: NDArray[np.int64] | None = None) -> dict[str, Any]:
    """Audit val and test of a corpus against its train.

    Args:
        corpus: documents or pairs, already split.
        time: (N,) numbers that increase with time, for documents whose order is known.

    Returns:
        split -> name -> share (0 to 1) or AUROC (None where it is not defined), ready for JSON. For pairs:

        - `texts_in_train`: share of the split's texts that are also in train; `equal_texts_in_train`: the same by
          equality of the text, regardless of its id.
        - `pairs_with_both_texts_in_train`; `equal_pairs_in_train`: share of the pairs whose two texts form a pair
          of train; `identical_pairs`: share whose two texts are equal.
        - `closure_coverage`: share of the pairs with both ends in one duplicate cluster of train, which implies
          that they are duplicates; `closure_label_mean`: the mean label (grade) of these.
        - `frequency_auroc_min` and `frequency_auroc_sum` (labelled pairs): AUROC of a score that does not
          read the text: the smaller (the sum) of the numbers of train pairs in which the two texts occur. It is
          0.5 for a fair split.

        For documents: `equal_texts_in_train`; `stories_in_train` and `texts_of_train_stories` (shares of the
        split's stories, and of its texts of known story); `texts_before_end_of_train` when `time` is given.
    """
    equal = corpus.text_codes()
    if corpus.kind == "documents":
        return {split: _documents(corpus, split, equal=equal, time=time) for split in HELD_OUT}
    return {split: _pairs(corpus, split, equal=equal) for split in HELD_OUT}


def _documents(
    corpus: Corpus, split: str, *, equal: NDArray[np.int64], time: NDArray[np.int64] | None
) -> dict[str, float | None]:
    train, held_out = corpus.members["train"], corpus.members[split]
    found: dict[str, float | None] = {"equal_texts_in_train": _share(np.isin(equal[held_out], equal[train]))}
    if "story" in corpus.groups:
        story = corpus.groups["story"]
        known = story[held_out][story[held_out] != UNKNOWN]
        found["stories_in_train"] = _share(np.isin(np.unique(known), story[train]))
        found["texts_of_train_stories"] = _share(np.isin(known, story[train]))
    if time is not None:
        found["texts_before_end_of_train"] = _share(time[held_out] < time[train].max())
    return found


def _pairs(corpus: Corpus, split: str, *, equal: NDArray[np.int64]) -> dict[str, float | None]:
    train, held_out = corpus.pairs["train"], corpus.pairs[split]
    members, cluster = corpus.members, corpus.groups["cluster"]
    seen = np.zeros(len(corpus), bool)
    seen[members["train"]] = True
    left, right = held_out.left, held_out.right
    keys = pair_keys(equal[left], equal[right])
    closed = (cluster[left] == cluster[right]) & (cluster[left] != UNKNOWN)
    found: dict[str, float | None] = {
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
        found["frequency_auroc_min"] = _auroc(held_out.label, np.minimum(degree[left], degree[right]))
        found["frequency_auroc_sum"] = _auroc(held_out.label, degree[left] + degree[right])
    return found


def _share(holds: NDArray[np.bool_]) -> float | None:
    return round(float(holds.mean()), 6) if len(holds) else None


def _auroc(label: NDArray[np.float32], score: NDArray[np.int64]) -> float | None:
    from sklearn.metrics import roc_auc_score  # imported here: it takes a second, and most commands do not audit

    if label.min() == label.max():
        return None
    return round(float(roc_auc_score(label > 0, score)), 6)
