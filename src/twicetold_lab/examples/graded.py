"""Examples from pairs with a grade of how alike they are.

Clicked documents of queries are graded by how often or in which order they were clicked. Pairs of train are (query,
document, grade): left text, right text, and a number that is 0 for a document that was shown and not clicked, and
higher the better the document did: clicks, or 3 for the first click, 2 for the second, 1 for any later one. For
`objectives.graded_clicks`.

Shape letters: X pairs.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import ExampleIndex, blocks


@dataclass(frozen=True)
class GradedPairs:
    """Pairs of train, each with its grade as its label: for objectives that learn an order, or a number.

    Pairs labelled 1 or 0 have these for grades.
    """

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per pair; `triplets` is not read.

        Raises:
            ValueError: if the corpus is of documents.
        """
        if corpus.kind == "documents":
            raise ValueError(
                "graded_pairs needs pairs with grades or labels, and documents have none: choose group_pairs"
            )
        pairs = corpus.pairs["train"]
        return ExampleIndex(anchor=pairs.left, positive=pairs.right, label=pairs.label.astype(np.float32))


@dataclass(frozen=True)
class Clicks:
    """Pairs of train with their grades as shares of the highest one.

    Args:
        group: the group whose members say the same, so that none is a negative of another.
        together: documents of one query are in blocks of up to this many, which stay side by side in an epoch, so that
            they meet in one batch and their order can be learnt. None: a plain shuffle.

    Raises:
        ValueError: if `together` is below 2.
    """

    group: str
    together: int | None

    def __post_init__(self) -> None:
        if self.together is not None and self.together < 2:
            raise ValueError(f"examples.together is 2 documents of a query or more, or null; got {self.together}")

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """One example per pair; `triplets` is not read.

        Raises:
            ValueError: if the corpus is of documents, or its grades do not begin at 0 or have nothing above it.
        """
        if corpus.kind == "documents":
            raise ValueError(
                "clicks needs pairs of a query and a document with grades, and documents have none: choose "
                "data=pairs data.source.graded=true, or examples=group_pairs"
            )
        pairs = corpus.pairs["train"]
        lowest, highest = float(pairs.label.min()), float(pairs.label.max())
        if lowest < 0 or highest <= 0:
            raise ValueError(
                f"clicks needs grades from 0 (not clicked) upwards, and those of {corpus.name} go from {lowest:g} to "
                f"{highest:g}: write the number of clicks, or of points for their order, into the column of grades"
            )
        group = corpus.group(self.group)
        return ExampleIndex(
            anchor=pairs.left,
            positive=pairs.right,
            label=(pairs.label / highest).astype(np.float32),
            group=group[pairs.left],
            positive_group=group[pairs.right],
            block=None if self.together is None else blocks(corpus.text_codes()[pairs.left], self.together),
        )
