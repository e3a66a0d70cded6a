"""Examples from pairs with a grade of how alike they are."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import ExampleIndex


@dataclass(frozen=True)
class GradedPairs:
    """Pairs of train, each with its grade as its label: for objectives that learn an order, or a number.

    Pairs labelled 1 or 0 have these for grades.
    """

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per pair; `triplets` is not read.

        Raises:
            ValueError: if the corpus is of documents.
        """
        if corpus.kind == "documents":
            raise ValueError(
                "graded_pairs needs pairs with grades or labels, and documents have none: choose group_pairs"
            )
        pairs = corpus.pairs["train"]
        return ExampleIndex(anchor=pairs.left, positive=pairs.right, label=pairs.label.astype(np.float32))
