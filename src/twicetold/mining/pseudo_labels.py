"""Pseudo-labels: pairs that nobody labelled, labelled by a trained model where it is sure.

Lee, Pseudo-Label, ICML 2013 workshop, trains on the classes that a model predicts for unlabelled data; with a bound on
its confidence it is what later self-training does. Pairs of texts have no unlabelled set that is given, most of the M²
pairs being trivially different: candidates are the nearest neighbours by the teacher's own exact search, which is where
both unlabelled duplicates and confusing others are. A pair is labelled by the calibrated probability, not by the score
(`evaluation.decision`, fitted on validation).

Texts that stand in validation or test, word for word, are never part of a pair, even where the split is one of pairs
and train has them as well. A pair whose label follows from those of train is no candidate either.

Shape letters: N texts of the corpus, M texts that may be paired, P pairs.
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

from twicetold.data.clusters import components
from twicetold.data.corpus import UNKNOWN, Corpus
from twicetold.files import write_file, write_text
from twicetold.mining.teacher import Teacher
from twicetold.mining.triplets import Ends, card_file, pair_keys
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
    texts = texts_of_train_alone(corpus)
    asking = without_label(corpus, texts, label=label)
    card: dict[str, Any] = {
        "strategy": "pseudo_labels",
        "label": label,
        "neighbours": neighbours,
        "above": above,
        "below": below,
        "texts": len(texts),
        "texts_in_val_or_test": len(corpus.members["train"]) - len(texts),
    }
    link = linked(corpus, label)
    left, right = _candidates(teacher, texts, asking, apart=link, neighbours=neighbours)
    known = follows(corpus, link, left, right)
    card |= {"candidates": len(left), "already_labelled": int(known.sum())}
    left, right = left[~known], right[~known]
    probability = teacher.probability(left, right) if len(left) else np.empty(0)
    same, different = probability >= above, probability <= below
    sure = same | different
    card |= {"positives": int(same.sum()), "negatives": int(different.sum()), "unsure": int((~sure).sum())}
    if corpus.kind != "documents":
        card["validation"] = _on_validation(corpus, teacher, above=above, below=below)
    if not len(left):
        card["reason"] = why_none(corpus, asking, label=label)
    elif not sure.any():
        card["reason"] = f"of {len(left):,} unlabelled pairs none has a probability beyond {below} or {above}"
    return PseudoPairs(left[sure], right[sure], same[sure].astype(np.float32), probability[sure], card)


def texts_of_train_alone(corpus: Corpus) -> NDArray[np.int64]:
    """(M,) the train texts that are in no other split, word for word; sorted."""
    code = corpus.text_codes()
    train = corpus.members["train"]
    elsewhere = code[np.concatenate([corpus.members["val"], corpus.members["test"]])]
    return train[~np.isin(code[train], elsewhere)]


def without_label(corpus: Corpus, texts: NDArray[np.int64], *, label: str) -> NDArray[np.int64]:
    """Those of the texts of which some pairs are not labelled: all where pairs are, else those of unknown group.

    Raises:
        ValueError: if the corpus has no such group.
    """
    if label not in corpus.groups:
        raise ValueError(f"corpus {corpus.name!r} has no group {label!r} to go by; it has {sorted(corpus.groups)}")
    return texts[corpus.groups[label][texts] == UNKNOWN] if corpus.kind == "documents" else texts


def why_none(corpus: Corpus, asking: NDArray[np.int64], *, label: str) -> str:
    """Why there are no candidates."""
    if not len(asking):
        return f"every train text of {corpus.name} has a known {label}, so that no pair of them is unlabelled"
    return f"no two train texts of {corpus.name} are near each other and unlabelled"


def linked(corpus: Corpus, label: str) -> NDArray[np.int64]:
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


def _candidates(
    teacher: Teacher,
    texts: NDArray[np.int64],
    asking: NDArray[np.int64],
    *,
    apart: NDArray[np.int64],
    neighbours: int,
) -> Ends:
    """The pairs of each asking text with its nearest ones among `texts`: left < right, sorted, each once."""
    if not len(asking):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    queries, documents = teacher.vectors(texts)
    rows = np.searchsorted(texts, asking)
    found = Index(documents).search(queries[rows], k=neighbours, apart=(apart[asking], apart[texts])).index
    row, rank = np.nonzero(found != NOBODY)
    count = int(texts[-1]) + 1
    left, right = np.divmod(np.unique(pair_keys(asking[row], texts[found[row, rank]], count=count)), count)
    return left, right


def follows(
    corpus: Corpus, linked: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(P,) whether train has a label for each pair, or for a pair of texts that its labels link to these."""
    if "train" not in corpus.pairs:
        return np.zeros(len(left), dtype=bool)
    pairs = corpus.pairs["train"]
    given = pair_keys(linked[pairs.left], linked[pairs.right], count=len(corpus))
    return np.isin(pair_keys(linked[left], linked[right], count=len(corpus)), given)


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
