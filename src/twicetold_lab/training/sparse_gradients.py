"""What a training does for optimizers and gradients of a few rows of a table (`adam_by_rows`), and for all others."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from torch import Tensor, nn


@runtime_checkable
class Lazy(Protocol):
    """An optimizer that updates a row of a table when it is read."""

    def catch_up(self) -> None:
        """Apply the missed updates of all rows."""
        ...

    def let_go(self) -> None:
        """Catch up, and from then on update all rows in every step."""
        ...


def clip_gradients(parameters: Iterable[nn.Parameter], most: float) -> None:
    """Clip the total norm of all gradients like `torch.nn.utils.clip_grad_norm_`, but also with sparse gradients.

    Args:
        parameters: whose gradients are clipped in place.
        most: the largest norm.
    """
    gradients: list[Tensor] = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
        gradients.append(parameter.grad.values() if parameter.grad.is_sparse else parameter.grad)
    share = (most / (nn.utils.get_total_norm(gradients) + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(share)
