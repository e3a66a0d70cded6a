"""The parts of a training, as chosen by a recipe, and the folders that it uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from twicetold.features.rows import Featuriser
from twicetold.models.protocol import Encoder, Searchable
from twicetold.neighbours.nearest import Matrix
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.examples.batches import Examples, GatheredExamples
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.training.schedule import Fitted, MakeOptimizer, Schedule
from twicetold_lab.training.solvers.protocol import Solver

OF_GRADIENTS = (
    "warmup_steps",
    "decay",
    "gradient_clip",
)
"""Settings of the schedule that only gradient descent uses."""


VectorsOf = Callable[[NDArray[np.int64]], tuple[Matrix, Matrix]]
"""From (M,) numbers of texts, ascending, to their search vectors as queries and as documents, by the model as it is."""


class Negatives(Protocol):
    """Negatives that are chosen while the model trains."""

    def renewing(
        self, data: GatheredExamples, corpus: Corpus, vectors: VectorsOf, *, seed: int
    ) -> Callable[[int], None]:
        """A function that is called with each epoch's number before it begins, and changes the negatives of `data`.

        They depend on the model at that moment, the seed and the epoch.
        """
        ...


@dataclass(frozen=True)
class Parts:
    """The parts chosen by a recipe.

    Raises:
        ValueError: if only one of examples and objective is there, or there are negatives or a schedule of gradient
            descent without gradient descent, or negatives that the objective does not read.
    """

    featuriser: Featuriser
    encoder_of: Callable[[Mapping[str, Any]], Encoder]
    """From the shape of the features to the encoder."""
    examples: Examples | None
    objective: Objective | None
    """None, like `examples`, if nothing is trained."""
    make_optimizer: MakeOptimizer | Solver
    schedule: Schedule
    selection: Selection
    descend: Callable[..., Fitted] | None = None
    """`fit.descend`; None if nothing is trained: it takes seconds to import, and the baselines do not need it."""
    negatives: Negatives | None = None
    """None: those of the batch and of the examples."""

    def __post_init__(self) -> None:
        if (self.objective is None) != (self.examples is None):
            given, missing = ("examples", "objective") if self.objective is None else ("objective", "examples")
            raise ValueError(
                f"{given} is chosen and {missing}=none, so nothing would be trained: choose {missing} as well, or set "
                f"{given}=none"
            )
        if self.objective is not None and self.descend is None:
            raise ValueError("expected how to train as `descend`, because there is an objective; got nothing")
        if isinstance(self.make_optimizer, Solver):
            idle = [name for name in OF_GRADIENTS if getattr(self.schedule, name) is not None]
            if idle:
                named, solver = " and ".join(f"trainer.{name}" for name in idle), type(self.make_optimizer).__name__
                raise ValueError(f"{named}: the solver {solver} does not use it: set it to null")
        self._check_negatives()

    def check_negatives_of(self, encoder: Encoder) -> None:
        """Check that an encoder can mine negatives, if there are any to mine.

        Raises:
            TypeError: if its scores of pairs are no dot products of vectors of single texts.
        """
        if self.negatives is not None and not (isinstance(encoder, Searchable) and encoder.score_is_dot_product):
            raise TypeError(
                f"negatives=self_mined searches by the vectors of single texts, and {type(encoder).__name__} scores a "
                "pair in another way than by their dot product: set negatives=none, or choose a family with two towers"
            )

    def _check_negatives(self) -> None:
        if self.negatives is None:
            return
        if self.objective is None:
            raise ValueError("negatives=self_mined needs a training, and nothing is trained here: set negatives=none")
        if isinstance(self.make_optimizer, Solver):
            raise ValueError(
                f"negatives=self_mined needs gradient descent, which the solver {type(self.make_optimizer).__name__} "
                "does not do: set negatives=none"
            )
        if not self.objective.compares_mined:
            raise ValueError(
                f"{type(self.objective).__name__} compares no anchor with mined negatives, so negatives=self_mined "
                "would change nothing: set negatives=none, or choose objective=info_nce"
            )


@dataclass(frozen=True)
class Places:
    """Folders that training reads from and writes temporary files to."""

    triplets: Path
    features: Path
    checkpoints: Path
