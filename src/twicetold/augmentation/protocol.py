"""What every training data regime offers: a leaf of `conf/regime/`, off by default."""

from typing import Protocol

from twicetold.data.corpus import Corpus
from twicetold.examples.batches import ExampleIndex
from twicetold.models.protocol import Encoder
from twicetold.objectives.protocol import Objective


class Regime(Protocol):
    """Changes the examples and the objective of a family that is trained by gradient descent."""

    def examples(self, index: ExampleIndex, corpus: Corpus, *, seed: int) -> ExampleIndex:
        """The examples to train on.

        Args:
            index: what the family's own `examples` leaf made.
            corpus: what it made them of.
            seed: of the run.
        """
        ...

    def objective(self, own: Objective, encoder: Encoder) -> Objective:
        """The objective to train with.

        Args:
            own: the family's.
            encoder: the family's, to be looked at only: an objective holds no encoder.

        Raises:
            TypeError: if the family has not what the regime compares.
        """
        ...
