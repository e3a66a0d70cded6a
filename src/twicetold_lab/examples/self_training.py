"""Examples for self-training: what a trained model, the teacher, mined from the train texts for its student.

Each is an `Examples` leaf of `conf/examples/`; the stage `mine_with_model` writes its files with the leaf of the same
name in `conf/mining/`. The files hold text numbers, so they are valid for the train split that they were mined from and
no other.

`VectorNeighbours` are positive pairs without labels. As with lexical neighbours (`examples.positives`), labels are not
used for the negatives either: texts that are neighbours of neighbours are of one group, and no text of the anchor's
group is its negative.

Shape letters: N texts of the corpus, X examples, P pseudo-labelled pairs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from twicetold.conventions import UNDECIDED
from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.examples.labelled import LabelledPairs, MinedTriplets
from twicetold_lab.examples.positives import neighbour_pairs
from twicetold_lab.mining.mined_file import Mined
from twicetold_lab.mining.pseudo_labels import PseudoPairs
from twicetold_lab.mining.similarities import Similarities
from twicetold_lab.mining.triplets import Triplets
from twicetold_lab.mining.vector_neighbours import NearestPairs

HARD_NEGATIVES, PSEUDO_LABELS, SIMILARITIES = "hard_negatives", "pseudo_labels", "similarities"
VECTOR_NEIGHBOURS = "vector_neighbours"
M = TypeVar("M", bound=Mined)


@dataclass(frozen=True)
class HardNegatives:
    """Triplets whose negatives a trained model found, and those of labelled pairs.

    Args:
        mined: folder that the stage `mine_with_model` wrote.
        group: the group whose members are never negatives of each other (`cluster`, `story`, `category`).
        labelled: copies of the triplets of each pair labelled as not the same, as `MinedTriplets` makes them.
        different: graded pairs up to this grade are labelled as not the same.
    """

    mined: str
    group: str
    labelled: int
    different: float

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per triplet.

        Raises:
            FileNotFoundError: if nothing was mined for this corpus.
            ValueError: if it was mined from another train split.
        """
        mined = mined_with_model(Triplets, corpus, self.mined, HARD_NEGATIVES)
        return MinedTriplets(HARD_NEGATIVES, self.group, self.labelled, self.different).of(corpus, mined)


@dataclass(frozen=True)
class PseudoLabels:
    """The labelled pairs of train, and those that a trained model labelled.

    Texts of a pair with the hard label 1 become one group with all that they are linked to, so that no objective takes
    them for negatives of each other. A soft label, a probability, joins no groups: chains of pairs that are only likely
    the same would end in groups that are not.

    Args:
        mined: folder that the stage `mine_with_model` wrote.
        strategy: which file of the mining stage gives pairs of documents, as in `LabelledPairs`.
        group: the group whose members are never negatives of each other.
        duplicates_only: leave the pairs with label 0 out, for objectives that find negatives in the batch.
    """

    mined: str
    strategy: str
    group: str
    duplicates_only: bool = False

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per pair, those that people labelled first.

        Raises:
            FileNotFoundError: if nothing was mined for this corpus.
            ValueError: if it was mined from another train split.
        """
        labelled = LabelledPairs(self.strategy, self.group, self.duplicates_only).index(corpus, triplets)
        assert labelled.positive is not None
        assert labelled.label is not None
        pseudo = mined_with_model(PseudoPairs, corpus, self.mined, PSEUDO_LABELS)
        same = pseudo.label > UNDECIDED
        kept = same | (not self.duplicates_only)
        anchor = np.concatenate([labelled.anchor, pseudo.left[kept]])
        positive = np.concatenate([labelled.positive, pseudo.right[kept]])
        sure = pseudo.label == 1
        group = _joined(corpus.groups[self.group], pseudo.left[sure], pseudo.right[sure])
        return ExampleIndex(
            anchor=anchor,
            positive=positive,
            label=np.concatenate([labelled.label, pseudo.label[kept]]),
            group=group[anchor],
            positive_group=group[positive],
        )


@dataclass(frozen=True)
class TeacherSimilarities:
    """Train texts with the similarities of a trained model, without labels.

    Args:
        mined: folder that the stage `mine_with_model` wrote.
        margins: triplets with the difference of the two similarities as their label, for MarginMSE; false: each triplet
            gives two pairs with their similarities.
    """

    mined: str
    margins: bool

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per triplet, or two.

        Raises:
            FileNotFoundError: if nothing was mined for this corpus.
            ValueError: if it was mined from another train split.
        """
        similarities = mined_with_model(Similarities, corpus, self.mined, SIMILARITIES)
        if self.margins:
            margin = similarities.of_positive - similarities.of_negative
            return ExampleIndex(
                anchor=similarities.anchor, positive=similarities.positive, negative=similarities.negative, label=margin
            )
        return ExampleIndex(
            anchor=np.concatenate([similarities.anchor, similarities.anchor]),
            positive=np.concatenate([similarities.positive, similarities.negative]),
            label=np.concatenate([similarities.of_positive, similarities.of_negative]),
        )


@dataclass(frozen=True)
class VectorNeighbours:
    """Each train text, with the one that a trained model found nearest to it.

    Args:
        mined: folder that the stage `mine_with_model` wrote.
    """

    mined: str

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per text that has a neighbour.

        Raises:
            FileNotFoundError: if nothing was mined for this corpus.
            ValueError: if it was mined from another train split.
        """
        pairs = mined_with_model(NearestPairs, corpus, self.mined, VECTOR_NEIGHBOURS)
        return neighbour_pairs(corpus, pairs.anchor, pairs.positive)


def mined_with_model(kind: type[M], corpus: Corpus, folder: str, strategy: str) -> M:
    """The output of the stage `mine_with_model` for one strategy.

    Raises:
        FileNotFoundError: if it did not.
        ValueError: if the corpus's train texts are others than those that it was mined from.
    """
    command = f"python pipelines/mine_with_model.py data={corpus.name} mining={strategy} teacher=<family>"
    remedy = f"Run `{command}`, with the teacher and seed of this training, or name a folder by examples.mined=<folder>"
    return kind.of(corpus, Path(folder), strategy, remedy=remedy)


def _joined(group: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,) groups that also hold together the texts of P pairs; `UNKNOWN` where neither knows a text.

    Joined groups have the lowest of their codes, so that without pairs all is as before, the order of batches as well.
    """
    _, first, code = np.unique(group, return_index=True, return_inverse=True)
    known = np.flatnonzero(group != UNKNOWN)
    part = components(len(group), np.concatenate([known, left]), np.concatenate([first[code][known], right]))
    own = group.max() + 1 + np.arange(len(group))  # of a text without a code, in case it is paired
    named = np.where(group == UNKNOWN, own, group)
    lowest = np.full(part.max() + 1, own[-1])
    np.minimum.at(lowest, part, named)
    paired = np.isin(np.arange(len(group)), np.concatenate([left, right]))
    return np.where((group != UNKNOWN) | paired, lowest[part], UNKNOWN)
