"""A triplet loss without a margin, φ(a, p, n) = softplus(h_a·h_n − h_a·h_p), on its own: see `triplet`.

Shape letters: B rows, E embedding dimensions.
"""

from typing import Literal, get_args

from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold.objectives import triplet
from twicetold.objectives.in_batch import classes, dense, in_roles

Mining = Literal["batch_all", "batch_hard", "explicit"]


class TripletSoftplus(nn.Module):
    """The mean of φ over triplets of the batch.

    Args:
        mining: `batch_all`, every triplet that the batch has, exactly and without listing them; `batch_hard`, the
            hardest one of each anchor that violates the order; `explicit`, those that were mined before training. The
            first two need texts with class codes, or pairs, whose clusters are the classes then.

    Raises:
        ValueError: if there is no such mining.
    """

    def __init__(self, *, mining: Mining) -> None:
        super().__init__()
        if mining not in get_args(Mining):
            raise ValueError(f"mining must be one of {', '.join(get_args(Mining))}; got {mining!r}")
        self.mining = mining

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, and for the log the `fraction` of violated triplets (`batch_hard`: of active anchors)."""
        if self.mining == "explicit":
            if batch.positive is None or batch.negative is None:
                raise ValueError(
                    "mining=explicit needs an anchor, a positive and a negative in every row: choose "
                    "examples=triplets, or mining=batch_all"
                )
            triplets = triplet.explicit(*map(dense, in_roles(batch)))
        else:
            mine = triplet.batch_all if self.mining == "batch_all" else triplet.batch_hard
            triplets = mine(*classes(batch))
        return {"loss": triplets.loss, "fraction": triplets.fraction.detach()}
