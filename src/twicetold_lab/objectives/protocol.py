"""The interface of all objectives: an encoded batch in, named losses out."""

from typing import Protocol

from torch import Tensor

from twicetold.encoding import EncodedBatch


class Objective(Protocol):
    """A training objective: an `nn.Module` that is a pure function of tensors and never holds the encoder."""

    needs_score: bool = False
    """It reads the encoder's score of each pair."""
    in_batch: bool = False
    """Other rows of the batch are negatives of an anchor."""
    compares_mined: bool = False
    """It compares anchors with mined negatives, where a batch has them."""

    def __call__(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return scalars by name: `loss` is the total to minimise; the others are parts of it, for logging.

        A batch from which nothing can be selected gives a zero that still back-propagates (to gradients of zero).
        """
        ...
