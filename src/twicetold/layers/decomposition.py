"""Words split into a part that the other text has and a part that it lacks.

Wang, Mi and Ittycheriah, Sentence Similarity Learning by Lexical Decomposition and Composition, COLING 2016
(arXiv:1602.07019), section 3.2. A word s and what the other text has for it, ŝ (`best_match`):

    rigid         s⁺ = s, s⁻ = 0           if ŝ = s, else s⁺ = 0, s⁻ = s
    linear        s⁺ = α s, s⁻ = (1 − α) s                 with α = cos(s, ŝ)
    orthogonal    s⁺ = (s · ŝ / ŝ · ŝ) ŝ, s⁻ = s − s⁺      parallel and perpendicular to ŝ

In all three s⁺ + s⁻ = s, and a word that the other text repeats has s⁺ = s. The parts are composed by convolution over
windows that begin at each token; `sequence.RaggedConvolution` has centred ones.

Shape letters: D dimensions, K tokens of a batch, E dimensions of a token's values, H filters.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

LEAST = 1e-12  # squared length of a vector that counts as zero


def decompose(
    words: Float[Tensor, "... D"], matches: Float[Tensor, "... D"], *, way: str
) -> tuple[Float[Tensor, "... D"], Float[Tensor, "... D"]]:
    """s⁺ and s⁻ of words s with matches ŝ; where a match is zero, so is s⁺."""
    similar = WAYS[way](words, matches)
    return similar, words - similar


def require_way(way: str) -> None:
    """Check a setting.

    Raises:
        ValueError: if there is no such decomposition.
    """
    if way not in WAYS:
        raise ValueError(f"decomposition must be one of {', '.join(WAYS)}; got {way!r}")


def _rigid(words: Float[Tensor, "... D"], matches: Float[Tensor, "... D"]) -> Tensor:
    return words * (words == matches).all(-1, keepdim=True)


def _linear(words: Float[Tensor, "... D"], matches: Float[Tensor, "... D"]) -> Tensor:
    return words * cosine_similarity(words, matches, dim=-1)[..., None]


def _orthogonal(words: Float[Tensor, "... D"], matches: Float[Tensor, "... D"]) -> Tensor:
    dots, squared = (torch.sum(x * matches, -1, keepdim=True) for x in (words, matches))
    return dots / squared.clamp(min=LEAST) * matches


WAYS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "rigid": _rigid,
    "linear": _linear,
    "orthogonal": _orthogonal,
}


class WindowsFrom(nn.Module):
    """Convolution over each token and those after it, with zeros beyond the text's end.

    Args:
        size: E.
        filters: H, number of outputs.
        window: size in tokens.

    Raises:
        ValueError: if the window is below 1.
    """

    def __init__(self, size: int, filters: int, *, window: int) -> None:
        super().__init__()
        if window < 1:
            raise ValueError(f"a window has at least one token; got {window}")
        self.convolution = nn.Conv1d(size, filters, window)

    def forward(self, values: Float[Tensor, "K E"], offsets: Int64[Tensor, " _"]) -> Float[Tensor, "K H"]:
        """The outputs for each token's window."""
        # All texts in one line, each followed by a gap, so that there is one matrix product and no window spans two.
        (window,) = self.convolution.kernel_size
        if not len(values):
            return values.new_zeros(0, self.convolution.out_channels) + values.sum()
        text = torch.repeat_interleave(offsets.diff(), output_size=len(values))
        begin = torch.arange(len(values), device=values.device) + text * (window - 1)
        length = len(values) + (len(offsets) - 1) * (window - 1)
        line = values.new_zeros(length, values.shape[1]).index_copy(0, begin, values)
        windows: Tensor = self.convolution(line.T[None])[0].T  # (places, E) -> (1, E, places) -> (windows, H)
        return windows.index_select(0, begin)
