"""Deep metric learning on a frozen transformer: convolutions embed the matrix of token vectors like an image.

FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching (arXiv:2010.05523), section
3.4: token vectors from BERT, three convolutions with 2 x 2 max-pooling and a fourth one, ReLU between two layers, one
network for anchor, positive and negative. Layer sizes are those of Hoffer and Ailon, Deep Metric Learning Using
Triplet Network (arXiv:1412.6622), section 3.3.

    x = Transformer(w)                     (T, H), never trained
    x ← max-pool(ReLU(conv_i(x)))          i = 1, 2, 3: tokens times dimensions, halved in both directions
    v = mean over places of conv_4(x)      texts differ in length, unlike the images of the source
    embedding = v / ‖v‖                    zero for a text without a known token

The paper does not say how a row of H numbers is placed in the image. As neighbouring dimensions of a transformer are
unrelated, `channels` sets into how many channels the row is folded: 1 gives a T x H image with one channel, H gives T
places with H channels each, that is convolutions over tokens only.

Shape letters: B texts, N texts of a group, K tokens of a batch, T tokens of the longest text of a group, H dimensions
of a token's vector, C channels, W = H/C, F filters, E embedding dimensions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from twicetold.encoding import Encoding, SparseRows, unit_vectors
from twicetold.layers.sequence import GROUP, groups_of_like_length, padded
from twicetold.layers.transformer import Transformer
from twicetold.layers.two_tower import TwoTower


class FilmBert(TwoTower):
    """Convolutions over the vectors of a frozen transformer.

    Args:
        width: number of token ids.
        transformer: settings of `layers.transformer.Transformer`, from the featuriser.
        channels: C, into which a token's vector is folded; 1 to H.
        filters: feature maps of the four convolutions; the last one's are E.
        windows: sizes of their windows.

    Raises:
        ValueError: if there are not four convolutions, or the channels do not divide H.
    """

    def __init__(
        self,
        *,
        width: int,
        transformer: Mapping[str, Any],
        channels: int,
        filters: Sequence[int],
        windows: Sequence[int],
    ) -> None:
        super().__init__()
        self.width = width
        self.frozen = Transformer(**transformer).requires_grad_(False)
        size = self.frozen.size
        if len(filters) != 4 or len(windows) != 4:
            raise ValueError(
                f"expected four convolutions, got {len(filters)} numbers of filters, {len(windows)} windows"
            )
        if channels < 1 or size % channels:
            raise ValueError(f"a token's vector has {size} dimensions, which {channels} channels do not divide")
        self.channels = channels
        self.size = filters[-1]
        wide = [-(-size // (channels * 2**i)) for i in range(4)]  # of the image, halved by each pooling
        self.convolve = nn.ModuleList(
            _same(inputs, outputs, (window, min(window, across)))
            for inputs, outputs, window, across in zip([channels, *filters[:-1]], filters, windows, wide, strict=True)
        )

    def train(self, mode: bool = True) -> "FilmBert":
        """Set the mode of the convolutions only: the transformer never applies dropout."""
        super().train(mode)
        self.frozen.eval()
        return self

    @torch.no_grad()
    def token_vectors(self, features: SparseRows) -> Float[Tensor, "K H"]:
        """Return (K, H) float16 state of each token."""
        states: Tensor = self.frozen(features)
        return states.half()

    def encode(self, features: SparseRows) -> Encoding:
        """Embed: (B, E), of length 1; the transformer runs only if `features` has no token vectors."""
        vectors = self.token_vectors(features) if features.values is None else features.values  # (K,) -> (K, H)
        image = vectors.float().view(len(vectors), self.channels, -1)  # (K, H) -> (K, C, H/C)
        order, pooled = [], []
        for texts, place in groups_of_like_length(features.offsets, GROUP, features.lengths):
            lengths = (place < len(vectors)).sum(1)
            pooled.append(self._convolved(padded(image, place).transpose(1, 2), lengths))  # (texts, C, T, H/C)
            order.append(texts)
        embedding = image.new_zeros(len(features), self.size)
        if order:
            embedding = embedding.index_copy(0, torch.cat(order), torch.cat(pooled).float())
        return Encoding(unit_vectors(embedding) * self.frozen.known(features)[:, None])

    def _convolved(self, image: Float[Tensor, "N C T W"], lengths: Int64[Tensor, " N"]) -> Float[Tensor, "N E"]:
        """Return the four convolutions; places beyond a text's end are zero before each of them."""
        for convolve in self.convolve[:-1]:
            image = convolve(image).relu() * _inside(image, lengths)
            image = max_pool2d(image, 2, ceil_mode=True)  # (N, C, T, W) -> (N, F, T/2, W/2)
            lengths = (lengths + 1) // 2
        last = self.convolve[-1](image) * _inside(image, lengths)
        mean: Tensor = last.sum((2, 3)) / (lengths * last.shape[3])[:, None]  # (N, E, T/8, W/8) -> (N, E)
        return mean


def _same(inputs: int, outputs: int, window: tuple[int, int]) -> nn.Module:
    """Return a convolution that keeps height and width, with zeros beyond the edges."""
    (above, below), (before, behind) = (((size - 1) // 2, size // 2) for size in window)
    return nn.Sequential(nn.ZeroPad2d((before, behind, above, below)), nn.Conv2d(inputs, outputs, window))


def _inside(image: Float[Tensor, "N C T W"], lengths: Int64[Tensor, " N"]) -> Bool[Tensor, "N 1 T 1"]:
    """Return a mask of the places that belong to the text."""
    time = torch.arange(image.shape[2], device=image.device)
    return (time < lengths[:, None])[:, None, :, None]
