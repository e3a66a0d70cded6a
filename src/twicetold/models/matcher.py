"""A matcher: named features of a pair of texts, a logistic regression on them, and boosted trees.

    x(a, b)                                    F features: similarity by letters and words, rarity of the words that
                                               both have and of the others, codes, numbers and units that agree or
                                               contradict, symbols, lengths (`matching.pair_features`)
    l = w · x + c                              logistic regression
    t = b₀ + Σ_k v_k(x)                        trees; v_k: value of the leaf that x falls into
    P = ½ (σ(l) + σ(t)),  s = log P/(1 − P)    without trees: s = l

Features of this kind and a classifier are what entity matching has used since Fellegi and Sunter (1969); as a system:
Konda et al., Magellan, VLDB 2016. Trees: Friedman, Greedy Function Approximation, 2001. A text is kept as it is until
it meets the other one, so there is nothing to search by: the family scores pairs. Where texts have further columns,
each column of one text is compared with the same of the other. Features that say how near a text's other neighbours
are need a whole table and are left out.

The module holds weights; `training.solvers.matcher` finds them.

Shape letters: B pairs, M columns of a text, F features, T trees, N nodes of a tree, H buckets.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from twicetold.conventions import COLUMN_SEPARATOR
from twicetold.encoding import Encoding, SparseRows
from twicetold.matching.candidates import LETTERS
from twicetold.matching.pair_features import features_of_texts
from twicetold.matching.rarity import Rarity
from twicetold.matching.terms import Terms
from twicetold.matching.trees import Trees

BLOCK = 20_000  # pairs whose features are computed at a time
START = {"0:letters": LETTERS, "0:words": 1 - LETTERS}  # coefficients before training: a similarity


class PairMatcher(nn.Module):
    """Logistic regression and trees on features of both texts.

    Args:
        width: number of code points; not used.
        columns: M, the text and further columns.
        buckets: H, by which trigrams and words of the train texts are counted.
        trees: T; 0 for the logistic regression alone.
        leaves: of a tree, at most; N = 2 leaves − 1.
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    base: Tensor
    texts: Tensor
    letters: Tensor
    words: Tensor

    def __init__(self, *, width: int, columns: int, buckets: int, trees: int, leaves: int) -> None:
        super().__init__()
        self.names = tuple(f"{column}:{name}" for column in range(columns) for name in _names())
        start = [0.0, *(START.get(name, 0.0) for name in self.names)]
        self.coefficients = nn.Parameter(torch.tensor(start))  # (1 + F,)
        shape = (trees, 2 * leaves - 1)
        self.register_buffer("feature", torch.full(shape, -1, dtype=torch.int32))
        self.register_buffer("left", torch.zeros(shape, dtype=torch.int32))
        self.register_buffer("right", torch.zeros(shape, dtype=torch.int32))
        self.register_buffer("threshold", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("value", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("base", torch.tensor(torch.nan, dtype=torch.float64))  # until there are trees
        self.register_buffer("texts", torch.ones((), dtype=torch.int64))
        self.register_buffer("letters", torch.zeros(columns, buckets, dtype=torch.int64))
        self.register_buffer("words", torch.zeros(columns, buckets, dtype=torch.int64))

    def encode(self, features: SparseRows) -> Encoding:
        """Return the characters themselves: features need both texts."""
        return Encoding(features)

    def score(self, left: Encoding, right: Encoding) -> Float[Tensor, " B"]:
        """Return (B,) log odds that each pair is the same."""
        return self.of_features(self.compared(left, right))

    def compared(self, left: Encoding, right: Encoding) -> NDArray[np.float32]:
        """Return (B, F) features of pairs."""
        one, other = (columns_of(side, len(self.letters)) for side in (left, right))
        count = len(one[0])
        both = [[*first, *second] for first, second in zip(one, other, strict=True)]
        return self.pair_features(both, np.arange(count), np.arange(count, 2 * count))

    def pair_features(
        self, columns: Sequence[Sequence[str]], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return (B, F) features of pairs.

        Args:
            columns: M columns of texts in their normal form.
            left: (B,) number of the one text.
            right: (B,) number of the other one.
        """
        rarities, blocks = self.rarities(), []
        for start in range(0, len(left), BLOCK):
            ends = np.stack([side[start : start + BLOCK] for side in (left, right)])
            texts, inverse = np.unique(ends, return_inverse=True)
            one, other = inverse.reshape(2, -1)
            of_columns = [
                features_of_texts(rarity.terms([folded[text] for text in texts]), one, other)
                for folded, rarity in zip(columns, rarities, strict=True)
            ]
            blocks.append(np.column_stack([feature for found in of_columns for feature in found.values()]))
        return np.concatenate([np.empty((0, len(self.names))), *blocks]).astype(np.float32)

    def of_features(self, rows: NDArray[np.float32]) -> Float[Tensor, " B"]:
        """Return (B,) log odds of pairs with (B, F) features."""
        inputs = torch.from_numpy(rows).to(self.coefficients.device)
        linear = self.coefficients[0] + inputs @ self.coefficients[1:]  # (B, F) -> (B,)
        trees = self.trees()
        if trees is None:
            return linear
        both = torch.stack([linear, torch.from_numpy(trees.log_odds(rows)).to(linear)])  # (2, B)
        same: Tensor = logsigmoid(both).logsumexp(0)  # (2, B) -> (B,)
        return same - logsigmoid(-both).logsumexp(0)

    def trees(self) -> Trees | None:
        """Return the trees; None if there are none, or not yet."""
        if not len(self.feature) or bool(self.base.isnan()):
            return None
        names = ("feature", "threshold", "left", "right", "value", "base")
        return Trees(self.names, **{name: getattr(self, name).cpu().numpy() for name in names})

    def rarities(self) -> list[Rarity]:
        """Return M of them, of the columns."""
        counts = zip(self.letters.cpu().numpy(), self.words.cpu().numpy(), strict=True)
        return [Rarity(int(self.texts), letters, words) for letters, words in counts]


def columns_of(encoding: Encoding, count: int) -> list[list[str]]:
    """Return M columns of the texts whose characters are given.

    Raises:
        TypeError: if the embedding is dense.
        ValueError: if a text has another number of columns.
    """
    rows = encoding.embedding
    if not isinstance(rows, SparseRows):
        raise TypeError("expected characters as embedding, got a dense tensor")
    points = rows.indices.cpu().numpy().astype("<u4").tobytes()
    bounds = (4 * rows.offsets.cpu().numpy()).tolist()
    texts = [points[a:b].decode("utf-32-le", "surrogatepass") for a, b in pairwise(bounds)]
    split = [text.split(COLUMN_SEPARATOR) for text in texts]
    if other := {len(parts) for parts in split} - {count}:
        raise ValueError(f"expected {count} columns of each text, got {other.pop()}")
    return [[parts[column] for parts in split] for column in range(count)]


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    """Return features of one column."""
    some = np.zeros(1, np.int64)
    return tuple(features_of_texts(Terms.of(["a"]), some, some))
