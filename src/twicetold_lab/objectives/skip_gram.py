"""Skip-gram with negative sampling: classify whether a word is a neighbour of another one.

    L = −log σ(⟨v_w, u_c⟩) − J · E_n [log σ(−⟨v_w, u_n⟩)]      for a word w and each neighbour c

Mikolov, Sutskever, Chen, Corrado and Dean, Distributed Representations of Words and Phrases and their
Compositionality, NIPS 2013: equation 4, noise words n drawn by count^¾ (section 2.2), frequent words dropped at
random (section 2.3). As in the authors' program, the window of each word is random, so near neighbours weigh more.

Noise words are shared: a step draws M of them for all pairs and gives each the weight J / M. The expected loss and
gradient are the same, and gathers become one matrix product.

Shape letters: W words of the batch, E dimensions, C words of the vocabulary, M noise words.
"""

import torch
from jaxtyping import Bool, Int64
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.encoding import EncodedBatch, WordsInContext
from twicetold_lab.objectives.protocol import Objective

POWER = 0.75  # of counts, for noise words


class SkipGram(nn.Module, Objective):
    """Skip-gram with negative sampling over the anchors' words.

    Args:
        window: largest number of neighbours on either side.
        negatives: J, noise words for each pair.
        noise: M, noise words of a step.
        subsample: t: a word with frequency f is kept with probability min(1, √(t / f)); None keeps every word.

    Raises:
        ValueError: if a number is not positive.
    """

    def __init__(self, *, window: int, negatives: int, noise: int, subsample: float | None) -> None:
        super().__init__()
        settings = {"window": window, "negatives": negatives, "noise": noise, "subsample": subsample}
        if wrong := {name: value for name, value in settings.items() if value is not None and not value > 0}:
            raise ValueError(f"skip_gram counts words and neighbours, which must be above 0; got {wrong}")
        self.window = window
        self.negatives = negatives
        self.noise = noise
        self.subsample = subsample

    def forward(self, batch: EncodedBatch) -> dict[str, Tensor]:
        """Return `loss`, the mean over pairs of a word and a neighbour."""
        words = self.words_of(batch)
        chosen_words = self._kept(words)
        centre, number = words.vector[chosen_words], words.number[chosen_words]  # (W, E), (W,)
        text = torch.repeat_interleave(words.offsets.diff(), output_size=len(chosen_words))[chosen_words]
        context = words.contexts[number]  # (W, E)
        reach = self.reach(text)
        total = centre.sum() * 0 + context.sum() * 0  # keeps the graph in a batch without a pair
        pairs = torch.zeros(len(text), device=text.device)  # of each centre
        for distance in range(1, min(self.window, len(text) - 1) + 1):
            same_text = text[distance:] == text[:-distance]
            before, after = slice(None, -distance), slice(distance, None)
            for one, other in ((before, after), (after, before)):
                chosen = same_text & (reach[one] >= distance)
                dots = (centre[one] * context[other]).sum(1)
                total = total + (self.cost(words, dots, number[one], number[other]) * chosen).sum()
                pairs[one] += chosen
        drawn = torch.multinomial(words.counts.double() ** POWER, self.noise, replacement=True)
        dots = centre @ words.contexts[drawn].T  # (W, E) @ (E, M) -> (W, M)
        against = self.cost(words, dots, number[:, None], drawn[None], noise=True).mean(1)  # (W,)
        total = total + self.negatives * (against * pairs).sum()
        return {"loss": total / pairs.sum().clamp(min=1)}

    def words_of(self, batch: EncodedBatch) -> WordsInContext:
        """Return the anchors' words.

        Raises:
            ValueError: if the family gives none.
        """
        words = batch.anchor.extra
        if not isinstance(words, WordsInContext):
            raise ValueError("skip_gram trains word vectors, and this family gives none: choose word2vec or fasttext")
        return words

    def reach(self, text: Int64[Tensor, " W"]) -> Int64[Tensor, " W"]:
        """Return (W,) window of each word, drawn at random."""
        return torch.randint(1, self.window + 1, text.shape, device=text.device)

    def cost(
        self, words: WordsInContext, dots: Tensor, centre: Tensor, context: Tensor, *, noise: bool = False
    ) -> Tensor:
        """Return the loss of each pair of a centre and a context.

        Args:
            words: of the batch.
            dots: products of their vectors.
            centre: numbers of the centres, which are broadcast.
            context: numbers of the contexts, which are broadcast.
            noise: the contexts are noise words.
        """
        return -logsigmoid(-dots if noise else dots)

    def _kept(self, words: WordsInContext) -> Bool[Tensor, " W"]:
        """Return (W,) which words are kept: known ones, frequent ones at random."""
        known = words.number != UNKNOWN_TOKEN
        if self.subsample is None:
            return known
        frequency = words.counts / words.counts.sum()
        chance = (self.subsample / frequency).sqrt()[words.number]
        return known & (torch.rand(chance.shape, device=chance.device) < chance)
