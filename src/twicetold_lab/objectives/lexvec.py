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
from torch import Tensor

from twicetold.encoding import EncodedBatch, WordsInContext
from twicetold_lab.objectives.skip_gram import POWER, SkipGram


@runtime_checkable
class Associated(Protocol):
    """Words of a family that knows their associations."""

    def association(self, word: Tensor, neighbour: Tensor) -> Tensor:
        """A of words and neighbours by number; the shapes are broadcast."""
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

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """`loss`, the mean over pairs of a word and a neighbour."""
        words = batch.anchor.extra
        if not isinstance(words, WordsInContext) or not isinstance(words, Associated):
            raise ValueError("lexvec factorises associations of words, and this family gives none: choose model=lexvec")
        kept = self._kept(words)
        centre, number = words.vector[kept], words.number[kept]  # (W, E), (W,)
        text = torch.repeat_interleave(words.offsets.diff(), output_size=len(kept))[kept]
        context = words.contexts[number]  # (W, E)
        total = centre.sum() * 0 + context.sum() * 0  # keeps the graph in a batch without a pair
        pairs = torch.zeros(len(text), device=text.device)  # of each centre
        for distance in range(1, min(self.window, len(text) - 1) + 1):
            near = text[distance:] == text[:-distance]
            before, after = slice(None, -distance), slice(distance, None)
            for one, other in ((before, after), (after, before)):
                dots = (centre[one] * context[other]).sum(1)
                wanted = words.association(number[one], number[other])
                total = total + (_errors(dots, wanted) * near).sum()
                pairs[one] += near
        drawn = torch.multinomial(words.counts.double() ** POWER, self.noise, replacement=True)
        dots = centre @ words.contexts[drawn].T  # (W, E) @ (E, M) -> (W, M)
        against = _errors(dots, words.association(number[:, None], drawn[None])).mean(1)  # (W,)
        total = total + self.negatives * (against * pairs).sum()
        return {"loss": total / pairs.sum().clamp(min=1)}


def _errors(dots: Tensor, wanted: Tensor) -> Tensor:
    return (dots - wanted) ** 2 / 2
