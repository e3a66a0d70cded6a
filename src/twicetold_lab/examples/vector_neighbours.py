"""Positive pairs without labels: a text and its neighbour by a trained model's vectors, such as word vectors.

The stage `mine_with_model` writes them with the leaf of the same name in `conf/mining/`. As with lexical neighbours
(`examples.positives`), labels are not used for the negatives either: texts that are neighbours of neighbours are of one
group, and no text of the anchor's group is its negative.
"""

from dataclasses import dataclass
from pathlib import Path

from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.examples.self_training import mined_with_model
from twicetold_lab.mining.vector_neighbours import NearestPairs

VECTOR_NEIGHBOURS = "vector_neighbours"


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
        found = NearestPairs.load(mined_with_model(corpus, Path(self.mined), VECTOR_NEIGHBOURS))
        code = corpus.text_codes()
        group = components(len(corpus), code[found.anchor], code[found.positive])[code]
        return ExampleIndex(
            anchor=found.anchor,
            positive=found.positive,
            group=group[found.anchor],
            positive_group=group[found.positive],
        )
