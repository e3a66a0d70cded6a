"""The first layer on sparse rows: its product and how its weights begin.

Shape letters: B rows of a batch, V columns, H hidden units.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from twicetold.encoding import SparseRows


def product(rows: SparseRows, weight: Float[Tensor, "V H"], *, but: int | None = None) -> Float[Tensor, "B H"]:
    """Sparse rows times weights, x W, without a row as wide as the vocabulary; an empty row gives 0.

    Args:
        rows: x.
        weight: W.
        but: a column that counts for nothing and learns nothing.
    """
    return embedding_bag(  # sparse (B, V) -> (B, H)
        rows.indices,
        weight,
        rows.offsets,
        mode="sum",
        per_sample_weights=rows.values,
        include_last_offset=True,
        padding_idx=but,
    )


def xavier(weight: Tensor) -> None:
    """Draw from U(±√(6 / (fan in + fan out))), in place (Glorot and Bengio, AISTATS 2010, equation 16)."""
    bound = (6 / sum(weight.shape)) ** 0.5
    nn.init.uniform_(weight, -bound, bound)
