"""Examples for self-training: what a trained model, the teacher, mined from the train texts for its student.

Each is an `Examples` leaf of `conf/examples/`; the stage `mine_with_model` writes its files with the leaf of the same
name in `conf/mining/`. The files hold text numbers, so they are valid for the train split that they were mined from and
no other.

Shape letters: X examples.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from twicetold.conventions import UNDECIDED
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.examples.labelled import LabelledPairs
from twicetold_lab.mining.mined_file import Mined
from twicetold_lab.mining.pseudo_labels import PseudoPairs
from twicetold_lab.mining.similarities import Similarities

PSEUDO_LABELS, SIMILARITIES = "pseudo_labels", "similarities"
M = TypeVar("M", bound=Mined)


@dataclass(frozen=True, kw_only=True)
class PseudoLabels(LabelledPairs):
    """The labelled pairs of train, and those that a trained model labelled.

    A label of the model, a probability, joins no groups: chains of pairs that are only likely the same would end in
    groups that are not.

    Args:
        mined: folder that the stage `mine_with_model` wrote.
        strategy: which file of the mining stage gives pairs of documents, as in `LabelledPairs`.
        group: the group whose members are never negatives of each other.
        duplicates_only: leave the pairs with label 0 out, for objectives that find negatives in the batch.
    """

    mined: str

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per pair, those that people labelled first.

        Raises:
            FileNotFoundError: if nothing was mined for this corpus.
            ValueError: if it was mined from another train split.
        """
        labelled = super().index(corpus, triplets)
        assert labelled.positive is not None
        assert labelled.label is not None
        pseudo = mined_with_model(PseudoPairs, corpus, self.mined, PSEUDO_LABELS)
        same = pseudo.label > UNDECIDED
        kept = same | (not self.duplicates_only)
        anchor = np.concatenate([labelled.anchor, pseudo.left[kept]])
        positive = np.concatenate([labelled.positive, pseudo.right[kept]])
        group = corpus.groups[self.group]
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
        """Return one example per triplet, or two.

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


def mined_with_model(kind: type[M], corpus: Corpus, folder: str, strategy: str) -> M:
    """Return the output of the stage `mine_with_model` for one strategy.

    Raises:
        FileNotFoundError: if it did not.
        ValueError: if the corpus's train texts are others than those that it was mined from.
    """
    command = f"python pipelines/mine_with_model.py data={corpus.name} mining={strategy} teacher=<family>"
    remedy = f"Run `{command}`, with the teacher and seed of this training, or name a folder by examples.mined=<folder>"
    return kind.of(corpus, Path(folder), strategy, remedy=remedy)
