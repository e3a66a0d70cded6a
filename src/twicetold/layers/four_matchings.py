"""The matching layer of BiMPM: each word of a text against the other text of its pair, in four ways.

Wang, Hamza and Florian, Bilateral Multi-Perspective Matching for Natural Language Sentences, IJCAI 2017
(arXiv:1702.03814), section 3.3. h are the states of one direction of an LSTM, p and q the texts, m the cosines over
perspectives (`perspectives`), with weights of its own for each way:

    full             m(h_i^p, h_end^q)     the last state that the LSTM has reached in the other text
    max-pooling      max_j m(h_i^p, h_j^q) for each perspective
    attentive        m(h_i^p, Σ_j α_ij h_j^q / Σ_j α_ij)       with α_ij = cos(h_i^p, h_j^q)
    max-attentive    m(h_i^p, h_k^q)                           with k = argmax_j α_ij

Both texts of a pair share the weights, so the roles of p and q can be exchanged.

For max-pooling, a pair of texts of S and T tokens takes L · S · T numbers; everything else is linear in S and T.

Shape letters: B pairs, K tokens of all their texts, N pairs of a group, S and T tokens of its texts, H dimensions of a
state, L perspectives.
"""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from twicetold.layers.alignment import Facing
from twicetold.layers.best_match import BELOW, best, cosines, gathered, groups_of_pairs, taken, weighted
from twicetold.layers.perspectives import Perspectives, in_full_precision
from twicetold.layers.pooling import Pooling


class FourMatchings(nn.Module):
    """Full, max-pooling, attentive and max-attentive matching of the states of one direction.

    Args:
        size: H.
        perspectives: L.
        backwards: the states are of an LSTM from the end of each text to its beginning.
    """

    def __init__(self, size: int, perspectives: int, *, backwards: bool) -> None:
        super().__init__()
        self.full, self.most, self.mean, self.chosen = (Perspectives(perspectives, size) for _ in range(4))
        self.end = Pooling("first" if backwards else "last", size)

    def forward(
        self, states: Float[Tensor, "K H"], offsets: Int64[Tensor, " _"], facing: Facing
    ) -> Float[Tensor, "K M"]:
        """(K, M) of each token, M = 4 L, in the order above; zeros where the other text is empty.

        Args:
            states: of all tokens.
            offsets: (2 B + 1,) of the texts, of which the last B are the right ones.
            facing: of these offsets.
        """
        with in_full_precision(states.device):
            states = states.to(self.full.weight.dtype)
            text = torch.repeat_interleave(offsets.diff(), output_size=len(states))
            ends = self.end(states, offsets).to(states.dtype)  # (K, H) -> (2 B, H)
            across = ends.roll(len(ends) // 2, 0).index_select(0, text)  # (K, H)
            most, mean, chosen = [], [], []
            for values, beyond in groups_of_pairs(states, facing):
                left, right = values
                alike = cosines(left, right)  # (N, S, T)
                sides = [(alike, right, beyond[1]), (alike.transpose(1, 2), left, beyond[0])]
                mean.append(torch.stack([weighted(near, other) for near, other, _ in sides]))
                chosen.append(torch.stack([taken(other, best(near.detach(), out)) for near, other, out in sides]))
                every = self.most.between(left, right)  # (N, L, S, T)
                most.append(torch.stack([_highest(every, beyond[1]), _highest(every.transpose(2, 3), beyond[0])]))
            nothing = states.new_zeros(0, len(self.most.weight))
            matches = [
                self.full(states, across),
                gathered(most, nothing, facing),
                self.mean(states, gathered(mean, states, facing)),
                self.chosen(states, gathered(chosen, states, facing)),
            ]
            return torch.cat(matches, 1)


def _highest(every: Float[Tensor, "N L S T"], beyond: Bool[Tensor, "N T"]) -> Float[Tensor, "N S L"]:
    """Of each perspective the highest value over the other text; 0 where it is empty."""
    highest = every.masked_fill(beyond[:, None, None], BELOW).max(3).values
    return highest.masked_fill(beyond.all(1)[:, None, None], 0).transpose(1, 2)
