"""Words in context with their associations to other words, for the `lexvec` objective.

Shape letters: P pairs of words with an association above 0, W words of a batch, C words of the vocabulary.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from twicetold.encoding import WordsInContext


@dataclass(frozen=True)
class AssociatedWords(WordsInContext):
    """The words of a batch of texts, and a sparse matrix of associations of the whole vocabulary."""

    pairs: Int64[Tensor, " P"]
    """(P,) w · C + c of each pair of a word w and a neighbour c, ascending; the first may be -1, which is no pair."""
    values: Float[Tensor, " P"]
    """(P,) of each pair."""

    def association(self, word: Int64[Tensor, "..."], neighbour: Int64[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Of words and neighbours by number; 0 where there is none. The shapes are broadcast."""
        pair = word * len(self.counts) + neighbour
        place = torch.searchsorted(self.pairs, pair).clamp(max=len(self.pairs) - 1)
        return self.values[place] * (self.pairs[place] == pair)
