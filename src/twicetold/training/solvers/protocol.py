"""Solvers: training that is not gradient descent on batches, behind the same road.

A leaf of `conf/optimizer/` is either a factory of a `torch.optim.Optimizer`, or a `Solver`.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from twicetold.examples.batches import ExampleIndex
from twicetold.features.rows import CsrRows
from twicetold.models.protocol import Encoder
from twicetold.objectives.protocol import Objective


@dataclass(frozen=True)
class TrainingData:
    """What a solver may see: the train texts and the examples made of them."""

    rows: CsrRows
    """Feature rows of all texts."""
    texts: NDArray[np.int64]
    """Row numbers of the train texts."""
    examples: ExampleIndex


class Steps(nn.Module):
    """A training under way. Its buffers are its state: they go into the checkpoint, and a resumed run goes on."""

    per_epoch: int
    """Steps after which validation looks at the encoder."""

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        return self  # the state stays on the CPU, where solvers compute, wherever the encoder goes

    def step(self, encoder: Encoder, chosen: NDArray[np.int64]) -> dict[str, Tensor]:
        """Set the encoder's weights anew.

        Args:
            encoder: of the family that the solver is for.
            chosen: numbers of a batch of examples.

        Returns:
            Scalars by name, for the log.
        """
        raise NotImplementedError


class Solver:
    """Base of the settings of a solver, as a leaf of `conf/optimizer/` gives them."""

    def prepare(self, encoder: Encoder, objective: Objective, data: TrainingData, *, seed: int) -> Steps:
        """Everything that is computed once.

        Raises:
            TypeError: if the encoder or the objective is not of the kind that the solver is for.
        """
        raise NotImplementedError
