"""What every objective looks like from outside: an encoded batch goes in, named losses come out."""

from typing import Protocol

from torch import Tensor

from twicetold.encoding import EncodedBatch


class Objective(Protocol):
    """A training objective, pure in tensors: an `nn.Module` that never holds the encoder.

    A batch from which nothing can be selected gives a zero that still back-propagates (to gradients of zero).
    """

    def __call__(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Losses of one batch.

        Returns:
            Scalars by name: `loss` is the total to minimise; the others are parts of it, for logging.
        """
        ...
