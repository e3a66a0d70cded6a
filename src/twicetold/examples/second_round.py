"""Examples of a second training: what a trained model, the teacher, chose from the train texts.

Each is an `Examples` leaf of `conf/examples/` with a leaf of the same name in `conf/lesson/`, by which the stage
`teach` makes its file. The files hold text numbers, so they go with the train split that the teacher saw and no other.

Shape letters: N texts of the corpus, X examples, P pseudo-labelled pairs.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.data.clusters import components
from twicetold.data.corpus import UNKNOWN, Corpus
from twicetold.encoding import UNDECIDED
from twicetold.examples.batches import ExampleIndex, LabelledPairs, MinedTriplets
from twicetold.mining.pseudo_labels import PseudoPairs
from twicetold.mining.triplets import card_file

DENSE_NEGATIVES, PSEUDO_LABELS = "dense_negatives", "pseudo_labels"


@dataclass(frozen=True)
class DenseNegatives:
    """Triplets whose negatives the teacher's search found, and those that labelled pairs give.

    Args:
        taught: folder that the stage `teach` wrote.
        group: the group whose members are never negatives of each other (`cluster`, `story`, `category`).
        labelled: copies of the triplets of each pair labelled as not the same, as `MinedTriplets` makes them.
        different: graded pairs up to this grade are labelled as not the same.
    """

    taught: str
    group: str
    labelled: int
    different: float

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per triplet.

        Raises:
            FileNotFoundError: if nothing was taught for this corpus.
            ValueError: if it was taught of another train split.
        """
        folder = taught_file(corpus, Path(self.taught), DENSE_NEGATIVES).parent
        return MinedTriplets(DENSE_NEGATIVES, self.group, self.labelled, self.different).index(corpus, folder)


@dataclass(frozen=True)
class PseudoLabels:
    """The labelled pairs of train, and those that the teacher labelled.

    Texts that the teacher takes for the same become one group with all that they are linked to, so that no objective
    makes them negatives of each other; the pairs that are labelled 0 stay what they are. A soft label, a probability,
    joins nothing: chains of pairs that are only likely the same would end in groups that are not.

    Further pairs (`data.further`) are not among them: what they say, the teacher has learnt and hands on.

    Args:
        taught: folder that the stage `teach` wrote.
        strategy: which file of the mining stage gives pairs of documents, as in `LabelledPairs`.
        group: the group whose members are never negatives of each other.
        duplicates_only: leave the pairs with label 0 out, for objectives that find negatives in the batch.
        implied: pairs that follow from those that people labelled, as `LabelledPairs` adds them.
        lesson: which, `pseudo_labels` or `soft_labels`.
    """

    taught: str
    strategy: str
    group: str
    duplicates_only: bool = False
    implied: int = 0
    lesson: str = PSEUDO_LABELS

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per pair, those that people labelled first.

        Raises:
            FileNotFoundError: if nothing was taught for this corpus.
            ValueError: if it was taught of another train split.
        """
        leaf = LabelledPairs(self.strategy, self.group, self.duplicates_only, self.implied)
        labelled = leaf.index(replace(corpus, further=None), triplets)
        assert labelled.positive is not None
        assert labelled.label is not None
        pseudo = PseudoPairs.load(taught_file(corpus, Path(self.taught), self.lesson))
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


def taught_file(corpus: Corpus, folder: Path, lesson: str) -> Path:
    """What the stage `teach` wrote by one lesson.

    Raises:
        FileNotFoundError: if it did not.
        ValueError: if the corpus's train texts are others than those that the teacher saw.
    """
    path = layout.taught_file(folder, lesson)
    command = f"python pipelines/teach.py data={corpus.name} lesson={lesson} run=<folder of a trained run>"
    if not path.exists():
        raise FileNotFoundError(
            f"no teacher chose {lesson} for {corpus.name}: {path} is missing. Run `{command}`, with the seed of this "
            "training, or say examples.taught=<folder> for another one"
        )
    if json.loads(card_file(path).read_text(encoding="utf-8"))["train"] != corpus.train_digest():
        raise ValueError(
            f"{path} is of another train split of {corpus.name} than the one that is there now: run `{command}` again"
        )
    return path


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
