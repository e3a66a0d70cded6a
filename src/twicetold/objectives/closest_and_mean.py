"""Duplicates nearer than the closest and than the average text of the batch: two hinges on cosines.

For a batch of duplicate pairs (a_i, p_i), with s_ij = cos(a_i, p_j) and N_i the others that are no duplicates of a_i:

    L_i = max(0, m − s_ii + max_{j ∈ N_i} s_ij) + max(0, m − s_ii + mean_{j ∈ N_i} s_ij)

Source: the course on Natural Language Processing of deeplearning.ai, 4.3: in its trax edition the mean of L_i
(`ClosestAndMean`), in its TensorFlow edition the sum, with the closest sought only among those that are no nearer than
the positive (`ClosestAndMeanSemiHard`; semi-hard as in Schroff et al., FaceNet, CVPR 2015). The course relies on
batches without further duplicates; here those that are known, by their cluster, are left out of N_i.

A row may also be a pair that is labelled as no duplicate. Then its positive is the anchor itself, s = 1, and the pair's
other text is among its negatives: with one margin in both, such a pair is pushed below a cosine of 1 − m.

Shape letters: B rows, E embedding dimensions.
"""

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch, Encoding


class ClosestAndMean(nn.Module):
    """Mean over the rows; the closest is the closest of all negatives.

    Args:
        margin: m, by how much the positive should be nearer.
    """

    def __init__(self, *, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, the mean over rows with negatives; its parts `closest` and `mean`; `active`, the share above 0."""
        scores, positive, negative = _compare(batch)
        closest, mean = _hinges(scores, positive, negative, negative, self.margin)
        rows = negative.any(1).sum().clamp(min=1)
        return _named(closest.sum() / rows, mean.sum() / rows, closest + mean, rows)


class ClosestAndMeanSemiHard(nn.Module):
    """Sum over the rows; the closest is the closest of the negatives that are no nearer than the positive.

    Args:
        margin: m, by how much the positive should be nearer.
    """

    def __init__(self, *, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, the sum over rows; its parts `closest` and `mean`; `active`, the share of rows above 0."""
        scores, positive, negative = _compare(batch)
        semi_hard = negative & (scores <= positive[:, None])
        closest, mean = _hinges(scores, positive, negative, semi_hard, self.margin)
        return _named(closest.sum(), mean.sum(), closest + mean, negative.any(1).sum().clamp(min=1))


def _compare(batch: EncodedBatch) -> tuple[Tensor, Tensor, Tensor]:
    """(B, B) cosines, (B,) those of the positives, (B, B) which pairs are negatives."""
    if batch.positive is None:
        raise ValueError("this objective needs pairs, and the batch has no positive: choose examples=duplicates")
    anchor, other = _unit(batch.anchor), _unit(batch.positive)
    with torch.autocast(anchor.device.type, enabled=False):  # in bf16, cosines near 1 would be 0.004 apart
        scores = anchor @ other.T
    positive = scores.diagonal()
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    same = own
    if batch.group is not None and batch.positive_group is not None:
        same = own | ((batch.group[:, None] == batch.positive_group) & (batch.group >= 0)[:, None])
    if batch.label is not None and batch.label.is_floating_point():  # of pairs, and not the group codes of texts
        duplicate = batch.label > 0
        positive = torch.where(duplicate, positive, 1.0)
        same = same & ~(own & ~duplicate[:, None])
    return scores, positive, ~same


def _hinges(
    scores: Tensor, positive: Tensor, negative: Tensor, candidates: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """(B,) hinge on the closest of the candidates and (B,) on the mean of the negatives; 0 where there are none."""
    counts = negative.sum(1)
    mean = scores.where(negative, 0).sum(1) / counts.clamp(min=1)
    # amax refuses rows without columns, as in an empty batch
    closest = scores.masked_fill(~candidates, -torch.inf).amax(1) if len(scores) else positive
    return (margin - positive + closest).relu(), (margin - positive + mean).relu().where(counts > 0, 0)


def _named(closest: Tensor, mean: Tensor, per_row: Tensor, rows: Tensor) -> dict[str, Tensor]:
    return {
        "loss": closest + mean,
        "closest": closest.detach(),
        "mean": mean.detach(),
        "active": (per_row.detach() > 0).sum() / rows,
    }


def _unit(side: Encoding) -> Tensor:
    if not isinstance(side.embedding, Tensor):
        raise TypeError(
            "this objective needs dense embeddings (B, E), and the encoder gives sparse rows: "
            "lexical families are not trained, choose objective=none"
        )
    embedding = side.embedding if side.embedding.dtype == torch.float64 else side.embedding.float()
    lengths = embedding.norm(dim=1, keepdim=True)
    unit: Tensor = embedding / lengths.where(lengths > 0, 1)  # a zero vector stays zero, and its gradient small
    return unit
