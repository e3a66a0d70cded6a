"""The interface of all objectives: an encoded batch in, named losses out."""

from collections.abc import Callable
from typing import TypeAlias

from torch import Tensor

from twicetold.encoding import EncodedBatch

Objective: TypeAlias = Callable[[EncodedBatch], dict[str, Tensor]]
"""A training objective: an `nn.Module` that is a pure function of tensors and never holds the encoder.

It returns scalars by name: `loss` is the total to minimise; the others are parts of it, for logging. A batch from which
nothing can be selected gives a zero that still back-propagates (to gradients of zero).

Optional attributes: `needs_score`, whether it reads the encoder's score of each pair; `in_batch`, whether other rows of
the batch are negatives of an anchor.
"""
