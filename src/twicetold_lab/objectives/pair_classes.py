"""Classes of pairs from the embeddings of both texts: entailment, neutral and contradiction.

Conneau, Kiela, Schwenk, Barrault and Bordes, Supervised Learning of Universal Sentence Representations from Natural
Language Inference Data (InferSent), EMNLP 2017; Reimers and Gurevych, Sentence-BERT, EMNLP 2019, section 3:

    L = mean of −log softmax(W [u; v; |u − v|] + b)_y          y: the pair's class; u, v: embeddings of its texts

The classifier is trained with the encoder and thrown away: pairs are scored by the cosine of u and v, which no term
names. That embeddings become fit for it is what both papers observed. InferSent has u ∘ v among the features as well,
and hidden layers. Since u and v enter by themselves, a pair has a direction, as entailment has.

Labels are whole numbers from 0 on, such as the grades of `data=all_nli`.

Shape letters: B pairs, E embedding dimensions, K classes.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from twicetold.encoding import EncodedBatch
from twicetold_lab.objectives.in_batch import as_document, as_query, dense
from twicetold_lab.objectives.protocol import Objective


class PairClasses(nn.Module, Objective):
    """Cross-entropy of a linear classifier on [u; v; |u − v|].

    Args:
        embedding: E, of the encoder.
        classes: K, labels are 0 to K − 1.

    Raises:
        ValueError: if there is nothing to classify by, or into.
    """

    def __init__(self, *, embedding: int, classes: int) -> None:
        super().__init__()
        if embedding < 1:
            raise ValueError(
                f"embedding is how many dimensions the encoder's vectors have, at least 1; got {embedding}"
            )
        if classes < 2:
            raise ValueError(f"classes must be at least 2; got {classes}")
        self.embedding = embedding
        size = 3 * embedding
        # As nn.Linear's, from a seed of its own: an objective is built before the run's seed is set.
        random = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter((2 * torch.rand(classes, size, generator=random) - 1) / size**0.5)
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, and the `right` share of pairs whose class is the most probable one.

        Raises:
            ValueError: if the batch has no labelled pairs, or a label is no class, or vectors have another size.
        """
        if batch.positive is None or batch.label is None:
            raise ValueError(
                "pair_classes needs pairs with their classes, and the batch has none: choose examples=graded_pairs"
            )
        u, v = dense(as_query(batch.anchor)), dense(as_document(batch.positive))
        if u.shape[1] != self.embedding:
            raise ValueError(
                f"the encoder's vectors have {u.shape[1]} dimensions, and the classifier was made for "
                f"{self.embedding}: set objective.embedding={u.shape[1]}"
            )
        label = self._classes(batch.label)
        features = torch.cat([u, v, (u - v).abs()], 1)  # 2 (B, E) -> (B, 3 E)
        logits = linear(features, self.weight.to(u.dtype), self.bias.to(u.dtype))  # (B, 3 E) -> (B, K)
        count = max(len(label), 1)
        right = (logits.argmax(1) == label).sum() / count
        return {"loss": cross_entropy(logits, label, reduction="sum") / count, "right": right.detach()}

    def _classes(self, label: Tensor) -> Tensor:
        codes = label.round().long()
        if bool(((codes != label) | (codes < 0) | (codes >= len(self.bias))).any()):
            raise ValueError(
                f"pair_classes needs labels that are whole numbers from 0 to {len(self.bias) - 1}, and they go from "
                f"{label.min():g} to {label.max():g}: choose data=all_nli, or set objective.classes for whole numbers"
            )
        return codes
