"""Augmentation: examples whose texts are, now and then, altered copies of themselves.

Wei and Zou, EDA: Easy Data Augmentation Techniques for Boosting Performance on Text Classification Tasks, EMNLP 2019.
They add the copies to the examples, which makes epochs longer; here a copy takes the place of its text, so that an
epoch has as many steps as without. Labels and clusters are those of the text: no copy is ever a negative of what its
text is no negative of.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from twicetold.augmentation.alterations import Alterations
from twicetold.augmentation.copies import with_copies
from twicetold.data.corpus import Corpus
from twicetold.examples.batches import ExampleIndex
from twicetold.models.protocol import Encoder
from twicetold.objectives.protocol import Objective

SIDES = ("anchor", "positive", "negative")


@dataclass(frozen=True)
class Augment:
    """Altered copies in the place of texts.

    Each example is there in several variants, of which an epoch takes one.

    Args:
        alterations: what happens to a copy.
        copies: of each text, made once, before training. There is one more variant of each example.
        chance: of a text of a variant to be a copy.

    Raises:
        ValueError: if there is no copy, or the chance is none.
    """

    alterations: Alterations
    copies: int
    chance: float

    def __post_init__(self) -> None:
        if self.copies < 1:
            raise ValueError(f"regime.copies must be at least 1; got {self.copies}: regime=none for none")
        if not 0 <= self.chance <= 1:
            raise ValueError(f"regime.chance is a chance from 0 to 1; got {self.chance}")

    def examples(self, index: ExampleIndex, corpus: Corpus, *, seed: int) -> ExampleIndex:
        """The examples in `copies + 1` variants."""
        index, copies = with_copies(index, corpus, self.alterations, sides=SIDES, count=self.copies, seed=seed)
        varied = index.in_variants(self.copies + 1)
        sides = {
            side: np.where(copies.rng.random(len(texts)) < self.chance, copies.drawn(texts), texts)
            for side in SIDES
            if (texts := getattr(varied, side)) is not None
        }
        return replace(varied, **cast("dict[str, Any]", sides))

    def objective(self, own: Objective, encoder: Encoder) -> Objective:
        """The family's own."""
        return own
