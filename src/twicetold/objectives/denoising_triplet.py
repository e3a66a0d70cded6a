"""Reconstruct each text, and keep texts of one group nearer than others: L = reconstruction + α · triplet.

Source: Okura et al., "Article De-duplication Using Distributed Representations" (WWW 2016 companion), equation for θ;
with in-batch mining as github.com/louislung/DAE_RNN_News_Recommendation@16f72d4. There a row's reconstruction weighs as
much as the number of triplets it is part of.

Shape letters: B rows, E embedding dimensions, V features.
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.objectives import reconstruction, triplet

Mining = Literal["batch_all", "batch_hard", "explicit"]
Reconstruction = Literal["cross_entropy", "mean_squared", "cosine_proximity"]

# The decoder ends in a sigmoid, which the cross-entropy takes in itself.
_RECONSTRUCTIONS: dict[Reconstruction, Callable[..., Tensor]] = {
    "cross_entropy": reconstruction.cross_entropy,
    "mean_squared": lambda logits, *rest: reconstruction.mean_squared(logits.sigmoid(), *rest),
    "cosine_proximity": lambda logits, *rest: reconstruction.cosine_proximity(logits.sigmoid(), *rest),
}


class DenoisingTriplet(nn.Module):
    """The objective of the denoising autoencoder.

    Every encoding it is given carries `extras["logits"]`, the decoder's (B, V) output before its sigmoid, and
    `extras["target"]`, the uncorrupted input as `SparseRows`.

    Args:
        alpha: α, the weight of the triplet loss. The reconstruction is summed over V features, so it is large.
        mining: `batch_all` or `batch_hard` find triplets in the batch by its labels (negative: unknown);
            `explicit` takes anchor, positive and negative as they come.
        reconstruction: Which loss compares the decoder's output with the target.
        reference_exact: Do as the reference implementation does where this class does better: its masks in `batch_hard`
            (see there), and no reconstruction in a batch without a triplet. By default the rows of such a batch weigh
            equally, so that the autoencoder learns from every batch.
    """

    def __init__(
        self, *, alpha: float, mining: Mining, reconstruction: Reconstruction, reference_exact: bool = False
    ) -> None:
        super().__init__()
        if not alpha >= 0:
            raise ValueError(f"alpha weighs the triplet loss and must be at least 0; got {alpha}")
        if mining not in get_args(Mining):
            raise ValueError(f"mining must be one of {', '.join(get_args(Mining))}; got {mining!r}")
        if reconstruction not in _RECONSTRUCTIONS:
            raise ValueError(f"reconstruction must be one of {', '.join(_RECONSTRUCTIONS)}; got {reconstruction!r}")
        self.alpha = alpha
        self.mining: Mining = mining
        self.reconstruction: Reconstruction = reconstruction
        self.reference_exact = reference_exact

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, and for the log its parts `reconstruction` and `triplet` and the `fraction` of violated triplets."""
        reconstructed, triplets = self._explicit(batch) if self.mining == "explicit" else self._mined(batch)
        return {
            "loss": reconstructed + self.alpha * triplets.loss,
            "reconstruction": reconstructed.detach(),
            "triplet": triplets.loss.detach(),
            "fraction": triplets.fraction.detach(),
        }

    def _mined(self, batch: EncodedBatch) -> tuple[Tensor, triplet.TripletLoss]:
        if batch.label is None or batch.label.is_floating_point():
            raise ValueError(
                f"mining={self.mining} finds triplets by the class codes of the texts, and the batch has none: "
                "choose examples=labelled_texts, or mining=explicit with examples=triplets"
            )
        embedding = _dense(batch.anchor)
        if self.mining == "batch_all":
            triplets = triplet.batch_all(embedding, batch.label)
        else:
            triplets = triplet.batch_hard(embedding, batch.label, reference_exact=self.reference_exact)
        weight = triplets.data_weight
        if not self.reference_exact:
            weight = torch.where(weight.sum() > 0, weight, 1.0)
        return self._reconstruct(batch.anchor, weight), triplets

    def _explicit(self, batch: EncodedBatch) -> tuple[Tensor, triplet.TripletLoss]:
        if batch.positive is None or batch.negative is None:
            missing = "positive" if batch.positive is None else "negative"
            raise ValueError(
                f"mining=explicit needs an anchor, a positive and a negative, and the batch has no {missing}: "
                "choose examples=triplets, or mining=batch_all with examples=labelled_texts"
            )
        sides = (batch.anchor, batch.positive, batch.negative)
        triplets = triplet.explicit(*map(_dense, sides))
        return torch.stack([self._reconstruct(side, None) for side in sides]).sum(), triplets

    def _reconstruct(self, side: Encoding, weight: Tensor | None) -> Tensor:
        missing = [name for name in ("logits", "target") if name not in side.extras]
        if missing:
            extras = ", ".join(side.extras) or "none"
            raise ValueError(
                f"the encoding has no {' and no '.join(missing)} among its extras ({extras}): "
                "denoising_triplet needs an encoder that reconstructs its input, in training mode, as model=dae"
            )
        return _RECONSTRUCTIONS[self.reconstruction](side.extras["logits"], side.extras["target"], weight)


def _dense(side: Encoding) -> Tensor:
    if not isinstance(side.embedding, Tensor):
        raise TypeError(
            "denoising_triplet needs dense embeddings (B, E), and the encoder gives sparse rows: "
            "lexical families are not trained, choose objective=none"
        )
    return side.embedding
