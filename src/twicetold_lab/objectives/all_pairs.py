"""Sums of softplus(n − p) over all (positive, negative) pairs of every anchor, without forming the pairs.

For one anchor, with the dots p to its own class and n to the rest, the module computes Σ softplus(n − p), and for the
gradient Σ_p σ(n − p) for each n and Σ_n σ(n − p) for each p. These are sums of one smooth function of a difference, so
they are separable, as in the fast multipole method:

1. Cut the range of the anchor's dots into G equal cells of half-width w ≤ 1. Within its cell a dot is x ∈ [−1, 1].
2. For p in cell I and n in cell J, interpolate f(n − p) in both variables at Chebyshev points:
   f(n − p) = Σ_uv K[Iu, Jv] T_u(x_p) T_v(x_n). The poles nearest to the real axis, at n − p = ±iπ, give a
   relative error of at most 10 ρ^−q for order q, with ln ρ = asinh(π / w). It holds for each pair, because
   softplus and σ vary little within two cells, and for the sums, because all terms have the same sign.
3. Moments m_p[Iu] = Σ_p T_u(x_p) and m_n[Jv] are one scatter-add each. Then Σ softplus(n − p) = m_pᵀ K m_n; the sums
   for the gradient are the polynomials with coefficients m_pᵀ K′ (in n) and K′ m_n (in p), gathered at every dot.

Work per anchor: q·B + (G·q)² with q about 10, instead of P·N; one K is used for all anchors, as it depends on
differences only. G grows with the range of the dots: anchors whose dots span more than `WIDEST` (very long embeddings)
are summed pair by pair, in tiles.

Violated pairs (n > p) are counted by rank: the ranks of an anchor's positives among its sorted dots give the number of
negatives above them (Mann & Whitney 1947).

Reference for the error of step 2: Trefethen, "Approximation Theory and Approximation Practice" (2013), ch. 8.
Shape letters: B rows, A anchors of one chunk, G cells, q order, P positives and N negatives of an anchor.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F

WIDEST = 256.0
"""Range of one anchor's dots up to which the interpolation is used."""

_WIDEST_CELL = 2.0
_LEAST = torch.iinfo(torch.int64).min


@dataclass(frozen=True)
class PairSums:
    """Sums over all anchors of a batch."""

    total: Tensor
    """() float64, Σ softplus(dots[a, n] − dots[a, p])."""
    slopes: Tensor | None
    """(B, B) float64, the derivative of `total` by each dot; None without `with_slopes`."""
    violated: Tensor
    """() int64, how many pairs have dots[a, n] > dots[a, p], to one unit in the last place."""


def sums(dots: Tensor, label: Tensor, *, accuracy: float, with_slopes: bool) -> PairSums:
    """Return sums over every anchor a, every p ≠ a of a's class, every n of another class.

    Args:
        dots: (B, B) float64; overwritten.
        label: (B,) integer class codes.
        accuracy: Largest relative error of each term.
        with_slopes: Whether to compute the derivative.
    """
    size = len(dots)
    total, violated = dots.new_zeros(()), torch.zeros((), dtype=torch.int64, device=dots.device)
    if size < 3:
        return PairSums(total, dots.zero_() if with_slopes else None, violated)
    same = label[:, None] == label
    # An anchor's dot with itself belongs to no pair; a neighbour's value there does not change the range.
    dots.diagonal()[:-1] = dots.diagonal(1).clone()
    dots[-1, -1] = dots[-1, -2]
    low, high = dots.aminmax(dim=1)
    span = high - low
    regular = span <= WIDEST  # False for nan: such anchors go to the tiles, which propagate nan
    # In one copy, as Python waits for the device.
    widest, widest_class = torch.stack([span.where(regular, 0).max(), same.sum(1).max().to(span.dtype)]).tolist()
    grid = _Grid.fit(widest, size, accuracy, dots.device)
    # Some MB on CPU, so that a chunk stays in cache; larger on GPUs, where launching a kernel is expensive.
    entries = 1 << (19 if dots.device.type == "cpu" else 24)
    chunks = _chunks(regular, entries // (grid.order * size))
    # One for all chunks: new memory for each would cost as much as the arithmetic.
    workspace = dots.new_empty(2, max((len(anchors) for anchors in chunks), default=0) * grid.order * size)
    for anchors in chunks:
        chunk, positive = dots[anchors], same[anchors]
        violated += _count_violated(chunk, positive, anchors)
        part, slopes = grid.sums(chunk, positive, anchors, low[anchors], workspace, with_slopes=with_slopes)
        total += part
        if slopes is not None:
            dots[anchors] = slopes
    for anchors in _chunks(~regular, entries // (int(widest_class) * size)):
        chunk, positive = dots[anchors], same[anchors]
        violated += _count_violated(chunk, positive, anchors)
        part, slopes = _tile_sums(chunk, positive, anchors)
        total += part
        dots[anchors] = slopes
    return PairSums(total, dots if with_slopes else None, violated)


def _chunks(chosen: Tensor, rows: int) -> list[Tensor]:
    """Return indices where `chosen` (B,) holds, at most `rows` (at least 1) at a time."""
    where, rows = chosen.nonzero().squeeze(1), max(1, rows)
    return [where[start : start + rows] for start in range(0, len(where), rows)]


@dataclass(frozen=True)
class _Grid:
    """The cells, and the two kernels between them."""

    cells: int
    half_width: float
    order: int
    softplus: Tensor
    """(q·G, q·G) coefficients of softplus(n − p): rows for p (order-major), columns for n."""
    sigmoid: Tensor
    """(q·G, q·G) the same of σ(n − p)."""

    @classmethod
    def fit(cls, span: float, size: int, accuracy: float, device: torch.device) -> "_Grid":
        """Return the cheapest grid over dots of this span that is accurate enough."""
        octave = math.log2(max(span, 1e-9))
        return cls._fit(2 ** (math.ceil(octave * 8) / 8), size, accuracy, device)  # rounded up, for the cache

    @classmethod
    @lru_cache(maxsize=64)
    def _fit(cls, span: float, size: int, accuracy: float, device: torch.device) -> "_Grid":
        def order(cells: int) -> int:
            return max(2, math.ceil(math.log(10 / accuracy) / math.asinh(math.pi * 2 * cells / span)))

        def cost(cells: int) -> float:
            # A dot costs as much at each order as 9 of the kernel's entries (measured on CPU).
            return order(cells) * size + (cells * order(cells)) ** 2 / 9

        fewest = math.ceil(span / _WIDEST_CELL)
        cells = min(range(fewest, fewest + 40), key=cost)
        half_width = span / (2 * cells)
        kernels = (_kernel(f, cells, half_width, order(cells), device) for f in (softplus, torch.sigmoid))
        return cls(cells, half_width, order(cells), *kernels)

    def sums(
        self, dots: Tensor, positive: Tensor, anchors: Tensor, low: Tensor, workspace: Tensor, *, with_slopes: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return total () and slopes (A, B) of a chunk of anchors."""
        cells, order, (rows, width) = self.cells, self.order, dots.shape
        x = (dots - low[:, None]).mul_(1 / (2 * self.half_width))
        slot = x.long().clamp_(max=cells - 1)  # (A, B) cell of each dot
        twice_x = x.sub_(slot).mul_(4).sub_(2)
        slot.add_(positive, alpha=cells)  # negatives, then positives
        slot.scatter_(1, anchors[:, None], 2 * cells)  # one more, for the anchor itself
        basis, gathered = workspace[:, : order * rows * width].view(2, order, rows, width)
        basis[0] = 1
        torch.mul(twice_x, 0.5, out=basis[1])
        for k in range(2, order):  # ±T_k, signed as in `_kernel`, each by one fused operation
            torch.addcmul(basis[k - 2], twice_x, basis[k - 1], value=1 if k % 2 else -1, out=basis[k])
        slots = slot.expand(order, rows, width)
        table = dots.new_zeros(order, rows, 2 * cells + 1).scatter_add_(2, slots, basis)
        moments = table[:, :, :-1].reshape(order, rows, 2, cells).permute(2, 1, 0, 3).reshape(2, rows, order * cells)
        of_negatives, of_positives = moments[0], moments[1]
        total = torch.dot((of_positives @ self.softplus).flatten(), of_negatives.flatten())
        if not with_slopes:
            return total, None
        at_negatives = of_positives @ self.sigmoid
        at_positives = (of_negatives @ self.sigmoid.T).neg_()
        coefficients = torch.stack((at_negatives, at_positives)).view(2, rows, order, cells).permute(2, 1, 0, 3)
        table[:, :, :-1] = coefficients.reshape(order, rows, 2 * cells)
        table[:, :, -1] = 0
        return total, torch.gather(table, 2, slots, out=gathered).mul_(basis).sum(0)


def _kernel(f: Callable[[Tensor], Tensor], cells: int, half_width: float, order: int, device: torch.device) -> Tensor:
    """Return (q·G, q·G) Chebyshev coefficients of f(n − p) for p in the row's cell and n in the column's."""
    degree = torch.arange(order, device=device)
    angle = (degree.to(torch.float64) + 0.5) * (math.pi / order)
    transform = torch.cos(degree[:, None] * angle) * (2 / order)
    transform[0] /= 2
    transform[degree % 4 >= 2] *= -1  # signs + + − −, see `_Grid.sums`
    nodes = half_width * angle.cos()
    shift = 2 * half_width * torch.arange(1 - cells, cells, device=device, dtype=torch.float64)
    block = transform @ f(shift[:, None, None] + nodes - nodes[:, None]) @ transform.T  # (2G − 1, q, q)
    cell = torch.arange(cells, device=device)
    blocks = block[cell - cell[:, None] + cells - 1]  # (G, G, q, q)
    return blocks.permute(2, 0, 3, 1).reshape(order * cells, order * cells)


def _tile_sums(dots: Tensor, positive: Tensor, anchors: Tensor) -> tuple[Tensor, Tensor]:
    """Return total () and slopes (A, B) of a chunk of anchors, pair by pair."""
    own = positive.scatter(1, anchors[:, None], False)
    # Sorting packs each side to the front; ±inf behind it adds nothing, as softplus(−inf) = σ(−inf) = 0.
    p, p_place = dots.masked_fill(~own, torch.inf).sort(1)
    n, n_place = dots.masked_fill(positive, -torch.inf).sort(1, descending=True)
    most_p, most_n = int(own.sum(1).max()), int((~positive).sum(1).max())
    gap = n[:, None, :most_n] - p[:, :most_p, None]
    slope = gap.sigmoid()
    slopes = torch.zeros_like(dots).scatter_add_(1, n_place[:, :most_n], slope.sum(1))
    return softplus(gap).sum(), slopes.scatter_add_(1, p_place[:, :most_p], slope.sum(2).neg_())


def _count_violated(dots: Tensor, positive: Tensor, anchors: Tensor) -> Tensor:
    """Return () int64: pairs with a negative above a positive.

    A float64's bits sort as an integer once the negative ones are flipped; the last bit then makes room for the role,
    so that one sort orders the dots and, among equal ones, negatives first.
    """
    bits = (dots + 0.0).view(torch.int64)  # + 0.0 makes −0.0 the zero it equals
    keys = (bits >> 63).bitwise_and_(torch.iinfo(torch.int64).max).bitwise_xor_(bits)
    keys.bitwise_and_(-2).bitwise_or_(positive).scatter_(1, anchors[:, None], _LEAST)
    if keys.device.type == "cpu":
        keys.numpy().sort(axis=1)  # in place; an eighth of the time of torch's sort, which also makes indices
    else:
        keys = keys.sort(1).values
    is_positive = keys.bitwise_and_(1)
    at_or_above = torch.arange(dots.shape[1], 0, -1, device=dots.device)
    positives = is_positive.sum(1)
    return (is_positive * at_or_above).sum() - (positives * (positives + 1) // 2).sum()


def softplus(x: Tensor) -> Tensor:
    """Return ln(1 + eˣ) in full relative accuracy on both sides; PyTorch's default is linear above 20."""
    return F.softplus(x, threshold=40)
