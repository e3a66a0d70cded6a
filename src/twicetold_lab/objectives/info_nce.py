"""In-batch softmax: L = −log exp(s_ap / τ) / (exp(s_ap / τ) + Σ_n exp(s_an / τ)).

InfoNCE (van den Oord et al., arXiv:1807.03748), also called NT-Xent or multiple negatives ranking. Published losses
that are special cases:

    DSSM       cosine, τ = 1/γ, J right texts of other rows, drawn at random, on duplicates alone (Huang et al., CIKM
               2013, equations 4 and 5); summed over the views of multi-view DSSM (Elkahky, Song and He, WWW 2015)
    DPR        dot, τ = 1, the whole batch with all mined negatives (Karpukhin et al., EMNLP 2020, equation 2)
    N-pair-mc  dot, τ = 1, the whole batch, and a penalty on length (Sohn, NIPS 2016, equations 6 and 8). Dots, unlike
               cosines, grow with the length of embeddings; λ/4 (mean ‖a‖² + mean ‖p‖²) keeps it small (section 3.2.2)

The negatives n are:

- The right texts of other rows: of all, of the J rows that follow in the batch, by rotation, or of J rows drawn at
  random for each anchor. In a shuffled batch the last two have the same expected loss. A batch of sequences is sorted
  by length: there the rows that follow have the anchor's length, and those drawn have any of the batch's.
- Mined ("hard") negatives, any number for each row: those of all rows if n runs over the whole batch, else the row's
  own.
- Never a text of the anchor's own cluster (see `in_batch`).
- Every pair labelled 0, by its own score, exp(s_kk / τ). It adds no term to the mean, but is in the sum of every row: a
  pair labelled as different has to score lower than every duplicate pair, because one threshold is used for all pairs.
  In-batch negatives, most of which are far away, do not train this. (CoSENT, Su 2022, compares all pairs in this way.)
  Where another objective learns from these pairs already, they can be left out.

The loss is the mean over positive pairs (a, p), without those that have an empty text (a zero vector).

Shape letters: R anchors, C candidates, b anchors of a block.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import Candidates, candidates, views
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.row_blocks import sum_over_rows

Similarity = Literal["cosine", "dot"]


class InfoNce(nn.Module, Objective):
    """In-batch softmax: the negative log-likelihood of the positive.

    For an encoder with several views the loss is the sum over views.

    Args:
        temperature: τ; 1/γ where a paper multiplies by γ.
        similarity: s, `cosine` or `dot`.
        negatives: J, number of other rows whose right texts are negatives; None: the whole batch.
        symmetric: mean with the loss of right texts as anchors among left texts (without mined negatives).
        length_penalty: λ, of squared lengths; 0 for none, and with cosines.
        drawn: J rows are drawn at random for each anchor, rather than those that follow; only with `negatives`.
        different_pairs: pairs labelled 0 are in the sum of every row; false: they are ignored, but for their right
            texts, which are candidates like those of any row.

    Raises:
        ValueError: if a setting is out of range.
    """

    in_batch = True
    compares_mined = True

    def __init__(
        self,
        *,
        temperature: float,
        similarity: Similarity = "cosine",
        negatives: int | None = None,
        symmetric: bool = False,
        length_penalty: float = 0.0,
        drawn: bool = False,
        different_pairs: bool = True,
    ) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"temperature divides the similarity and must be above 0; got {temperature}")
        if similarity not in get_args(Similarity):
            raise ValueError(f"similarity must be one of {', '.join(get_args(Similarity))}; got {similarity!r}")
        if negatives is not None and negatives < 1:
            raise ValueError(f"negatives must be at least 1, or null for the whole batch; got {negatives}")
        if not length_penalty >= 0:
            raise ValueError(f"length_penalty weighs squared lengths and must be at least 0; got {length_penalty}")
        if length_penalty and similarity == "cosine":
            raise ValueError(
                f"length_penalty={length_penalty} has no effect on cosines, whose vectors have length 1: set it to 0, "
                "or choose similarity=dot"
            )
        self.temperature = temperature
        self.similarity = similarity
        self.negatives = negatives
        self.symmetric = symmetric
        self.length_penalty = length_penalty
        self.drawn = drawn
        self.different_pairs = different_pairs

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`; with a penalty also `length`, the mean squared length of embeddings."""
        parts = [self._view(candidates(view, unit_length=self.similarity == "cosine")) for view in views(batch)]
        loss, length = torch.stack(parts, 1).sum(1)
        if not self.length_penalty:
            return {"loss": loss}
        return {"loss": loss + self.length_penalty / 2 * length, "length": length.detach()}

    def _view(self, compared: Candidates) -> Tensor:
        """Return (2,) likelihood and mean squared length."""
        loss = self._one_way(compared, turned=False)
        if self.symmetric:
            loss = (loss + self._one_way(compared.turned(), turned=True)) / 2
        size = len(compared.anchor)
        squares = compared.anchor.square().sum() + compared.other[:size].square().sum()
        return torch.stack([loss, squares / (2 * max(size, 1))])

    def _one_way(self, compared: Candidates, *, turned: bool) -> Tensor:
        lowest = torch.finfo(compared.anchor.dtype).min  # not −inf: the gradient of an empty sum would be nan
        different = compared.anchor.new_full((), lowest)
        if compared.duplicate is not None and len(compared.anchor) and self.different_pairs:
            own = (compared.anchor * compared.other[: len(compared.anchor)]).sum(1) / self.temperature
            different = own.masked_fill(compared.duplicate, lowest).logsumexp(0)
        filled, others_filled = compared.anchor.any(1), compared.other.any(1)

        def value_of(scores: Tensor, rows: slice, different: Tensor) -> tuple[Tensor, Tensor]:
            logits = scores / self.temperature
            positive, negative = compared.masks(rows)
            if compared.duplicate is not None:  # a pair labelled 0 is in `different`
                here = torch.arange(len(logits), device=logits.device)
                negative[here, here + rows.start] = False
            if self.negatives is not None and self.drawn:
                negative = _drawn(negative, compared, rows, self.negatives)
            elif self.negatives is not None:
                negative &= _within_reach(compared, rows, -self.negatives if turned else self.negatives)
            if compared.duplicate is None:
                chosen = positive & filled[rows, None] & others_filled
                anchor, other = chosen.nonzero(as_tuple=True)
            else:
                chosen = (compared.duplicate & filled & others_filled[: len(filled)])[rows]
                anchor = chosen.nonzero().squeeze(1)
                other = anchor + rows.start
            against = torch.logaddexp(logits.masked_fill(~negative, lowest).logsumexp(1), different)
            losses = softplus(against[anchor] - logits[anchor, other], threshold=40)
            return losses.sum(), torch.full((1,), len(losses), device=losses.device)

        total, pairs = sum_over_rows(compared.anchor, compared.other, different, value_of)
        return total / pairs[0].clamp(min=1)


def _within_reach(compared: Candidates, rows: slice, reach: int) -> Tensor:
    """(b, C) bool: texts of the next `reach` rows (if negative: previous rows), and the row's own mined negatives."""
    size = len(compared.anchor)
    row = torch.arange(size, device=compared.anchor.device)
    ahead = row - row[rows, None]
    within = (ahead if reach > 0 else -ahead) % max(size, 1) <= abs(reach)  # (b, R)
    return torch.cat([within, (ahead == 0).repeat(1, compared.mined)], 1)


def _drawn(negative: Tensor, compared: Candidates, rows: slice, count: int) -> Tensor:
    """(b, C) bool: of each anchor its own mined negatives and `count` of those in other rows, or all if fewer."""
    size = len(compared.anchor)
    order = torch.rand(len(negative), size, device=negative.device).masked_fill(~negative[:, :size], 2)
    drawn = torch.zeros_like(order, dtype=torch.bool)
    drawn.scatter_(1, order.topk(min(count, size), largest=False).indices, True)
    row = torch.arange(size, device=negative.device)
    return torch.cat([drawn, (row == row[rows, None]).repeat(1, compared.mined)], 1) & negative
