"""What every family offers: encode texts, score pairs.

Shape letters: B texts or pairs of a batch.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, SparseRows


class Encoder(Protocol):
    """A family's `nn.Module`. Constructed with `width=`, the number of feature columns, and its own settings."""

    def encode(self, features: SparseRows) -> Encoding:
        """Encode a batch of B texts; a text's encoding never depends on its batch neighbours."""
        ...

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) one number per pair; higher means more alike."""
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
    """A family whose scores are dot products, so that one vector per text serves every comparison."""

    def search_vectors(self, encoding: Encoding) -> tuple[Tensor, Tensor] | tuple[SparseRows, SparseRows]:
        """Vectors of B texts as queries and as documents, with score(l, r) = ⟨query of l, document of r⟩."""
        ...


@runtime_checkable
class Linear(Protocol):
    """A family whose embeddings are linear in the feature row, but for the length of each: its scores can be explained.

    A score is then a sum over pairs of a left and a right column, and each term can be shown (`interpretation`).
    """

    def linear_maps(self) -> tuple[Tensor, Tensor] | tuple[SparseRows, SparseRows]:
        """What each of V feature columns adds to the search vectors of a text, as query and as document.

        Two (V, E) maps, dense, or sparse rows for the lexical families; the same one twice where the roles do not
        differ. The search vectors of a row x are x times the maps, each scaled by a number above 0.
        """
        ...


@runtime_checkable
class Settling(Protocol):
    """A family of which something is fitted in closed form, besides what is trained by gradient, if anything."""

    def settle(self, texts: Iterable[SparseRows]) -> None:
        """Fit it on the train texts, which come in batches: before each validation, so that the model kept has it."""
        ...


@runtime_checkable
class OnFrozen(Protocol):
    """A family whose first part is never trained, so that its vectors of a corpus's tokens are made once and kept."""

    frozen: nn.Module

    def token_vectors(self, features: SparseRows) -> Float[Tensor, "K H"]:
        """(K, H) float16, one for each of the K tokens; `encode` takes them as `values` and so need not make them."""
        ...


@runtime_checkable
class Rankable(Protocol):
    """A family that scores pairs in another way, but embeds texts such that dot products rank documents."""

    def ranking_vectors(self, encoding: Encoding) -> tuple[Tensor, Tensor]:
        """Vectors of B texts as queries and as documents; their dot products are not the scores."""
        ...
