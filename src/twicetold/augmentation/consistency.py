"""Consistency training: a text and an altered copy of it are to have one embedding.

Xie, Dai, Hovy, Luong and Le, Unsupervised Data Augmentation for Consistency Training (UDA), NeurIPS 2020
(arXiv:1904.12848), equation 1: to a supervised loss is added, with a weight, how far the prediction for an altered text
is from that for the text. There predictions are classes and the distance is a divergence; here they are embeddings, and
it is 1 - cosine. As there, the text itself is the fixed target: no gradient flows through its embedding (their θ~).

The family's own objective sees the texts as they are. The copies need no label, and encoding them takes as long as
encoding the anchors.
"""

from dataclasses import dataclass, replace

from twicetold.augmentation.alterations import Alterations
from twicetold.augmentation.copies import with_copies
from twicetold.data.corpus import Corpus
from twicetold.examples.batches import ExampleIndex
from twicetold.models.protocol import Encoder, Rankable, Searchable
from twicetold.objectives.agreement import Agreement
from twicetold.objectives.protocol import Objective
from twicetold.objectives.weighted_sum import WeightedSum


@dataclass(frozen=True)
class Consistency:
    """Agreement of each anchor with an altered copy of it.

    Args:
        alterations: what happens to a copy.
        copies: of each anchor, made once, before training. An epoch takes one of them.
        weight: λ, of the agreement beside the family's own objective.

    Raises:
        ValueError: if there is no copy, or no weight.
    """

    alterations: Alterations
    copies: int
    weight: float

    def __post_init__(self) -> None:
        if self.copies < 1:
            raise ValueError(f"regime.copies must be at least 1; got {self.copies}: regime=none for none")
        if not self.weight > 0:
            raise ValueError(f"regime.weight must be above 0; got {self.weight}: regime=none for none")

    def examples(self, index: ExampleIndex, corpus: Corpus, *, seed: int) -> ExampleIndex:
        """The examples with copies of their anchors, in as many variants as there are copies."""
        index, copies = with_copies(index, corpus, self.alterations, sides=("anchor",), count=self.copies, seed=seed)
        varied = index.in_variants(self.copies)
        return replace(varied, copy=copies.drawn(varied.anchor))

    def objective(self, own: Objective, encoder: Encoder) -> Objective:
        """The family's own, and the agreement beside it.

        Raises:
            TypeError: if the family reads both texts at once and so has no embedding of one.
        """
        if not isinstance(encoder, Searchable | Rankable):
            raise TypeError(
                f"consistency compares embeddings of single texts, and {type(encoder).__name__} has none, as it reads "
                "both texts at once: choose regime=augment or regime=none"
            )
        return WeightedSum(
            parts={"own": own, "consistency": Agreement()}, weights={"own": 1, "consistency": self.weight}
        )
