"""What a training is put together from: the parts that a recipe chose, and the folders that it works in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twicetold.augmentation.augment import Augmentation
from twicetold.evaluation.selection import Selection
from twicetold.examples.batches import Examples
from twicetold.features.rows import Featuriser
from twicetold.models.protocol import Encoder
from twicetold.objectives.protocol import Objective
from twicetold.training.schedule import MakeOptimizer, Schedule
from twicetold.training.solvers.protocol import Solver

OF_GRADIENTS = ("warmup_steps", "decay", "gradient_clip", "micro_batch")
"""Settings of the schedule that only gradient descent has a use for."""


@dataclass(frozen=True)
class Parts:
    """What a recipe chose.

    Raises:
        ValueError: if there is augmentation or a schedule of gradient descent, and nothing is learnt by gradient
            descent.
    """

    featuriser: Featuriser
    encoder_of: Callable[[Mapping[str, Any]], Encoder]
    """From the shape of the features to the encoder."""
    examples: Examples | None
    objective: Objective | None
    """None, as `examples` is then, where nothing is learnt."""
    make_optimizer: MakeOptimizer | Solver
    schedule: Schedule
    selection: Selection
    augmentation: Augmentation | None = None
    """Altered copies of texts, for augmentation or consistency; None: the examples as they are."""

    def __post_init__(self) -> None:
        if isinstance(self.make_optimizer, Solver):
            idle = [name for name in OF_GRADIENTS if getattr(self.schedule, name) is not None]
            if idle:
                named, solver = " and ".join(f"trainer.{name}" for name in idle), type(self.make_optimizer).__name__
                raise ValueError(
                    f"{named}: the solver {solver} sets the weights by itself and has no use for it: set it to null"
                )
        if self.augmentation is None:
            return
        if self.objective is None or self.examples is None:
            raise ValueError(
                "augmentation and consistency need a training, and nothing is trained here (objective=none): choose an "
                "objective and examples, or set augmentation.share=0 and consistency.weight=0"
            )
        if isinstance(self.make_optimizer, Solver):
            raise ValueError(
                "augmentation and consistency are for gradient descent, and the solver "
                f"{type(self.make_optimizer).__name__} does without: set augmentation.share=0 and consistency.weight=0"
            )


@dataclass(frozen=True)
class Places:
    """Folders that training reads from and keeps its scratch in."""

    triplets: Path
    features: Path
    checkpoints: Path
