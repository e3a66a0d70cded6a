"""Thresholds of links from labelled pairs that were drawn, with known probabilities, from the nearest pairs of a file.

A labelled pair stands for 1 / probability pairs (Horvitz and Thompson 1952). Of the pairs from a score on, the share
that says the same is estimated by Σ w y / Σ w over the labelled ones (Hájek 1971). As on validation (`dedupe`), the
threshold for an aimed precision is the lowest one that reaches it.

What is covered are the pairs that could be drawn: those of which one text is among the `nearest` ones of the other.
Where more texts than that say the same as one, a dedupe links further pairs, about which these labels say nothing.

Shape letters: P labelled pairs, L links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.dedupe import AIMED, AimedLinks, aimed_at, carried_over
from twicetold.evaluation.ranking import Floats, cuts
from twicetold.evaluation.stored import objects, record

FEWEST_LABELLED = 20  # a precision of fewer labelled pairs is not taken for one that can be kept


@dataclass(frozen=True)
class LabelledLinks:
    """What labelled pairs say about the links of a file.

    Args:
        file: name of the file of texts that they were drawn from.
        texts: number of its distinct texts.
        nearest: of each text, the pairs with so many nearest ones could be drawn.
        pairs: how many of these pairs the labelled ones stand for.
        labelled: number of labelled pairs.
        f1_threshold: score with the highest F1 of links, for these pairs.
        links: for each aimed precision; precision and recall are estimates for these pairs.
    """

    file: str
    texts: int
    nearest: int
    pairs: int
    labelled: int
    f1_threshold: float
    links: tuple[AimedLinks, ...]

    def aimed_at(self, precision: float) -> AimedLinks:
        """The threshold for a precision.

        Raises:
            ValueError: if none was chosen for it, or none reaches it.
        """
        return aimed_at(self.links, precision, where="on the labelled pairs")

    def expected_precision(self, precision: float, texts: int) -> float:
        """A precision on these pairs, carried over to a corpus of so many texts; see `carried_over`."""
        return carried_over(precision, measured_on=self.texts, texts=texts)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "LabelledLinks":
        """The inverse of `dataclasses.asdict`.

        Raises:
            ValueError: if a field is missing, of another type, or unknown.
        """
        links = tuple(record(AimedLinks, each, "links") for each in objects(values, "links"))
        found: LabelledLinks = record(cls, {**values, "links": links}, "thresholds from labels")
        return found


def thresholds(
    score: Floats, label: NDArray[np.bool_], weight: Floats, *, aimed: Sequence[float] = AIMED
) -> tuple[AimedLinks, ...]:
    """The lowest threshold with each aimed precision, midway between two labelled pairs.

    Args:
        score: (P,), at least `FEWEST_LABELLED`.
        label: (P,) whether the two texts say the same; at least one does.
        weight: (P,) how many pairs each stands for.
        aimed: precisions.

    Raises:
        ValueError: if there are fewer pairs.
    """
    if len(score) < FEWEST_LABELLED:
        raise ValueError(f"expected at least {FEWEST_LABELLED} labelled pairs, got {len(score)}")
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    true, reached = np.cumsum((weight * label)[order]), np.cumsum(weight[order])
    precision, recall = true / reached, true / true[-1]
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))  # equal scores are reached together
    cut = dict(zip(last.tolist(), cuts(ranked[last][::-1])[::-1].tolist(), strict=True))
    enough = last[last + 1 >= FEWEST_LABELLED]
    found = []
    for each in aimed:
        good = enough[precision[enough] >= each]
        at = int(good[-1] if len(good) else enough[np.argmax(precision[enough])])
        found.append(AimedLinks(each, cut[at] if len(good) else None, float(precision[at]), float(recall[at])))
    return tuple(found)


def covered(left: NDArray[np.int64], right: NDArray[np.int64], similarity: Floats, *, nearest: int) -> float | None:
    """Share of links of which one text is among the `nearest` linked ones of the other; None if there is no link.

    Args:
        left: (L,) numbers of texts.
        right: (L,) numbers of texts.
        similarity: (L,)
        nearest: at least 1.
    """
    if not len(left):
        return None
    ends, alike = np.concatenate([left, right]), np.concatenate([similarity, similarity])
    order = np.lexsort((-alike, ends))
    first = np.flatnonzero(np.append(True, np.diff(ends[order]) != 0))
    place = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    near = np.empty(len(order), bool)
    near[order] = place < nearest
    return float((near[: len(left)] | near[len(left) :]).mean())
