"""What a training asks of whatever shares it among several devices, which trainings on one device do not import."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from torch import Tensor

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.examples.batches import Batch
from twicetold.models.protocol import Encoder
from twicetold.objectives.protocol import Objective


class Shareable(Protocol):
    """What is known of the learner: its parts, and how it encodes a batch."""

    encoder: Encoder
    objective: Objective

    def encoded(self, batch: Batch) -> EncodedBatch:
        """The input of the objective."""
        ...

    def modules(self) -> Any:
        """All modules."""
        ...

    def parameters(self) -> Any:
        """All parameters."""
        ...


class Sharing(Protocol):
    """How several devices share one training: `several_devices`, as a module."""

    def check_shareable(self, learner: Any, loader: Any, devices: int) -> bool:
        """Refuse what several devices would not learn as one does; whether the loss depends on all parameters."""
        ...

    def processes(self, loader: Any, count: int, *, uses_all: bool) -> AbstractContextManager[Any]:
        """Run the block in `count` processes; yields Lightning's strategy."""
        ...

    def own_sigterm(self, *, first: bool) -> None:
        """Let SIGTERM end this process while it trains together with others."""
        ...

    def all_rows(self, share: Tensor, *, sizes: Sequence[int], process: int) -> Tensor:
        """The rows of a batch in order, from this process's share."""
        ...

    def all_encodings(self, share: Encoding, *, sizes: Sequence[int], process: int) -> Encoding:
        """The encoding of a whole batch, from this process's share."""
        ...
