"""Find an anchor's positive among all texts of the batch: L = −log exp(s_ap / τ) / (exp(s_ap / τ) + Σ_n exp(s_an / τ)).

Karpukhin et al., Dense Passage Retrieval for Open-Domain Question Answering, EMNLP 2020, equation 2 and section 3.2:
n runs over the positives of all other rows and the mined ("hard") negatives of all rows. Under other names: InfoNCE,
NT-Xent, multiple negatives ranking. With one mined negative a row, an anchor has 2B − 1 texts to tell apart.

What it does beyond the paper:

- Texts of the anchor's own cluster are never negatives (`in_batch`). By `several_positives` they are left out, or each
  of them is a positive of its own, which the others do not compete with.
- A pair labelled 0 has no positive; it competes in every row's sum by its own score, as in `softmax`.

Every positive pair counts alike: the loss is the mean over pairs (a, p).

Shape letters: R anchors, C candidates, b anchors of a block.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from twicetold.encoding import EncodedBatch
from twicetold.objectives.in_batch import Candidates, candidates
from twicetold.objectives.row_blocks import sum_over_rows

Similarity = Literal["cosine", "dot"]


class InBatchNll(nn.Module):
    """Negative log-likelihood of the positive.

    Args:
        temperature: τ.
        similarity: s, `cosine` or `dot`.
        symmetric: also find the left text among left texts, and take the mean of both losses.
        several_positives: count the texts of the anchor's cluster in other rows as positives; false: leave them out.
            Of texts with class codes, which come without pairs, they always count.

    Raises:
        ValueError: if τ is not positive, or the similarity unknown.
    """

    def __init__(self, *, temperature: float, similarity: Similarity, symmetric: bool, several_positives: bool) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"temperature divides the similarity and must be above 0; got {temperature}")
        if similarity not in get_args(Similarity):
            raise ValueError(f"similarity must be one of {', '.join(get_args(Similarity))}; got {similarity!r}")
        self.temperature = temperature
        self.similarity = similarity
        self.symmetric = symmetric
        self.several_positives = several_positives

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, the mean over positive pairs."""
        compared = candidates(batch, unit_length=self.similarity == "cosine")
        loss = self._one_way(compared)
        if self.symmetric:
            loss = (loss + self._one_way(compared.turned())) / 2
        return {"loss": loss}

    def _one_way(self, compared: Candidates) -> Tensor:
        lowest = torch.finfo(compared.anchor.dtype).min  # not −inf, which makes nan of the gradient of an empty sum
        different = compared.anchor.new_full((), lowest)
        if compared.duplicate is not None and len(compared.anchor):
            own = (compared.anchor * compared.other[: len(compared.anchor)]).sum(1) / self.temperature
            different = own.masked_fill(compared.duplicate, lowest).logsumexp(0)

        def value_of(scores: Tensor, rows: slice, different: Tensor) -> tuple[Tensor, Tensor]:
            logits = scores / self.temperature
            positive, negative = compared.masks(rows)
            if compared.duplicate is not None:  # a pair labelled 0 is in `different`
                here = torch.arange(len(logits), device=logits.device)
                negative[here, here + rows.start] = False
            if compared.duplicate is None or self.several_positives:
                anchor, other = positive.nonzero(as_tuple=True)
            else:
                anchor = compared.duplicate[rows].nonzero().squeeze(1)
                other = anchor + rows.start
            against = torch.logaddexp(logits.masked_fill(~negative, lowest).logsumexp(1), different)
            losses = softplus(against[anchor] - logits[anchor, other], threshold=40)
            return losses.sum(), torch.tensor([len(losses)], device=losses.device)

        total, pairs = sum_over_rows(compared.anchor, compared.other, different, value_of)
        return total / pairs[0].clamp(min=1)
