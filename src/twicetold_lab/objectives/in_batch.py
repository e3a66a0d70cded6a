"""Positives and negatives of each anchor among the texts of a batch.

An in-batch objective compares every anchor with many texts of the batch. Other rows may hold duplicates of the anchor,
which would be false negatives. So one rule holds for all objectives: **a text of the anchor's own cluster is never its
negative.** In full, for an anchor and a text:

    own pair, label 1          positive
    own pair, label 0          negative, usually a hard one
    own mined negatives        negative
    another row, same cluster  positive if the objective compares positives of other rows, else neither
    anything else              negative, also if a cluster is unknown

Texts with class codes (no pairs) follow the same rule; those of unknown class are ignored.

Shape letters: B rows of the batch, H mined negatives of a row, R anchors, C candidates, b some of the anchors,
E embedding dimensions, M views.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from twicetold.conventions import UNDECIDED
from twicetold.encoding import EncodedBatch, Encoding, Roles, unit_vectors

UNKNOWN = -1  # group code of a text whose cluster is not known


@dataclass(frozen=True)
class Candidates:
    """Anchors and candidates, the texts that they are compared with."""

    anchor: Tensor
    """(R, E)"""
    other: Tensor
    """(C, E): of pairs, the right texts of all rows and then, if there are any, the mined negatives of all rows, the
    first of every row before the second of every row."""
    group: Tensor
    """(R,) int64 cluster of each anchor, -1 where unknown."""
    other_group: Tensor
    """(C,) int64 the same of each candidate."""
    duplicate: Tensor | None
    """(R,) bool, whether candidate i is a duplicate of anchor i; None where they are the same text."""

    def masks(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Return positives and negatives, (b, C) bool each, of the anchors `rows`."""
        same = one_cluster(self.group[rows], self.other_group)
        here = torch.arange(len(same), device=same.device)
        own = here + rows.start
        if self.duplicate is None:
            negative = ~same
            same[here, own] = False
            return same, negative
        same[here, own] = self.duplicate[rows]
        beyond = len(self.anchor) * torch.arange(1, self.mined + 1, device=same.device)  # (H,)
        same[here[:, None], own[:, None] + beyond] = False
        return same, ~same

    @property
    def mined(self) -> int:
        """H, how many mined negatives each anchor has."""
        return max(len(self.other) // max(len(self.anchor), 1) - 1, 0)

    def turned(self) -> "Candidates":
        """The same pairs with sides exchanged: right texts as anchors, left texts as candidates, no mined negatives."""
        size = len(self.anchor)
        return Candidates(self.other[:size], self.anchor, self.other_group[:size], self.group, self.duplicate)


def views(batch: EncodedBatch) -> list[EncodedBatch]:
    """Return one batch for each of the M views; the batch itself if there is one view."""
    extra = batch.anchor.extra
    count = extra.query.shape[1] if isinstance(extra, Roles) else 1
    if count == 1:
        return [batch]

    def seen(side: Encoding | None, view: int) -> Encoding | None:
        if side is None:
            return None
        assert isinstance(side.extra, Roles)
        query, document = side.extra.query[:, view, None], side.extra.document[:, view, None]
        return Encoding(side.embedding, Roles(query, document))

    return [
        replace(batch, anchor=anchor, positive=seen(batch.positive, view), negative=seen(batch.negative, view))
        for view in range(count)
        if (anchor := seen(batch.anchor, view)) is not None
    ]


def candidates(batch: EncodedBatch, *, unit_length: bool) -> Candidates:
    """Return anchors and candidates of a batch of pairs, or of texts with class codes.

    For a family with two towers, anchors are queries and candidates are documents.

    Args:
        batch: with right texts, or with integer labels.
        unit_length: scale every embedding to length 1, so that dots are cosines.

    Raises:
        ValueError: if the batch has neither, or mined negatives without their clusters.
    """

    def vectors(side: Encoding) -> Tensor:
        return unit(side) if unit_length else dense(side)

    anchor = vectors(as_query(batch.anchor))
    if batch.positive is None:
        if batch.label is None or batch.label.is_floating_point():
            raise ValueError(
                "this objective needs pairs, triplets, or texts with the code of their class, and the batch has none: "
                "choose examples=labelled_pairs, examples=duplicates, examples=triplets or examples=labelled_texts"
            )
        known = batch.label != UNKNOWN
        label = batch.label[known]
        return Candidates(anchor[known], vectors(as_document(batch.anchor))[known], label, label, None)
    others, unknown = [vectors(as_document(batch.positive))], torch.full((len(anchor),), UNKNOWN, device=anchor.device)
    groups = [unknown if batch.positive_group is None else batch.positive_group]
    if batch.negative is not None:
        if batch.group is not None and batch.negative_group is None:
            raise ValueError(
                "expected the cluster of each mined negative (negative_group) beside that of each anchor (group): "
                "without it a negative of one row may be a duplicate of another row's anchor"
            )
        others.append(vectors(as_document(batch.negative)))
        mined = len(others[1]) // max(len(anchor), 1)
        groups.append(unknown.repeat(mined) if batch.negative_group is None else batch.negative_group)
    group = unknown if batch.group is None else batch.group
    return Candidates(anchor, torch.cat(others), group, torch.cat(groups), duplicates(batch))


def in_roles(batch: EncodedBatch) -> tuple[Encoding, Encoding, Encoding]:
    """Anchor, positive and mined negative of each row; for a family with two towers, a query and two documents."""
    assert batch.positive is not None
    assert batch.negative is not None
    return as_query(batch.anchor), as_document(batch.positive), as_document(batch.negative)


def as_query(side: Encoding) -> Encoding:
    """Return the (B, E) embedding as a query; without two towers, the encoding itself."""
    towers = _two_towers(side)
    return side if towers is None else Encoding(towers.query[:, 0])


def as_document(side: Encoding) -> Encoding:
    """Return the (B, E) embedding as a document; without two towers, the encoding itself."""
    towers = _two_towers(side)
    return side if towers is None else Encoding(towers.document[:, 0])


def _two_towers(side: Encoding) -> Roles | None:
    return side.extra if isinstance(side.extra, Roles) and side.extra.query.shape[1] == 1 else None


def duplicates(batch: EncodedBatch) -> Tensor:
    """Return (B,) bool: which rows are duplicate pairs; all of them if the pairs have no labels."""
    if batch.label is None or not batch.label.is_floating_point():  # class codes of texts, not labels of pairs
        size = len(dense(batch.anchor))
        return torch.ones(size, dtype=torch.bool, device=dense(batch.anchor).device)
    return batch.label > UNDECIDED


def classes(batch: EncodedBatch) -> tuple[Tensor, Tensor]:
    """Return all texts of a batch without roles, (N, E), and their class codes, (N,), negative where unknown.

    Pairs give both their texts (and mined negatives), with clusters as classes. The two texts of a duplicate pair are
    of one class, even if their clusters are unknown or differ.

    Raises:
        ValueError: if the family has two towers.
    """
    if _two_towers(batch.anchor) is not None:
        raise ValueError(
            "this objective compares all texts of a batch without roles, and the family has one tower for queries and "
            "another for documents: choose an objective on pairs (info_nce, triplet), or a family "
            "with one tower for both (of dssm: encoder.shared=true)"
        )
    compared = candidates(batch, unit_length=False)
    if compared.duplicate is None:
        return compared.anchor, compared.group
    size, same = len(compared.anchor), compared.duplicate
    code = torch.cat([compared.group, compared.other_group])
    fresh = (code.amax() if size else 0) + 1 + torch.arange(len(code), device=code.device)
    code = torch.where(code == UNKNOWN, fresh, code)
    return torch.cat([compared.anchor, compared.other]), _united(code, code[:size], code[size : 2 * size], same)


def _united(code: Tensor, left: Tensor, right: Tensor, same: Tensor) -> Tensor:
    """Return (N,) codes after merging the classes of the two texts of each chosen pair, also along chains of pairs."""
    known, place = code.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    ends = torch.searchsorted(known, torch.stack([left[same], right[same]]))
    lowest = torch.arange(len(known), device=code.device)
    while True:
        low = lowest[ends].amin(0)
        lower = lowest.scatter_reduce(0, ends.flatten(), low.repeat(2), "amin")
        if torch.equal(lower, lowest):
            return torch.as_tensor(known[lowest][place])
        lowest = lower[lower]


def one_cluster(group: Tensor, other: Tensor) -> Tensor:
    """Return (R, C) bool: which of R and C texts are known to be of one cluster."""
    return (group[:, None] == other) & (group != UNKNOWN)[:, None]


def dense(side: Encoding) -> Tensor:
    """Return the (B, E) embedding, in at least 32 bits.

    Raises:
        TypeError: if it is sparse.
    """
    if not isinstance(side.embedding, Tensor):
        raise TypeError(
            "this objective needs dense embeddings (B, E), and the encoder gives sparse rows: "
            "lexical families are not trained, choose objective=none"
        )
    return side.embedding.to(torch.promote_types(side.embedding.dtype, torch.float32))


def unit(side: Encoding) -> Tensor:
    """Return (B, E) embedding of length 1, see `unit_vectors`."""
    return unit_vectors(dense(side))


def distances(cosine: Tensor) -> Tensor:
    """Return Euclidean distances of unit vectors with these cosines; at coincident points the gradient is 0."""
    return (2 - 2 * cosine).clamp(min=torch.finfo(cosine.dtype).tiny).sqrt()
