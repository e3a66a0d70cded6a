"""Pseudo-labels: unlabelled pairs, labelled by a trained model, the teacher.

Candidates are the nearest neighbours of train texts by tf-idf cosine, so that any family can be the teacher, also one
without vectors, such as a cross-encoder. No text of validation or test is among them, and no pair whose label follows
from those of train. The teacher gives each pair a probability p, calibrated on validation; the student learns from
probabilities as in Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015 (arXiv:1503.02531).

In validation a share v of the pairs says the same, of unlabelled neighbours a smaller share d. The labels p' are
corrected for that prior (Saerens, Latinne and Decaestecker, Neural Computation 2002):

    p' / (1 − p') = p / (1 − p) · d / (1 − d) · (1 − v) / v

Documents have no pairs from which to take v; for them p' is p.

Shape letters: N texts of the corpus, A texts whose neighbours are candidates, P pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import MOST_TEXTS, UNKNOWN, Corpus, pair_keys
from twicetold_lab.mining.bm25 import NOBODY, hardest
from twicetold_lab.mining.groups import sorted_groups, texts_of_train_alone
from twicetold_lab.mining.mined_file import Mined
from twicetold_lab.mining.neighbour import tfidf_weights
from twicetold_lab.mining.teacher import Teacher
from twicetold_lab.mining.triplets import Ends


@dataclass(frozen=True)
class PseudoPairs(Mined):
    """Pairs by index into the corpus's texts, with the teacher's labels; there may be none."""

    left: NDArray[np.int64]
    """(P,)"""
    right: NDArray[np.int64]
    """(P,)"""
    label: NDArray[np.float32]
    """(P,) the corrected probability p'."""
    probability: NDArray[np.float64]
    """(P,) the teacher's calibrated probability p that the two are duplicates."""
    card: Mapping[str, Any]
    """Settings and counts, ready for JSON; see `mine`."""


def mine(
    corpus: Corpus,
    teacher: Teacher,
    *,
    label: str,
    seed: int,
    neighbours: int,
    max_df: int,
    max_pairs: int,
    duplicates: float,
) -> PseudoPairs:
    """Label unlabelled neighbours of train texts with a trained model.

    Args:
        corpus: any corpus with the group `label`.
        teacher: the trained model.
        label: the group whose members are duplicates. Documents of known group are labelled among each other, so that
            only the neighbours of documents of unknown group are candidates.
        seed: of the draw.
        neighbours: number of candidates for each text, those of the highest tf-idf cosine.
        max_df: words in more texts than this are ignored.
        max_pairs: candidates to label, at most; drawn from all.
        duplicates: d, the share of the candidates that is expected to be duplicates.

    Returns:
        Pairs sorted by left and right, left < right, each once. The card has the settings; counts of `texts` to pair,
        `texts_in_val_or_test` left out, `candidates`, and those of them `already_labelled`; `reason` why there are no
        pairs, if so; `duplicates_in_validation`, v, and `expected_duplicates`, the mean of p'.

    Raises:
        ValueError: for an unknown label, or if a share or a number is out of range.
    """
    if not 0 < duplicates < 1:
        raise ValueError(f"duplicates is the expected share of duplicates, between 0 and 1; got {duplicates}")
    if neighbours < 1 or max_pairs < 1:
        raise ValueError(f"neighbours and max_pairs are numbers of pairs, at least 1; got {neighbours} and {max_pairs}")
    (left, right), counts = _candidates(corpus, label=label, neighbours=neighbours, max_df=max_df)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(left))[:max_pairs])
    left, right = left[drawn], right[drawn]
    probability = teacher.probability(left, right) if len(left) else np.empty(0)
    validation = _duplicates_in_validation(corpus) if "val" in corpus.pairs else duplicates
    expected = _corrected(probability, validation=validation, duplicates=duplicates)
    card = {
        "strategy": "pseudo_labels",
        "train": corpus.train_digest(),
        "labels": "soft",
        "neighbours": neighbours,
        "max_df": max_df,
        "max_pairs": max_pairs,
        "seed": seed,
        **counts,
        "duplicates": duplicates,
        "duplicates_in_validation": round(validation, 4),
        "expected_duplicates": round(float(expected.mean()), 4) if len(expected) else None,
    }
    return PseudoPairs(left, right, expected.astype(np.float32), probability, card)


def _corrected(probability: NDArray[np.float64], *, validation: float, duplicates: float) -> NDArray[np.float64]:
    """Return (P,) p' of p, for a share of `duplicates` in the place of that of `validation`."""
    odds = duplicates / (1 - duplicates) * (1 - validation) / validation
    return probability * odds / (probability * odds + 1 - probability)


def _duplicates_in_validation(corpus: Corpus) -> float:
    """Return the share of the pairs of validation that says the same; never none or all."""
    same = corpus.pairs["val"].label >= corpus.positive_label
    return float(np.clip(same.mean(), 0.5 / len(same), 1 - 0.5 / len(same)))


def _candidates(corpus: Corpus, *, label: str, neighbours: int, max_df: int) -> tuple[Ends, dict[str, Any]]:
    """Return neighbours among the train texts that are in no other split and have no label, and counts for the card."""
    group = corpus.group(label)
    texts = texts_of_train_alone(corpus)
    unlabelled = texts[group[texts] == UNKNOWN] if corpus.kind == "documents" else texts
    linked = _linked(corpus, label)
    keys = np.empty(0, np.int64)
    if len(unlabelled):
        ends = _neighbours(corpus, texts, unlabelled, linked, neighbours=neighbours, max_df=max_df)
        keys = np.unique(pair_keys(*ends))
    left, right = np.divmod(keys, MOST_TEXTS)
    known = _labelled(corpus, linked, left, right)
    card: dict[str, Any] = {
        "label": label,
        "texts": len(texts),
        "texts_in_val_or_test": len(corpus.members["train"]) - len(texts),
        "candidates": len(left),
        "already_labelled": int(known.sum()),
    }
    if not len(unlabelled):
        card["reason"] = f"every train text of {corpus.name} has a known {label}, so that no pair of them is unlabelled"
    elif known.all():
        card["reason"] = f"no two train texts of {corpus.name} are near each other and unlabelled"
    return (left[~known], right[~known]), card


def _neighbours(
    corpus: Corpus,
    texts: NDArray[np.int64],
    unlabelled: NDArray[np.int64],
    linked: NDArray[np.int64],
    *,
    neighbours: int,
    max_df: int,
) -> Ends:
    """Some of the texts and their neighbours among all of them; texts of one code in `linked` are no neighbours."""
    _, first = np.unique(corpus.text_codes()[texts], return_index=True)  # equal texts have one neighbourhood
    once = texts[np.sort(first)]
    groups = sorted_groups(once, linked[once])
    anchors = np.flatnonzero(np.isin(groups.texts, unlabelled))
    written: list[str] = corpus.texts.take(groups.texts).to_pylist()
    nearest = hardest(written, groups, anchors, last=neighbours, max_df=max_df, weigh=tfidf_weights)
    none = np.empty((0, neighbours), np.int64)  # in case every anchor equals an earlier text of known group
    ranked = np.concatenate([none, *(ranks for _, ranks in nearest)])  # (A, neighbours)
    row, rank = np.nonzero(ranked != NOBODY)
    return groups.texts[anchors[row]], groups.texts[ranked[row, rank]]


def _linked(corpus: Corpus, label: str) -> NDArray[np.int64]:
    """(N,) codes: texts of one are no candidates, as they are equal or, where pairs are labelled, of one cluster."""
    equal = corpus.text_codes()
    if corpus.kind == "documents":
        return equal
    cluster = corpus.groups[label]
    numbers = np.arange(len(corpus))
    _, first_text, text = np.unique(equal, return_index=True, return_inverse=True)
    _, first_member, member = np.unique(cluster, return_index=True, return_inverse=True)
    in_cluster = numbers[cluster != UNKNOWN]
    return components(
        len(corpus),
        np.concatenate([numbers, in_cluster]),
        np.concatenate([first_text[text], first_member[member][in_cluster]]),
    )


def _labelled(
    corpus: Corpus, linked: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return (P,) whether train has a label for each pair, or for a pair of texts that are linked to these."""
    if "train" not in corpus.pairs:
        return np.zeros(len(left), dtype=bool)
    pairs = corpus.pairs["train"]
    given = pair_keys(linked[pairs.left], linked[pairs.right])
    return np.isin(pair_keys(linked[left], linked[right]), given)
