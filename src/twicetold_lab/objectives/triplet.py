"""Triplet loss: mean over triplets of φ(d(a, p) − d(a, n)).

Settings:

- *d*: Euclidean distance of unit vectors, or minus a similarity, cosine or dot.
- *φ*: the hinge max(0, m + x) with margin m, or softplus ln(1 + eˣ) without margin.
- *negatives*, for each positive pair (a, p) of the batch, chosen in every step:

    given       each negative that was mined for the row before training, with the row's own positive
    all         all of them, without listing the B³ triplets (below)
    semi_hard   the nearest one that is farther than the positive, if any (FaceNet, 3.2)
    batch_hard  for each anchor its farthest positive and its nearest negative, if the negative is nearer
                (Hermans, Beyer and Leibe 2017, arXiv:1703.07737; there always)

Published losses that are special cases:

    FaceNet   Euclidean, hinge, semi_hard (Schroff, Kalenichenko and Philbin, CVPR 2015; there d²), averaged over the
              triplets above 0 (Hermans et al., section 2)
    FILM      dot or cosine, hinge, given, averaged over all triplets (Tang and Aw, arXiv:2010.05523, equations 3, 29)
    Okura     dot, softplus (Okura et al., WWW 2016 companion); all or batch_hard as in `class_triplets`

A margin of dots is a share of the anchors' mean squared length, m = margin · mean ‖a‖², as in FLRML
(github.com/highan911/FLRML@7ccda12), on which FILM is based; the paper gives no value of m. For unit vectors that is
the margin itself. FILM's solvers read margin and similarity from this class.

The hinge over all triplets of an anchor: with its k negatives nearer than t = m + d(a, p) and the sum S of their
distances, Σ_n φ = k t − S. Both come from one sort of the anchor's negatives, a running sum, and a binary search for
each positive. Softplus over all triplets is in `all_pairs`. This one and `batch_hard` compare all texts of a batch,
without roles; the others compare left texts with right and mined ones.

Shape letters: B rows, R anchors, C candidates, b anchors of a block, P largest number of positives of an anchor.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from twicetold.encoding import EncodedBatch, unit_vectors
from twicetold_lab.objectives import all_pairs, class_triplets
from twicetold_lab.objectives.class_triplets import TripletLoss
from twicetold_lab.objectives.in_batch import candidates, classes, dense, distances, in_roles, unit
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.row_blocks import sum_over_rows

Similarity = Literal["dot", "cosine", "euclidean"]
Activation = Literal["hinge", "softplus"]
Negatives = Literal["given", "all", "semi_hard", "batch_hard"]
Average = Literal["all", "nonzero"]


class Triplet(nn.Module, Objective):
    """The triplet loss.

    Args:
        similarity: `dot`, `cosine`, or `euclidean`: minus the distance of unit vectors.
        activation: φ, `hinge` or `softplus`.
        margin: of the hinge; None with softplus.
        negatives: how they are chosen, see above.
        average: over `all` chosen triplets, or over those whose φ is `nonzero`; with softplus the two are the same.

    Raises:
        ValueError: if a choice is unknown, or the margin and the choices do not go together.
    """

    compares_mined = True

    def __init__(
        self,
        *,
        similarity: Similarity,
        activation: Activation,
        margin: float | None,
        negatives: Negatives,
        average: Average,
    ) -> None:
        super().__init__()
        settings = {"similarity": similarity, "activation": activation, "negatives": negatives, "average": average}
        for (name, value), known in zip(settings.items(), (Similarity, Activation, Negatives, Average), strict=True):
            if value not in get_args(known):
                raise ValueError(f"{name} must be one of {', '.join(get_args(known))}; got {value!r}")
        if activation == "hinge" and (margin is None or not margin > 0):
            raise ValueError(f"with activation=hinge, margin must be a number above 0; got {margin}")
        if activation == "softplus" and margin is not None:
            raise ValueError(f"softplus has no margin: set it to null, or choose activation=hinge; got {margin}")
        self.similarity: Similarity = similarity
        self.activation: Activation = activation
        self.margin = margin
        self.negatives: Negatives = negatives
        self.in_batch = negatives != "given"
        self.average: Average = average

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, and the `active` share of the chosen triplets.

        Active triplets are those above 0, with softplus those whose negative is nearer; for `batch_hard` it is the
        share of anchors with such a triplet.
        """
        if self.negatives == "batch_hard" or (self.negatives, self.activation) == ("all", "softplus"):
            triplets = self.of_classes(*classes(batch))
            return {"loss": triplets.loss, "active": triplets.fraction.detach()}
        total, counts = self._given(batch) if self.negatives == "given" else self._chosen(batch)
        active, chosen = counts.clamp(min=1)
        over = active if (self.average, self.activation) == ("nonzero", "hinge") else chosen
        return {"loss": total / over, "active": counts[0] / chosen}

    def of_classes(self, embedding: Tensor, label: Tensor) -> TripletLoss:
        """Return the loss over all triplets (softplus) or over the hardest ones, of texts with class codes.

        Args:
            embedding: (B, E).
            label: (B,) int64 class of each row, negative where unknown.
        """
        euclidean = self.similarity == "euclidean"
        margin = self._margin_of(embedding)
        if self.similarity != "dot":
            embedding = unit_vectors(embedding)
        if self.negatives == "all":
            return class_triplets.batch_all(embedding, label, euclidean=euclidean)
        return class_triplets.batch_hard(
            embedding,
            label,
            activation=lambda gap: self._of_gap(gap, margin),
            euclidean=euclidean,
        )

    def _given(self, batch: EncodedBatch) -> tuple[Tensor, Tensor]:
        if batch.positive is None or batch.negative is None:
            missing = "positive" if batch.positive is None else "negative"
            raise ValueError(
                "negatives=given needs an anchor, a positive and a negative in every row, and the batch has no "
                f"{missing}: choose examples=triplets, or objective.negatives=all"
            )
        anchor, positive, negative = map(dense if self.similarity == "dot" else unit, in_roles(batch))
        mined = len(negative) // max(len(anchor), 1)
        to_negative = self._distance((anchor.repeat(mined, 1) * negative).sum(1))
        gap = self._distance((anchor * positive).sum(1)).repeat(mined) - to_negative
        losses = self._of_gap(gap, self._margin_of(anchor))
        return losses.sum(), _counts(self._active(losses, gap), torch.ones_like(losses, dtype=torch.bool))

    def _chosen(self, batch: EncodedBatch) -> tuple[Tensor, Tensor]:
        compared = candidates(batch, unit_length=self.similarity != "dot")
        margin = self._margin_of(compared.anchor)

        def value_of(scores: Tensor, rows: slice, _: Tensor) -> tuple[Tensor, Tensor]:
            distance = self._distance(scores)
            positive, negative = compared.masks(rows)
            # Sorting moves the positives to the front; 0 behind them avoids inf − inf.
            most = int(positive.sum(1).max()) if len(positive) else 0
            to_positive = distance.masked_fill(~positive, torch.inf).sort(1).values[:, :most]  # (b, P)
            valid = to_positive.isfinite() & negative.any(1, keepdim=True)
            to_positive = to_positive.where(valid, 0)
            if self.negatives == "all":
                return _hinge_over_all(distance, negative, to_positive, valid, margin)
            ranked = distance.masked_fill(~negative, torch.inf).sort(1).values
            farther = torch.searchsorted(ranked.detach(), to_positive.detach(), right=True)
            # The nearest one that is farther; positives are masked, so the last is inf.
            to_negative = ranked.gather(1, farther.clamp(max=ranked.shape[1] - 1))
            valid = valid & to_negative.isfinite()
            gap = to_positive - to_negative.where(valid, torch.inf)
            losses = self._of_gap(gap, margin)
            return losses.sum(), _counts(self._active(losses, gap), valid)

        return sum_over_rows(compared.anchor, compared.other, compared.anchor.new_zeros(()), value_of)

    def _distance(self, scores: Tensor) -> Tensor:
        """Return the distance d of dots, which are of unit vectors unless the similarity is the dot itself."""
        return distances(scores) if self.similarity == "euclidean" else -scores

    def _of_gap(self, gap: Tensor, margin: Tensor | float) -> Tensor:
        """Return φ of d(a, p) − d(a, n)."""
        return (margin + gap).relu() if self.activation == "hinge" else all_pairs.softplus(gap)

    def _active(self, losses: Tensor, gap: Tensor) -> Tensor:
        return losses > 0 if self.activation == "hinge" else gap > 0

    def _margin_of(self, anchor: Tensor) -> Tensor | float:
        """Return margin m for these anchors (R, E); 0 if there is none."""
        if self.margin is None or self.similarity != "dot":
            return self.margin or 0.0
        return self.margin * anchor.detach().square().sum() / max(len(anchor), 1)


def _hinge_over_all(
    distance: Tensor, negative: Tensor, to_positive: Tensor, valid: Tensor, margin: Tensor | float
) -> tuple[Tensor, Tensor]:
    ranked = distance.masked_fill(~negative, torch.inf).sort(1).values
    sums = ranked.where(ranked.isfinite(), 0).cumsum(1, dtype=torch.float64)
    threshold = to_positive + margin
    nearer = torch.searchsorted(ranked.detach(), threshold.detach()) * valid  # (b, P), k
    sum_of_nearer = pad(sums, (1, 0)).gather(1, nearer)
    losses = nearer * threshold - sum_of_nearer
    counts = torch.stack([nearer.sum(), (valid * negative.sum(1, keepdim=True)).sum()])
    return losses.sum().to(distance.dtype), counts


def _counts(active: Tensor, chosen: Tensor) -> Tensor:
    return torch.stack([active.sum(), chosen.sum()])
