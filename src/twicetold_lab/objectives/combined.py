"""Objectives made of others: a weighted sum, and one that alternates between the views of an encoder.

`Alternating` trains another view step after step. Elkahky, Song and He, WWW 2015, algorithm 1: a round of training
takes a batch for the network of users and that of one kind of items, then for users and the next kind, and so on. Here
a step's loss is an objective's loss of one view. Each view has a softmax of its own; the tower of queries learns from
all of them, as it is in every view. With an optimizer that remembers earlier gradients, such as Adam, the towers of
other views go on a little in their last direction; with gradient descent, as in the paper, they stay where they are.
"""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import views
from twicetold_lab.objectives.protocol import Objective


class WeightedSum(nn.Module, Objective):
    """Σ weight · loss.

    Args:
        parts: objectives by name.
        weights: by the same names; a part of weight 0 is not computed.

    Raises:
        ValueError: if the names differ.
    """

    def __init__(self, *, parts: Mapping[str, Objective], weights: Mapping[str, float]) -> None:
        super().__init__()
        if set(parts) != set(weights):
            raise ValueError(f"expected one weight for each of {sorted(parts)}, got {sorted(weights)}")
        computed = {name: part for name, part in parts.items() if weights[name]}
        self.parts = nn.ModuleDict(cast("dict[str, Any]", computed))  # registers the parameters of the parts
        self.weights = dict(weights)
        self.needs_score = any(part.needs_score for part in computed.values())
        self.in_batch = any(part.in_batch for part in computed.values())
        self.compares_mined = any(part.compares_mined for part in computed.values())

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, and the loss of each part under its name."""
        losses = {name: part(batch)["loss"] for name, part in self.parts.items()}
        total = torch.stack([self.weights[name] * loss for name, loss in losses.items()]).sum()
        return {"loss": total, **{name: loss.detach() for name, loss in losses.items()}}


class Alternating(nn.Module, Objective):
    """An objective on one view at each step of training, and on all of them otherwise.

    An encoder of one view makes no difference. The number of the step is kept with a checkpoint, so a training that
    resumes goes on with the view that was next.

    Args:
        each: the objective of each view.

    Raises:
        ValueError: if it reads scores of pairs.
    """

    def __init__(self, *, each: Objective) -> None:
        super().__init__()
        if each.needs_score:
            raise ValueError(
                f"{type(each).__name__} reads scores of pairs, which have no views: choose an objective on "
                "embeddings, such as info_nce"
            )
        self.each = each
        self.steps = 0
        self.in_batch = each.in_batch
        self.compares_mined = each.compares_mined

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return the losses of the view whose turn it is."""
        seen = views(batch)
        if not self.training or len(seen) == 1:
            return self.each(batch)
        losses = self.each(seen[self.steps % len(seen)])
        self.steps += 1
        return losses

    def get_extra_state(self) -> Tensor:
        """Return () number of steps so far."""
        return torch.tensor(self.steps)

    def set_extra_state(self, state: Tensor) -> None:
        """Go on after so many steps."""
        self.steps = int(state)
