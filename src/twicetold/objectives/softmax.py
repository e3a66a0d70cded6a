"""Find an anchor's positive among other texts: P(D⁺ | Q) = exp(γ cos(Q, D⁺)) / Σ_D exp(γ cos(Q, D)), L = −log P.

Huang et al., Learning Deep Structured Semantic Models for Web Search using Clickthrough Data, CIKM 2013, equations 4
and 5. For several views (Elkahky, Song and He, WWW 2015) the sum of each view's loss.

What D runs over besides the positive D⁺:

- right texts of other rows of the batch, those of the anchor's own duplicate cluster left out;
- the anchor's own mined negative, if the batch has negatives;
- labelled non-duplicates. A row with label 0 has no positive, so it adds no term of its own; but its pair competes in
  every term, exp(γ cos(Q_k, D_k)) beside exp(γ cos(Q, D⁺)): a pair that people call different has to score lower than
  every pair that says the same. One threshold for all pairs asks for just that, and in-batch negatives, which are far
  away already, do not teach it. (CoSENT, Su 2022, compares pairs in this way throughout.)

Shape letters: B rows, M views, E embedding dimensions, P rows with label 1, H rows with label 0.
"""

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.objectives.in_batch import dense, duplicates, of_unit_length, one_cluster


class Softmax(nn.Module):
    """Softmax over cosines.

    An encoder with several views, or with a tower for either role, puts `query` and `document`, (B, M, E) each, into
    its extras; otherwise the embedding is the one view of both roles.

    Args:
        gamma: γ, sharpness of the softmax.
        negatives: J, how many other rows' right texts stand against a positive, by rotation of the batch; None for
            all of them.
        symmetric: also find the left text among left texts, and take the mean of both losses.

    Raises:
        ValueError: if γ or J is not positive.
    """

    def __init__(self, *, gamma: float, negatives: int | None, symmetric: bool) -> None:
        super().__init__()
        if not gamma > 0:
            raise ValueError(f"gamma sharpens the softmax and must be above 0; got {gamma}")
        if negatives is not None and negatives < 1:
            raise ValueError(f"negatives must be at least 1, or null for all of the batch; got {negatives}")
        self.gamma = gamma
        self.negatives = negatives
        self.symmetric = symmetric

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`: the mean over rows with label 1, summed over views. Rows with an empty text teach nothing."""
        if batch.positive is None:
            raise ValueError(
                "softmax needs pairs, and the batch has no right texts: "
                "choose examples=labelled_pairs, examples=duplicates or examples=triplets"
            )
        queries, documents = _role(batch.anchor, "query"), _role(batch.positive, "document")
        logits = self.gamma * torch.einsum("qme,dme->mqd", queries, documents)  # (M, B, B)
        same = duplicates(batch)
        mined = None
        if batch.negative is not None:
            mined = self.gamma * (queries * _role(batch.negative, "document")).sum(2).T[:, same, None]  # (M, P, 1)
        full = ((queries != 0).any(2) & (documents != 0).any(2)).T[:, same]  # (M, P)
        left_out = self._left_out(batch, len(queries)).to(logits.device)
        loss = _cross_entropy(logits, left_out, same, full, mined)
        if self.symmetric:
            loss = (loss + _cross_entropy(logits.mT, left_out.T, same, full, None)) / 2
        return {"loss": loss}

    def _left_out(self, batch: EncodedBatch, size: int) -> Tensor:
        """(B, B) bool: which right texts do not stand against which rows."""
        row = torch.arange(size, device=batch.group.device if batch.group is not None else None)
        left_out = torch.zeros(size, size, dtype=torch.bool, device=row.device)
        if batch.group is not None and batch.positive_group is not None:
            left_out |= one_cluster(batch.group, batch.positive_group)
        if self.negatives is not None:
            left_out |= (row - row[:, None]) % max(size, 1) > self.negatives
        return left_out.fill_diagonal_(False)


def _cross_entropy(logits: Tensor, left_out: Tensor, same: Tensor, full: Tensor, mined: Tensor | None) -> Tensor:
    """() of (M, B, B) logits whose diagonal holds the pairs."""
    own = logits.diagonal(dim1=1, dim2=2)  # (M, B)
    others = logits.masked_fill(left_out, -torch.inf)[:, same]  # (M, P, B)
    different = own[:, None, ~same].expand(-1, others.shape[1], -1)  # (M, P, H)
    candidates = torch.cat([others, different] if mined is None else [others, different, mined], dim=2)
    losses = candidates.logsumexp(2) - own[:, same]  # (M, P)
    return ((losses * full).sum(1) / full.sum(1).clamp(min=1)).sum()


def _role(side: Encoding, role: str) -> Tensor:
    """(B, M, E) unit vectors of each view; a zero vector stays zero, and its gradient small."""
    views: Tensor = side.extras[role] if role in side.extras else dense(side)[:, None]
    return of_unit_length(views.to(torch.promote_types(views.dtype, torch.float32)))
