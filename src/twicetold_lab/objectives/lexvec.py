"""Factorisation of the words' associations, by window sampling and negative sampling.

Salle, Idiart and Villavicencio, Matrix Factorization using Window Sampling and Negative Sampling for Improved Word
Representations, ACL 2016 (arXiv:1606.00819), equations 4 and 5:

    L = ½ (⟨v_w, u_c⟩ − A_wc)² + ½ J · E_n [(⟨v_w, u_n⟩ − A_wn)²]          for a word w and each neighbour c

with A the associations that the family provides, noise words n drawn by count^¾, and frequent words dropped at random.
An entry of A is weighed by how often its words meet, in windows or as noise; entries of words that never meet in train
are zero, and are met as noise.

Unlike in `skip_gram`, the window of each word is as wide as it can be. As there, a step draws M noise words for all
pairs and gives each the weight J / M. The authors' program (alexandres/lexvec, lexvec.go) draws J noise words for the
whole window of a word unless it is asked for J for each pair, and drops frequent words before neighbours are counted.

Shape letters: W words of the batch, E dimensions, M noise words.
"""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int64
from torch import Tensor

from twicetold.encoding import EncodedBatch, WordsInContext
from twicetold_lab.objectives.skip_gram import SkipGram


@runtime_checkable
class Associated(Protocol):
    """Words of a family that knows their associations."""

    def association(self, word: Tensor, neighbour: Tensor) -> Tensor:
        """Return a of words and neighbours by number; the shapes are broadcast."""
        ...


class LexVec(SkipGram):
    """Squared errors of the products of the anchors' words with neighbours and noise words.

    Args:
        window: largest number of neighbours on either side.
        negatives: J, noise words for each pair.
        noise: M, noise words of a step.
        subsample: t: a word with frequency f is kept with probability min(1, √(t / f)); None keeps every word.

    Raises:
        ValueError: if a number is not positive.
    """

    def words_of(self, batch: EncodedBatch) -> WordsInContext:
        """Return the anchors' words.

        Raises:
            ValueError: if the family gives none with associations.
        """
        words = batch.anchor.extra
        if not isinstance(words, WordsInContext) or not isinstance(words, Associated):
            raise ValueError("lexvec factorises associations of words, and this family gives none: choose model=lexvec")
        return words

    def reach(self, text: Int64[Tensor, " W"]) -> Int64[Tensor, " W"]:
        """Return (W,) window of each word, as wide as it can be."""
        return torch.full_like(text, self.window)

    def cost(
        self, words: WordsInContext, dots: Tensor, centre: Tensor, context: Tensor, *, noise: bool = False
    ) -> Tensor:
        """Return squared error of each product, of neighbours and noise words alike."""
        assert isinstance(words, Associated)
        return (dots - words.association(centre, context)) ** 2 / 2
