"""Pseudo-labels: pairs that nobody labelled, labelled by a trained model where it is sure.

Lee, Pseudo-Label, ICML 2013 workshop, trains on the classes that a model predicts for unlabelled data; with a bound on
its confidence it is what later self-training does. Pairs of texts have no unlabelled set that is given, most of the M²
pairs being trivially different: candidates are the nearest neighbours by the teacher's own exact search, which is where
both unlabelled duplicates and confusing others are. A pair is labelled by the calibrated probability, not by the score
(`evaluation.decision`, fitted on validation).

No text of validation or test, and no pair whose label follows from those of train, is among them
(`mining.unlabelled`).

Shape letters: P pairs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.files import write_file, write_text
from twicetold.mining.teacher import Teacher
from twicetold.mining.triplets import Ends, card_file
from twicetold.mining.unlabelled import unlabelled_pairs
from twicetold.search import NOBODY, Index

COLUMNS = ("left", "right", "label", "probability")


@dataclass(frozen=True)
class PseudoPairs:
    """Pairs by index into the corpus's texts, with the label that a trained model gave them; there may be none."""

    left: NDArray[np.int64]
    """(P,)"""
    right: NDArray[np.int64]
    """(P,)"""
    label: NDArray[np.float32]
    """(P,) 1 for "says the same", 0 for "does not"; or what lies between (`mining.soft_labels`)."""
    probability: NDArray[np.float64]
    """(P,) calibrated, that the two say the same."""
    card: Mapping[str, Any]
    """Bounds and counts, ready for JSON; see `label_pairs`."""

    def __len__(self) -> int:
        return len(self.left)

    def save(self, path: Path) -> None:
        """Write the pairs to `path` (Parquet) and their card beside it (`<stem>.card.json`)."""
        with write_file(path) as temporary:
            pq.write_table(pa.table({name: getattr(self, name) for name in COLUMNS}), temporary)
        write_text(card_file(path), json.dumps(dict(self.card), indent=2, sort_keys=True) + "\n")

    @classmethod
    def load(cls, path: Path) -> "PseudoPairs":
        """Read pairs that `save` wrote."""
        table = pq.read_table(path, columns=list(COLUMNS))
        card = json.loads(card_file(path).read_text(encoding="utf-8"))
        return cls(**{name: table[name].to_numpy() for name in COLUMNS}, card=card)


def label_pairs(
    corpus: Corpus, teacher: Teacher, *, label: str, neighbours: int, above: float, below: float
) -> PseudoPairs:
    """Label the neighbours of every train text, where the teacher is sure.

    Args:
        corpus: any corpus with the group `label`.
        teacher: who searches and judges.
        label: the group whose members say the same. Documents of known group are labelled among each other, so that
            only the neighbours of documents of unknown group are candidates.
        neighbours: candidates for each text: so many nearest ones that no label links to it.
        above: pairs of at least this probability are labelled 1.
        below: pairs of at most this probability are labelled 0.

    Returns:
        Pairs sorted by left and right, left < right, each once. The card has the settings; counts of `texts` to pair,
        `texts_in_val_or_test` left out, `candidates`, those of them `already_labelled`, `positives`, `negatives` and
        `unsure`; of labelled pairs of `validation`, how many are beyond each bound and which share of those says the
        same; and `reason` why there are none, if so.

    Raises:
        ValueError: for an unknown label, bounds that are none, or no neighbours.
        TypeError: if the teacher has no vector per text.
    """
    if not 0 <= below < above <= 1:
        raise ValueError(f"the bounds are probabilities, 0 <= below < above <= 1; got {below} and {above}")
    if neighbours < 1:
        raise ValueError(f"neighbours is the number of candidates for each text, at least 1; got {neighbours}")

    def nearest(texts: NDArray[np.int64], asking: NDArray[np.int64], apart: NDArray[np.int64]) -> Ends:
        queries, documents = teacher.vectors(texts)
        rows = np.searchsorted(texts, asking)
        found = Index(documents).search(queries[rows], k=neighbours, apart=(apart[asking], apart[texts])).index
        row, rank = np.nonzero(found != NOBODY)
        return asking[row], texts[found[row, rank]]

    (left, right), counts = unlabelled_pairs(corpus, nearest, label=label)
    card: dict[str, Any] = {
        "strategy": "pseudo_labels",
        "neighbours": neighbours,
        "above": above,
        "below": below,
        **counts,
    }
    probability = teacher.probability(left, right) if len(left) else np.empty(0)
    same, different = probability >= above, probability <= below
    sure = same | different
    card |= {"positives": int(same.sum()), "negatives": int(different.sum()), "unsure": int((~sure).sum())}
    if corpus.kind != "documents":
        card["validation"] = _on_validation(corpus, teacher, above=above, below=below)
    if len(left) and not sure.any():
        card["reason"] = f"of {len(left):,} unlabelled pairs none has a probability beyond {below} or {above}"
    return PseudoPairs(left[sure], right[sure], same[sure].astype(np.float32), probability[sure], card)


def _on_validation(corpus: Corpus, teacher: Teacher, *, above: float, below: float) -> dict[str, Any]:
    """How many labelled pairs of validation are beyond each bound, and which share of them says the same."""
    pairs = corpus.pairs["val"]
    same = pairs.label >= corpus.positive_label
    probability = teacher.probability(pairs.left, pairs.right)
    beyond = {"above": probability >= above, "below": probability <= below}
    return {
        name: {"pairs": int(those.sum()), "same": round(float(same[those].mean()), 4) if those.any() else None}
        for name, those in beyond.items()
    }
