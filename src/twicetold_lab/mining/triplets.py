"""Triplets (anchor, positive, negative), mined from the whole train split before training, with a card of counts.

Shape letters: T triplets, N texts of the corpus.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.corpus import Corpus, pair_keys
from twicetold_lab.mining.groups import NoTriplets
from twicetold_lab.mining.mined_file import Mined


@dataclass(frozen=True)
class Triplets(Mined):
    """Triplets by index into the corpus's texts: the positive says the same as the anchor, the negative does not.

    Raises:
        ValueError: if the columns differ in length or a triplet names one text twice.
    """

    anchor: NDArray[np.int64]
    """(T,)"""
    positive: NDArray[np.int64]
    """(T,)"""
    negative: NDArray[np.int64]
    """(T,)"""
    card: Mapping[str, Any]
    """Strategy, seed and counts, ready for JSON; see `collect`."""

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in self.columns()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"anchor, positive and negative must have the same length, got {lengths}")
        same = (self.anchor == self.positive) | (self.anchor == self.negative) | (self.positive == self.negative)
        if same.any():
            row = int(np.argmax(same))
            texts = self.anchor[row], self.positive[row], self.negative[row]
            raise ValueError(f"a triplet names three different texts, but row {row} is {tuple(map(int, texts))}")


def no_triplets(corpus: Corpus, *, label: str, reason: str) -> Triplets:
    """Return no triplets, with a card that says why, so that a training that needs some can say so."""
    nothing = np.empty(0, dtype=np.int64)
    card = {"label": label, "train": corpus.train_digest(), "triplets": 0, "reason": reason}
    return Triplets(nothing, nothing, nothing, card)


def collect(
    corpus: Corpus,
    *,
    anchor: NDArray[np.int64],
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
    kind: NDArray[np.int64],
    kinds: tuple[str, ...],
    negative_grade: float,
    card: Mapping[str, Any],
) -> Triplets:
    """Turn drawn triplets into `Triplets`: remove invalid ones and count the rest.

    Removed are repeated triplets, negatives with the same text as the anchor under another id, and negatives that
    are labelled in train as duplicates of the anchor.

    Args:
        corpus: where the texts and the labelled pairs are.
        anchor: (T,) indices into the corpus's texts.
        positive: (T,)
        negative: (T,)
        kind: (T,) how each negative was found, an index into `kinds`.
        kinds: names for the card.
        negative_grade: of graded pairs, those above this grade are duplicates.
        card: the strategy's own entries, which come first.

    Returns:
        Triplets sorted by anchor, positive and negative. The card adds `train` (digest of the train split), `anchors`
        (with a triplet), `triplets`, `mean_per_anchor`, `negatives` (by kind), `negatives_labelled_different` (labelled
        so in train) and `left_out` (by reason).

    Raises:
        NoTriplets: if nothing is left.
    """
    order = np.lexsort((kind, negative, positive, anchor))
    anchor, positive, negative, kind = anchor[order], positive[order], negative[order], kind[order]
    repeated = np.zeros(len(anchor), dtype=bool)
    repeated[1:] = (np.diff(anchor) == 0) & (np.diff(positive) == 0) & (np.diff(negative) == 0)
    text = corpus.text_codes()
    same_text = ~repeated & (text[anchor] == text[negative])
    alike, different = labelled(corpus, negative_grade=negative_grade)
    keys = pair_keys(anchor, negative)
    labelled_alike = ~repeated & ~same_text & np.isin(keys, pair_keys(*alike))
    kept = ~(repeated | same_text | labelled_alike)
    if not kept.any():
        raise NoTriplets(
            f"no triplet can be made from the train texts of {corpus.name!r}: every negative has the text of its "
            "anchor or is labelled as saying the same. Use more rows or another label"
        )
    labelled_different = np.isin(keys[kept], pair_keys(*different))
    anchors = len(np.unique(anchor[kept]))
    counts = np.bincount(kind[kept], minlength=len(kinds)).tolist()
    return Triplets(
        anchor[kept],
        positive[kept],
        negative[kept],
        card={
            **card,
            "train": corpus.train_digest(),
            "anchors": anchors,
            "triplets": int(kept.sum()),
            "mean_per_anchor": round(float(kept.sum()) / anchors, 3),
            "negatives": dict(zip(kinds, counts, strict=True)),
            "negatives_labelled_different": int(labelled_different.sum()),
            "left_out": {
                "repeated": int(repeated.sum()),
                "same_text": int(same_text.sum()),
                "labelled_alike": int(labelled_alike.sum()),
            },
        },
    )


Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


def labelled(corpus: Corpus, *, negative_grade: float) -> tuple[Ends, Ends]:
    """Return the pairs of train that are duplicates and those that are not, each as (left, right); none for documents.

    Args:
        corpus: any kind.
        negative_grade: of graded pairs, the highest grade that means "is no duplicate".
    """
    if "train" not in corpus.pairs:
        nothing = np.empty(0, dtype=np.int64)
        return (nothing, nothing), (nothing, nothing)
    pairs = corpus.pairs["train"]
    alike = pairs.label > (negative_grade if corpus.kind == "graded_pairs" else 0.0)
    return (pairs.left[alike], pairs.right[alike]), (pairs.left[~alike], pairs.right[~alike])
