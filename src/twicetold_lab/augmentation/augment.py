"""Augmentation and consistency: training on altered copies of texts.

*Augmentation* replaces a share of the texts of examples by altered copies. Wei and Zou, EDA: Easy Data Augmentation
Techniques for Boosting Performance on Text Classification Tasks, EMNLP 2019. They add the copies to the examples, which
makes epochs longer; here a copy takes the place of its text, so that an epoch has as many steps as without. A copy has
the label and cluster of its text, so it is never a negative where its text is not.

*Consistency* adds to the objective, with a weight, the distance between the embeddings of a text and an altered copy.
Xie, Dai, Hovy, Luong and Le, Unsupervised Data Augmentation for Consistency Training (UDA), NeurIPS 2020
(arXiv:1904.12848), equation 1. There it is the divergence of predicted classes; here it is 1 - cosine of embeddings.
As there, the text itself is the fixed target: no gradient flows through its embedding (their θ~).

Shape letters: T texts that are copied, X examples, B rows, E embedding dimensions.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor, nn

from twicetold.encoding import EncodedBatch
from twicetold.models.protocol import Encoder, Searchable
from twicetold_lab.augmentation.alterations import Alterations
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.objectives.combined import WeightedSum
from twicetold_lab.objectives.in_batch import unit
from twicetold_lab.objectives.protocol import Objective

SIDES = ("anchor", "positive", "negative")


@dataclass(frozen=True)
class Augmentation:
    """Altered copies as training texts, for consistency, or both.

    Args:
        alterations: how copies differ from their texts.
        copies: of each text, made once, before training.
        share: of the texts of examples that a copy replaces in an epoch; 0: no augmentation.
        weight: of consistency beside the family's own objective; 0: no consistency.

    Raises:
        ValueError: if a setting is out of range.
    """

    alterations: Alterations
    copies: int
    share: float = 0.0
    weight: float = 0.0

    def __post_init__(self) -> None:
        if self.copies < 1:
            raise ValueError(f"augmentation.copies must be at least 1; got {self.copies}")
        if not 0 <= self.share <= 1:
            raise ValueError(f"augmentation.share must be from 0 to 1; got {self.share}")
        if not self.weight >= 0:
            raise ValueError(f"consistency.weight must be at least 0; got {self.weight}")

    def examples(self, index: ExampleIndex, corpus: Corpus, *, seed: int) -> ExampleIndex:
        """The examples in several variants, of which an epoch takes one of each.

        With augmentation there are `copies + 1` variants, in which a `share` of the texts are copies. Without it there
        are `copies` variants, which differ only in the copies that consistency compares the anchors with.

        Args:
            index: the family's own examples.
            corpus: what they are made of.
            seed: of the run.
        """
        sides = SIDES if self.share else ("anchor",)
        index, copies = _with_copies(index, corpus, self.alterations, sides=sides, count=self.copies, seed=seed)
        varied = index.in_variants(self.copies + bool(self.share))
        columns: dict[str, Any] = {}
        if self.share:
            columns = {
                side: np.where(copies.rng.random(len(texts)) < self.share, copies.drawn(texts), texts)
                for side in SIDES
                if (texts := getattr(varied, side)) is not None
            }
        if self.weight:
            columns["copy"] = copies.drawn(varied.anchor)
        return replace(varied, **columns)

    def objective(self, own: Objective, encoder: Encoder) -> Objective:
        """The family's objective, plus consistency if that has a weight.

        Args:
            own: the family's.
            encoder: the family's, to check only: an objective holds no encoder.

        Raises:
            TypeError: if the family reads both texts at once, so that single texts have no embedding.
        """
        if not self.weight:
            return own
        if not isinstance(encoder, Searchable):
            raise TypeError(
                f"consistency compares embeddings of single texts, and {type(encoder).__name__} has none, as it reads "
                "both texts at once: set consistency.weight=0; augmentation.share=0.5 works with it"
            )
        return WeightedSum(
            parts={"own": own, "consistency": Agreement()}, weights={"own": 1, "consistency": self.weight}
        )


def altered_copies(
    *,
    share: float,
    copies: int,
    drop: float,
    swap: float,
    typo: float,
    synonym: float,
    vectors: str | None,
    nearest: int,
    least_cosine: float,
    weight: float,
) -> Augmentation:
    """From plain settings: those of `Augmentation`, and of the `Alterations` of its copies."""
    alterations = Alterations(drop, swap, typo, synonym, vectors, nearest, least_cosine)
    return Augmentation(alterations, copies, share, weight)


@dataclass(frozen=True)
class _Copies:
    """Numbers of the copies of texts."""

    source: NDArray[np.int64]
    """(T,) numbers of the texts that are copied, sorted."""
    start: int
    """Number of the first text's first copy; then come those of the other texts, then all second copies."""
    count: int
    """Copies of each text."""
    rng: np.random.Generator
    """For draws among the copies; another stream than those that made the copies."""

    def drawn(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(X,) for each of these texts the number of one of its copies."""
        which = self.rng.integers(self.count, size=len(texts))
        return self.start + which * len(self.source) + np.searchsorted(self.source, texts)


def _with_copies(
    index: ExampleIndex, corpus: Corpus, alterations: Alterations, *, sides: tuple[str, ...], count: int, seed: int
) -> tuple[ExampleIndex, _Copies]:
    """Add altered copies of the examples' texts as extra texts; no example uses them yet.

    Args:
        index: the examples.
        corpus: what they are made of.
        alterations: what happens to a copy.
        sides: whose texts are copied, of `anchor`, `positive` and `negative`.
        count: copies of each text.
        seed: of the alterations, and of draws among the copies.
    """
    own = [] if index.extra_texts is None else list(index.extra_texts)
    source = np.unique(np.concatenate([texts for side in sides if (texts := getattr(index, side)) is not None]))
    texts = pa.chunked_array([corpus.texts.cast(pa.large_string()), pa.array(own, pa.large_string())])
    made = alterations.copies(texts.take(pa.array(source)).to_pylist(), count, seed=seed)
    like = np.full(len(own), -1) if index.extra_sources is None else index.extra_sources
    of_extra = np.append(like, -1)[np.maximum(source - len(corpus), -1)]  # -1, the last, for the corpus's own texts
    fields = np.where(source < len(corpus), source, of_extra)
    extended = replace(index, extra_texts=[*own, *made], extra_sources=np.concatenate([like, np.tile(fields, count)]))
    rng = np.random.default_rng([seed, count])  # the copies have drawn from 0 to count - 1
    return extended, _Copies(source, len(corpus) + len(own), count, rng)


class Agreement(nn.Module, Objective):
    """Part of an objective; on its own it is minimal if all texts have the same embedding.

    Rows in which the text or its copy has a zero embedding (no known word) are ignored.
    """

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, between 0 (all copies agree with their texts) and 2.

        Raises:
            ValueError: if the batch has no copies.
        """
        if batch.copy is None:
            raise ValueError(
                "agreement needs an altered copy of each anchor, and the batch has none: set consistency.weight"
            )
        text, copy = unit(batch.anchor).detach(), unit(batch.copy)  # (B, E)
        known = (text.any(1) & copy.any(1)).to(copy.dtype)
        return {"loss": ((1 - (text * copy).sum(1)) * known).sum() / known.sum().clamp(min=1)}
