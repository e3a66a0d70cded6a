"""Examples from labels and from the mining stage: labelled texts, labelled pairs and mined triplets."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.examples.batches import ExampleIndex, blocks
from twicetold_lab.mining.triplets import Triplets


@dataclass(frozen=True)
class LabelledTexts:
    """Every train text of known group, with its group's code: for objectives that mine within the batch.

    Args:
        label: the group (`category`, `story`, `cluster`).
        together: members of one group are in blocks of up to this many, which stay side by side in an epoch, so that
            small groups (stories, clusters) meet in one batch. None: a plain shuffle, as published.
        group: a narrower group (`story`), which makes the blocks instead, for `objectives.two_levels`; or None.
    """

    label: str
    together: int | None = None
    group: str | None = None

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per train text.

        Raises:
            ValueError: if the corpus lacks one of the groups.
        """
        members = corpus.members["train"]
        members = members[corpus.group(self.label)[members] != UNKNOWN]
        label = corpus.groups[self.label][members]
        group = None if self.group is None else corpus.group(self.group)[members]
        block = None if self.together is None else blocks(label if group is None else group, self.together)
        return ExampleIndex(anchor=members, label=label, group=group, block=block)


@dataclass(frozen=True)
class TrainTexts:
    """Every train text, without labels: for objectives that learn from the words of a text."""

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per train text."""
        return ExampleIndex(anchor=corpus.members["train"])


@dataclass(frozen=True)
class MinedTriplets:
    """The triplets that the mining stage wrote.

    Args:
        strategy: which file of the mining stage (`random`, `bm25`, `cluster`).
        group: the group whose members are never negatives of each other (`cluster`, `story`, `category`).
        labelled: copies, for each pair of train that is labelled as not the same, of two more triplets: the anchor is
            one of the two texts, the positive that text itself, the negative the other text. Mining needs an anchor
            with a duplicate, so that few of these pairs, the hardest negatives there are, come into its triplets.
        different: graded pairs up to this grade are labelled as not the same.
    """

    strategy: str
    group: str
    labelled: int = 0
    different: float = 0.0

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per triplet.

        Raises:
            FileNotFoundError: if that strategy was not mined for this corpus.
        """
        return self.of(corpus, mined(corpus, triplets, self.strategy))

    def of(self, corpus: Corpus, mined: Triplets) -> ExampleIndex:
        """Return one example per triplet, and those of labelled pairs."""
        group = corpus.group(self.group)
        anchor, positive, negative = mined.anchor, mined.positive, mined.negative
        if self.labelled and corpus.kind != "documents":
            pairs = corpus.pairs["train"]
            apart = pairs.label <= self.different
            one, other = (np.tile(ends, self.labelled) for ends in (pairs.left[apart], pairs.right[apart]))
            anchor, positive = (np.concatenate([side, one, other]) for side in (anchor, positive))
            negative = np.concatenate([negative, other, one])
        return ExampleIndex(
            anchor=anchor,
            positive=positive,
            negative=negative,
            group=group[anchor],
            positive_group=group[positive],
            negative_group=group[negative],
        )


@dataclass(frozen=True)
class LabelledPairs:
    """Pairs of train with label 1 (they are duplicates) or 0.

    Graded pairs count as 1 from the corpus's positive grade on. Documents have no pairs: for them each triplet of
    the mining stage gives a pair of either kind.

    Args:
        strategy: which file of the mining stage, for documents.
        group: the group whose members are never negatives of each other.
        duplicates_only: leave the pairs with label 0 out, for objectives that find negatives in the batch.
    """

    strategy: str
    group: str
    duplicates_only: bool = False

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per pair.

        Raises:
            FileNotFoundError: if the corpus is of documents, and the strategy was not mined.
        """
        group = corpus.group(self.group)
        if corpus.kind == "documents":
            mined_triplets = mined(corpus, triplets, self.strategy)
            left = np.concatenate([mined_triplets.anchor, mined_triplets.anchor])
            right = np.concatenate([mined_triplets.positive, mined_triplets.negative])
            same = np.repeat(np.array([True, False]), len(mined_triplets))
        else:
            pairs = corpus.pairs["train"]
            left, right, same = pairs.left, pairs.right, pairs.label >= corpus.positive_label
        kept = same | (not self.duplicates_only)
        left, right, same = left[kept], right[kept], same[kept]
        return ExampleIndex(
            anchor=left,
            positive=right,
            label=same.astype(np.float32),
            group=group[left],
            positive_group=group[right],
        )


def mined(corpus: Corpus, triplets: Path, strategy: str) -> Triplets:
    """Return the triplets that the mining stage wrote by one strategy.

    Raises:
        FileNotFoundError: if it did not.
        ValueError: if they were mined from another train split, or there are none.
    """
    remedy = (
        f"Run `dvc repro mine@{corpus.name}` (neighbours: `python pipelines/mine.py data={corpus.name} "
        "mining=neighbours`), or choose another examples.strategy"
    )
    mined_triplets = Triplets.of(corpus, triplets, strategy, remedy=remedy)
    if not len(mined_triplets):
        raise ValueError(f"this training needs triplets, and mining found none: {mined_triplets.card['reason']}")
    return mined_triplets
