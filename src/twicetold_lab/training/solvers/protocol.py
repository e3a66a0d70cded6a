"""The interface of solvers: training without gradient descent on batches.

A leaf of `conf/optimizer/` is either a factory of a `torch.optim.Optimizer`, or a `Solver`.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from twicetold.features.rows import CsrRows
from twicetold.models.protocol import Encoder
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.objectives.protocol import Objective


@dataclass(frozen=True)
class TrainingData:
    """The input of a solver: the train texts and their examples."""

    rows: CsrRows
    """Feature rows of all texts."""
    texts: NDArray[np.int64]
    """Row numbers of the train texts."""
    examples: ExampleIndex


class Steps(nn.Module):
    """A training in progress. Its buffers are its state, which is saved in checkpoints."""

    per_epoch: int
    """Number of steps between validations."""

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        return self  # solvers compute on the CPU: their state never moves to another device

    def step(self, encoder: Encoder, chosen: NDArray[np.int64]) -> dict[str, Tensor]:
        """Update the encoder's weights.

        Args:
            encoder: of a family that the solver supports.
            chosen: numbers of a batch of examples.

        Returns:
            Scalars by name, for logging.
        """
        raise NotImplementedError


class Solver:
    """Base of the settings of a solver, as a leaf of `conf/optimizer/` gives them."""

    def prepare(self, encoder: Encoder, objective: Objective, data: TrainingData, *, seed: int) -> Steps:
        """Compute everything that is needed once.

        Raises:
            TypeError: if the solver does not support the encoder or the objective.
        """
        raise NotImplementedError
