"""Several encoders that judge each pair for themselves: the score is the mean of theirs.

Lakshminarayanan, Pritzel and Blundell, Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles,
NeurIPS 2017 (arXiv:1612.01474): networks of one kind that begin elsewhere err elsewhere, and their mean errs less than
each. Each is trained by itself (`members_of`), so that none leans on what another has learnt. There, probabilities are
averaged; here scores, as other cosines are.

Shape letters: B texts or pairs, M members, E dimensions of all members' vectors together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from twicetold.encoding import Encoding, Extra, SparseRows


@dataclass(frozen=True)
class OfMembers(Extra):
    """What each member makes of the texts."""

    encodings: tuple[Encoding, ...]


class Committee(nn.Module):
    """Encoders of the same features.

    Args:
        members: encoders, at least one.
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members: Any = nn.ModuleList(members)

    def encode(self, features: SparseRows) -> Encoding:
        """What each member makes of the texts; the embedding is that of the first, whatever its kind."""
        each = tuple(member.encode(features) for member in self.members)
        return Encoding(each[0].embedding, OfMembers(each))

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """(B,) mean of the members' scores."""
        sides = zip(self.members, _of_members(left), _of_members(right), strict=True)
        return torch.stack([member.score(one, other) for member, one, other in sides]).mean(0)  # M (B,) -> (B,)


class SearchableCommittee(Committee):
    """Encoders whose scores are dot products: so is their mean."""

    def search_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """Vectors whose dot products are the scores: (B, E) as queries, (B, E) as documents."""
        return _side_by_side(self, "search_vectors", encoding)


class RankableCommittee(Committee):
    """Encoders that rank documents by other vectors than their scores: by the mean of those dot products."""

    def ranking_vectors(self, encoding: Encoding) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """Vectors whose dot products rank documents: (B, E) as queries, (B, E) as documents."""
        return _side_by_side(self, "ranking_vectors", encoding)


def committee_of(members: Sequence[Any]) -> Any:
    """A committee, which can search if all its members can, or rank; of one, the encoder itself."""
    if len(members) == 1:
        return members[0]
    for method, kind in (("search_vectors", SearchableCommittee), ("ranking_vectors", RankableCommittee)):
        if all(hasattr(member, method) for member in members):
            return kind(members)
    return Committee(members)


def judges_of(encoder: Any) -> list[Any]:
    """What `committee_of` made a committee of; of any other encoder, itself."""
    made = type(encoder) in (Committee, SearchableCommittee, RankableCommittee)
    return list(encoder.members) if made else [encoder]


def members_of(encoder: Any) -> tuple[Any, ...]:
    """Those that are trained each for itself: the members of a committee, and theirs in turn, or the encoder."""
    if not isinstance(encoder, Committee):
        return (encoder,)
    return tuple(innermost for member in encoder.members for innermost in members_of(member))


def _of_members(encoding: Encoding) -> tuple[Encoding, ...]:
    assert isinstance(encoding.extra, OfMembers)
    return encoding.extra.encodings


def _joined(each: Sequence[Tensor]) -> Tensor:
    """Vectors whose dot product is the mean of the parts' dot products."""
    joined: Tensor = torch.cat(list(each), 1) / len(each) ** 0.5
    return joined


def _side_by_side(committee: Committee, name: str, encoding: Encoding) -> tuple[Tensor, Tensor]:
    each: list[tuple[Any, Any]] = [
        getattr(member, name)(one) for member, one in zip(committee.members, _of_members(encoding), strict=True)
    ]
    queries, documents = zip(*each, strict=True)
    joined = _joined(queries)
    return joined, joined if all(q is d for q, d in each) else _joined(documents)
