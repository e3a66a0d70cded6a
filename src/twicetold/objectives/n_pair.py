"""Every other pair of the batch at once: L = log(1 + Σ_n exp(a·n − a·p)) on raw dots, which a penalty on length bounds.

Sohn, Improved Deep Metric Learning with Multi-class N-pair Loss Objective, NIPS 2016, equations 6 and 8 (N-pair-mc).
The sum is that of `in_batch_nll` on dots with temperature 1, in one direction. Dots, unlike cosines, can be made larger
by longer embeddings; the paper therefore keeps the lengths small, not the embeddings at length 1 (section 3.2.2):

    λ/4 (mean ‖a‖² + mean ‖p‖²)

Shape letters: B rows.
"""

from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold.objectives.in_batch import dense
from twicetold.objectives.in_batch_nll import InBatchNll


class NPair(nn.Module):
    """The N-pair loss.

    Args:
        regularisation: λ.

    Raises:
        ValueError: if λ is negative.
    """

    def __init__(self, *, regularisation: float) -> None:
        super().__init__()
        if not regularisation >= 0:
            raise ValueError(f"regularisation weighs squared lengths and must be at least 0; got {regularisation}")
        self.regularisation = regularisation
        self.nll = InBatchNll(temperature=1, similarity="dot", symmetric=False, several_positives=False)

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, and for the log the `length` of embeddings, squared and averaged over both sides."""
        if batch.positive is None:
            raise ValueError(
                "n_pair needs pairs, and the batch has no right texts: "
                "choose examples=labelled_pairs, examples=duplicates or examples=triplets"
            )
        anchor, positive = dense(batch.anchor), dense(batch.positive)
        length = (anchor.square().sum() + positive.square().sum()) / (2 * max(len(anchor), 1))
        return {"loss": self.nll(batch)["loss"] + self.regularisation / 2 * length, "length": length.detach()}
