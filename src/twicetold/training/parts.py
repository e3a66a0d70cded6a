"""The parts of a training, as chosen by a recipe, and the folders that it uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from twicetold.data.corpus import Corpus
from twicetold.evaluation.selection import Selection
from twicetold.examples.batches import ExampleIndex, Examples
from twicetold.features.rows import Featuriser
from twicetold.models.protocol import Encoder
from twicetold.objectives.protocol import Objective
from twicetold.training.schedule import Fitted, MakeOptimizer, Schedule
from twicetold.training.solvers.protocol import Solver

OF_GRADIENTS = (
    "warmup_steps",
    "decay",
    "gradient_clip",
    "micro_batch",
    "accumulate_grad_batches",
    "lr_scheduler",
)
"""Settings of the schedule that only gradient descent uses."""


class Augmentation(Protocol):
    """Training on further texts that are made of those of the examples."""

    def examples(self, index: ExampleIndex, corpus: Corpus, *, seed: int) -> ExampleIndex:
        """The examples with the texts that are made, which depend on the run's seed."""
        ...

    def objective(self, own: Objective, encoder: Encoder) -> Objective:
        """The objective with what is asked of those texts, which the encoder must be able to do."""
        ...


@dataclass(frozen=True)
class Parts:
    """The parts chosen by a recipe.

    Raises:
        ValueError: if only one of examples and objective is there, or there is augmentation or a schedule of gradient
            descent without gradient descent.
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
    """`descent.descend`; None if nothing is trained: it takes seconds to import, and the baselines do not need it."""
    augmentation: Augmentation | None = None
    """Altered copies of texts, for augmentation or consistency; None: the examples as they are."""

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
        if self.augmentation is None:
            return
        if self.objective is None or self.examples is None:
            raise ValueError(
                "augmentation and consistency need a training, and nothing is trained here (objective=none): choose an "
                "objective and examples, or set augmentation.share=0 and consistency.weight=0"
            )
        if isinstance(self.make_optimizer, Solver):
            raise ValueError(
                "augmentation and consistency need gradient descent, which the solver "
                f"{type(self.make_optimizer).__name__} does not do: set augmentation.share=0 and consistency.weight=0"
            )


@dataclass(frozen=True)
class Places:
    """Folders that training reads from and writes temporary files to."""

    triplets: Path
    features: Path
    checkpoints: Path
