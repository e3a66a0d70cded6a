"""Soft labels: what a trained model thinks of pairs that nobody labelled, sure or not.

Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015 (arXiv:1503.02531): a student that learns
a teacher's probabilities learns more of what it knows than from its decisions, from unlabelled data as well.

Candidates are neighbours by tf-idf cosine, so that a family without vectors may teach, as one that reads two texts
together. A teacher's probability is calibrated on validation, where v of the pairs say the same; of neighbours that
nobody labelled fewer do. For a share of d the odds are (Saerens, Latinne and Decaestecker, Neural Computation 2002)

    p' / (1 − p') = p / (1 − p) · d / (1 − d) · (1 − v) / v

Of documents p' is p: they have no pairs to know v by. No text of validation or test, and no pair whose label follows
from those of train, is among the candidates (`mining.unlabelled`).

Shape letters: A texts that ask for neighbours, P pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.mining.bm25 import NOBODY, hardest
from twicetold.mining.groups import sorted_groups
from twicetold.mining.neighbour import tfidf_weights
from twicetold.mining.pseudo_labels import PseudoPairs
from twicetold.mining.teacher import Teacher
from twicetold.mining.triplets import Ends
from twicetold.mining.unlabelled import unlabelled_pairs


def judge_pairs(
    corpus: Corpus,
    teacher: Teacher,
    *,
    label: str,
    neighbours: int,
    texts_per_word: int,
    most: int,
    duplicates: float,
    seed: int,
) -> PseudoPairs:
    """Have the teacher judge neighbours of train texts.

    Args:
        corpus: any corpus with the group `label`.
        teacher: who judges.
        label: the group whose members say the same. Documents of known group are labelled among each other, so that
            only the neighbours of documents of unknown group are candidates.
        neighbours: candidates for each text: so many of the highest tf-idf cosine.
        texts_per_word: words that stand in more texts than this do not count.
        most: pairs, at most; drawn from all candidates.
        duplicates: d, which share of the candidates is expected to say the same.
        seed: of the draw.

    Returns:
        Pairs sorted by left and right, left < right, each once, with p' for `label` and p for `probability`. The card
        has the settings; counts of `texts` to pair, `texts_in_val_or_test` left out, `candidates` and those of them
        `already_labelled`; `validation`, v; the mean of p' (`expected_duplicates`); and `reason` why there are no
        pairs, if so.

    Raises:
        ValueError: for an unknown label, a share that is none, or no pairs asked for.
    """
    if not 0 < duplicates < 1:
        raise ValueError(f"duplicates is the expected share of duplicates, between 0 and 1; got {duplicates}")
    if neighbours < 1 or most < 1:
        raise ValueError(f"neighbours and most are numbers of pairs, at least 1; got {neighbours} and {most}")

    def nearest(texts: NDArray[np.int64], asking: NDArray[np.int64], apart: NDArray[np.int64]) -> Ends:
        _, first = np.unique(corpus.text_codes()[texts], return_index=True)  # equal texts have one neighbourhood
        once = texts[np.sort(first)]
        groups = sorted_groups(once, apart[once])
        anchors = np.flatnonzero(np.isin(groups.texts, asking))
        written: list[str] = corpus.texts.take(groups.texts).to_pylist()
        most_alike = hardest(
            written, groups, anchors, last=neighbours, texts_per_word=texts_per_word, weigh=tfidf_weights
        )
        nobody = np.empty((0, neighbours), np.int64)  # where equal texts of known group stand for all that ask
        ranked = np.concatenate([nobody, *(ranks for _, ranks in most_alike)])  # (A, neighbours)
        row, rank = np.nonzero(ranked != NOBODY)
        return groups.texts[anchors[row]], groups.texts[ranked[row, rank]]

    (left, right), counts = unlabelled_pairs(corpus, nearest, label=label)
    card: dict[str, Any] = {
        "strategy": "soft_labels",
        "neighbours": neighbours,
        "texts_per_word": texts_per_word,
        "most": most,
        "duplicates": duplicates,
        "seed": seed,
        **counts,
    }
    if not len(left):
        nothing = np.empty(0)
        return PseudoPairs(left, right, nothing.astype(np.float32), nothing, card)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(left))[:most])
    left, right = left[drawn], right[drawn]
    probability = teacher.probability(left, right)
    validation = _share_of_validation(corpus) if "val" in corpus.pairs else duplicates
    odds = duplicates / (1 - duplicates) * (1 - validation) / validation
    expected = probability * odds / (probability * odds + 1 - probability)
    card |= {"validation": round(validation, 4), "expected_duplicates": round(float(expected.mean()), 4)}
    return PseudoPairs(left, right, expected.astype(np.float32), probability, card)


def _share_of_validation(corpus: Corpus) -> float:
    """Which share of the pairs of validation says the same; never none or all."""
    same = corpus.pairs["val"].label >= corpus.positive_label
    return float(np.clip(same.mean(), 0.5 / len(same), 1 - 0.5 / len(same)))
