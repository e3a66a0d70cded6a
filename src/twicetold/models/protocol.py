"""The interface of all families: encode texts, score pairs.

Shape letters: B texts or pairs of a batch.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows


class Encoder(Protocol):
    """A family's `nn.Module`. Constructed with `width=`, the number of feature columns, and its own settings."""

    def encode(self, features: SparseRows) -> Encoding:
        """Encode a batch of B texts; a text's encoding never depends on its batch neighbours."""
        ...

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) one number per pair; higher means more alike."""
        ...

    # of nn.Module
    def parameters(self) -> Iterator[nn.Parameter]: ...  # noqa: D102
    def state_dict(self) -> dict[str, Any]: ...  # noqa: D102
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any: ...  # noqa: D102
    def train(self, mode: bool = True) -> Any: ...  # noqa: D102
    def eval(self) -> Any: ...  # noqa: D102
    def cpu(self) -> Any: ...  # noqa: D102
    @property
    def training(self) -> bool: ...  # noqa: D102


@runtime_checkable
class Searchable(Protocol):
    """A family that embeds each text alone, so that dot products of these vectors rank documents."""

    score_is_dot_product: bool
    """The score of a pair is that dot product; if false, pairs are scored in another way."""

    def search_vectors(self, encoding: Encoding) -> tuple[Tensor, Tensor] | tuple[SparseRows, SparseRows]:
        """Return vectors of B texts as queries and as documents."""
        ...


@runtime_checkable
class Comparing(Protocol):
    """A family that judges a pair by features of both texts."""

    def compared(self, left: Encoding, right: Encoding) -> NDArray[np.float32]:
        """Return (B, F) features of pairs, in any company the same."""
        ...


@runtime_checkable
class Settling(Protocol):
    """A family with parts that are fitted in closed form, in addition to any that are trained by gradient."""

    def settle(self, texts: Iterable[SparseRows]) -> None:
        """Fit these parts on batches of the train texts, before each validation, so that the kept weights have them."""
        ...


@runtime_checkable
class OnFrozen(Protocol):
    """A family whose first part is never trained, so that its token vectors of a corpus are computed once."""

    frozen: nn.Module

    def token_vectors(self, features: SparseRows) -> Float[Tensor, "K H"]:
        """Return (K, H) float16, one for each of the K tokens; `encode` uses them if they are the batch's `values`."""
        ...
