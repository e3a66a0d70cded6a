"""A weighted sum of objectives."""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
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
        """`loss`, and the loss of each part under its name."""
        losses = {name: part(batch)["loss"] for name, part in self.parts.items()}
        total = torch.stack([self.weights[name] * loss for name, loss in losses.items()]).sum()
        return {"loss": total, **{name: loss.detach() for name, loss in losses.items()}}
