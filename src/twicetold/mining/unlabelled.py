"""Pairs of train texts that nobody labelled and no label speaks of, for a trained model to judge.

Most of the M² pairs are trivially different, so candidates are neighbours; which, the lesson says. Texts that stand in
validation or test, word for word, are never part of a pair, even where the split is one of pairs and train has them as
well. A pair whose label follows from those of train is left out.

Shape letters: N texts of the corpus, M texts that may be paired, A of them that ask for neighbours, P pairs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.data.clusters import components
from twicetold.data.corpus import UNKNOWN, Corpus
from twicetold.mining.triplets import Ends, pair_keys

Neighbours = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], Ends]
"""From (M,) texts, sorted, (A,) asking ones of them and (N,) codes, texts of one code being no neighbours, to the
asking texts and neighbours of theirs, in any order."""


def unlabelled_pairs(corpus: Corpus, neighbours: Neighbours, *, label: str) -> tuple[Ends, dict[str, Any]]:
    """The unlabelled ones among the neighbours of train texts.

    Args:
        corpus: any corpus with the group `label`.
        neighbours: how to find them; called if there is a text to ask.
        label: the group whose members say the same. Documents of known group are labelled among each other, so that
            only those of unknown group ask.

    Returns:
        Pairs sorted by left and right, left < right, each once; and counts of `texts` to pair, `texts_in_val_or_test`
        left out, `candidates` and those of them `already_labelled`, with the `reason` if there are no pairs.

    Raises:
        ValueError: if the corpus has no such group.
    """
    if label not in corpus.groups:
        raise ValueError(f"corpus {corpus.name!r} has no group {label!r} to go by; it has {sorted(corpus.groups)}")
    texts = _texts_of_train_alone(corpus)
    asking = texts[corpus.groups[label][texts] == UNKNOWN] if corpus.kind == "documents" else texts
    linked = _linked(corpus, label)
    keys = np.empty(0, np.int64)
    if len(asking):
        keys = np.unique(pair_keys(*neighbours(texts, asking, linked), count=len(corpus)))
    left, right = np.divmod(keys, len(corpus))
    known = _follows(corpus, linked, left, right)
    card: dict[str, Any] = {
        "label": label,
        "texts": len(texts),
        "texts_in_val_or_test": len(corpus.members["train"]) - len(texts),
        "candidates": len(left),
        "already_labelled": int(known.sum()),
    }
    if not len(asking):
        card["reason"] = f"every train text of {corpus.name} has a known {label}, so that no pair of them is unlabelled"
    elif known.all():
        card["reason"] = f"no two train texts of {corpus.name} are near each other and unlabelled"
    return (left[~known], right[~known]), card


def _texts_of_train_alone(corpus: Corpus) -> NDArray[np.int64]:
    """(M,) the train texts that are in no other split, word for word; sorted."""
    code = corpus.text_codes()
    train = corpus.members["train"]
    elsewhere = code[np.concatenate([corpus.members["val"], corpus.members["test"]])]
    return train[~np.isin(code[train], elsewhere)]


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


def _follows(
    corpus: Corpus, linked: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(P,) whether train has a label for each pair, or for a pair of texts that its labels link to these."""
    if "train" not in corpus.pairs:
        return np.zeros(len(left), dtype=bool)
    pairs = corpus.pairs["train"]
    given = pair_keys(linked[pairs.left], linked[pairs.right], count=len(corpus))
    return np.isin(pair_keys(linked[left], linked[right], count=len(corpus)), given)
