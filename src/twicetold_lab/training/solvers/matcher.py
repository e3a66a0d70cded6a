"""Training of a matcher: a logistic regression with each of some ridges, and boosted trees.

    minimise  Σ_i log(1 + exp(−y_i (w · z_i + c))) + ½ λ ‖w‖²,   z: features with mean 0 and variance 1, y = ±1

An epoch tries one λ; the trees are grown in the first one, and are the same in all. Validation after each epoch decides
which λ is kept, as it decides on the epoch of other families.

Shape letters: P pairs, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from twicetold.encoding import Encoding
from twicetold.matching.rarity import Rarity
from twicetold.matching.regression import fit_logistic
from twicetold.models.matcher import PairMatcher, columns_of
from twicetold.models.protocol import Encoder
from twicetold_lab.matching.trees import grown
from twicetold_lab.objectives.pair_bce import PairBce
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.training.solvers.protocol import Solver, Steps, TrainingData

FREE = 1e-3  # precision of the intercept
LEAST = 1e-3  # added to a standard deviation: some features are constant


@dataclass(frozen=True)
class Matcher(Solver):
    """Settings of the training of a matcher.

    Args:
        ridges: λ of each epoch; in further epochs, the last.
    """

    ridges: Sequence[float]

    def prepare(self, encoder: Encoder, objective: Objective, data: TrainingData, *, seed: int) -> "MatcherSteps":
        """Count trigrams and words of the train texts, and compute the features of all labelled pairs.

        Raises:
            TypeError: if the encoder is no matcher, the objective is another one, or the examples are no pairs.
            ValueError: if there is no ridge, or a label is neither 0 nor 1, or all are one of them.
        """
        if not isinstance(encoder, PairMatcher):
            raise TypeError(
                f"this optimizer trains a matcher, not a {type(encoder).__name__}: choose another optimizer"
            )
        if not isinstance(objective, PairBce) or objective.log_scale is not None:
            raise TypeError(
                "this optimizer minimises the cross-entropy of labelled pairs alone: set objective=pair_bce"
            )
        if not self.ridges or min(self.ridges) <= 0:
            raise ValueError(f"expected numbers above 0 as optimizer.ridges, got {list(self.ridges)}")
        pairs, label = data.examples, data.examples.label
        if pairs.positive is None or pairs.negative is not None or label is None:
            raise TypeError("this optimizer needs labelled pairs: choose examples=labelled_pairs")
        if set(np.unique(label)) != {0, 1}:
            raise ValueError("expected pairs labelled 1 and pairs labelled 0, as of a dataset of labelled pairs")
        _count(encoder, data)
        numbers, ends = np.unique(np.stack([pairs.anchor, pairs.positive]), return_inverse=True)
        columns = columns_of(Encoding(data.rows.gather(numbers)), len(encoder.letters))
        left, right = ends.reshape(2, -1)
        return MatcherSteps(
            self, encoder.pair_features(columns, left, right), np.asarray(label) > 0, encoder, seed=seed
        )


class MatcherSteps(Steps):
    """A training of a matcher.

    Args:
        settings: see `Matcher`.
        rows: (P, F) features.
        same: (P,) whether a pair matches.
        encoder: that is trained.
        seed: of the trees.
    """

    count: Tensor

    def __init__(
        self,
        settings: Matcher,
        rows: NDArray[np.float32],
        same: NDArray[np.bool_],
        encoder: PairMatcher,
        *,
        seed: int,
    ) -> None:
        super().__init__()
        self.ridges, self.rows, self.same, self.seed = settings.ridges, rows, same, seed
        self.per_epoch = 2 if len(encoder.feature) else 1
        self.register_buffer("count", torch.tensor(0))

    def step(self, encoder: Encoder, chosen: NDArray[np.int64]) -> dict[str, Tensor]:
        """Fit the regression, or grow the trees; all pairs are used, whatever is chosen."""
        assert isinstance(encoder, PairMatcher)
        epoch, part = divmod(int(self.count), self.per_epoch)
        if part == 0:
            log_odds = self._regress(encoder, self.ridges[min(epoch, len(self.ridges) - 1)])
        else:
            log_odds = self._grow(encoder) if epoch == 0 else _trees_of(encoder, self.rows)
        self.count = self.count + 1
        loss = np.logaddexp(0, np.where(self.same, -log_odds, log_odds)).mean()
        return {"loss": torch.tensor(loss)}

    def _regress(self, encoder: PairMatcher, ridge: float) -> NDArray[np.float64]:
        """Write the coefficients of raw features."""
        rows = self.rows.astype(np.float64)
        mean, scale = rows.mean(axis=0), rows.std(axis=0) + LEAST
        inputs = np.column_stack([np.ones(len(rows)), (rows - mean) / scale])
        count = inputs.shape[1]
        precision = np.append(FREE, np.full(count - 1, float(ridge)))
        found = fit_logistic(inputs, self.same, mean=np.zeros(count), precision=precision)
        raw = np.append(found[0] - found[1:] @ (mean / scale), found[1:] / scale)
        with torch.no_grad():
            encoder.coefficients.copy_(torch.from_numpy(raw.astype(np.float32)))
        return inputs @ found

    def _grow(self, encoder: PairMatcher) -> NDArray[np.float64]:
        count, nodes = encoder.feature.shape
        trees = grown(encoder.names, self.rows, self.same, count=count, leaves=(nodes + 1) // 2, seed=self.seed)
        for name in ("feature", "threshold", "left", "right", "value", "base"):
            getattr(encoder, name).copy_(torch.from_numpy(getattr(trees, name)))
        return trees.log_odds(self.rows)


def _trees_of(encoder: PairMatcher, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    trees = encoder.trees()
    assert trees is not None
    return trees.log_odds(rows)


def _count(encoder: PairMatcher, data: TrainingData) -> None:
    """Write the rarity of the train texts into the encoder."""
    columns = columns_of(Encoding(data.rows.gather(data.texts)), len(encoder.letters))
    encoder.texts.fill_(len(data.texts))
    for column, folded in enumerate(columns):
        rarity = Rarity.of(folded, buckets=encoder.letters.shape[1])
        encoder.letters[column] = torch.from_numpy(rarity.letters)
        encoder.words[column] = torch.from_numpy(rarity.words)
