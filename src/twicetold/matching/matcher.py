"""The matcher: from the features of a pair to the probability that its texts are duplicates.

    p(a, b) = σ(β₀ + Σ_f β_f (x_f − m_f) / s_f)

The *generic* matcher was learnt on files of many kinds, products, places, titles, persons, questions and others, each
kind with the same weight, and needs no label. Its coefficients are the mean of a prior, and how they differ from one
kind to the next is its covariance:

    β ~ N(μ, τ² I + 1/K Σ_k d_k d_kᵀ),   d_k = coefficients of kind k − μ

so that a person's first answers move the coefficients as kinds differ, and only many answers move them otherwise. Its
numbers are in the package (`matching.generic`).

Shape letters: P pairs, F features, K kinds, A answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from twicetold.matching.regression import Floats, fit_logistic
from twicetold.neighbours.parallel import serial_products

if TYPE_CHECKING:
    from twicetold.matching.pair_features import Column

DIGITS = 4  # of a stored number
DECIMALS = 6  # of it at most, as the regression stops at changes of this size
ANCHORS = 3_000  # pairs of which those that the generic matcher is sure of hold it in place
ANCHOR = 30.0  # answers that all of them weigh
UNSURE = 0.05  # probability of which a pair is sure
LEAST_SCALE = 1e-3  # of a feature
COSINE, SCORE = "cosine", "score"  # features: by the default's vectors, and by a trained model
LARGEST = 1e9  # number, and reciprocal of a scale or spread: sums and quotients of such are finite


@dataclass(frozen=True)
class Matcher:
    """A logistic regression over named features, with the prior that answers start from.

    Args:
        names: of the F features.
        mean: (F,) m, of the features.
        scale: (F,) s.
        coefficients: (F + 1,) β, the intercept first.
        prior: (F + 1,) μ.
        kinds: (K, F + 1) d.
        spread: τ.
    """

    names: tuple[str, ...]
    mean: Floats
    scale: Floats
    coefficients: Floats
    prior: Floats
    kinds: Floats
    spread: float

    def probability(self, columns: "Mapping[str, Column]") -> Floats:
        """Return (P,) of pairs with these features."""
        return np.asarray(expit(self.log_odds(columns)), np.float64)

    def log_odds(self, columns: "Mapping[str, Column]") -> Floats:
        """Return (P,) of pairs with these features."""
        self._require(columns)
        weights = self.coefficients[1:] / self.scale
        score = np.full(len(columns[self.names[0]]), self.coefficients[0] - self.mean @ weights)
        for name, weight in zip(self.names, weights, strict=True):  # a matrix of all would be large
            score += weight * columns[name]
        return np.asarray(score, np.float64)

    @serial_products()
    def answered(
        self,
        columns: "Mapping[str, Column]",
        pairs: NDArray[np.int64],
        same: NDArray[np.bool_],
        *,
        around: NDArray[np.int64] | None = None,
    ) -> "Matcher":
        """Return the matcher after answers about pairs; it starts from the prior, so the order of answers is not seen.

        Args:
            columns: features of P pairs.
            pairs: (A,) positions of those that were asked about.
            same: (A,) whether each matches.
            around: positions of pairs of all sorts; None: `anchors` of the P pairs.
        """
        if not len(pairs):
            return replace(self, coefficients=self.prior)
        order = np.lexsort((same, pairs))
        some = anchors(len(next(iter(columns.values())))) if around is None else around
        sampled, expected = self._sure(columns, some)
        chosen = np.concatenate([pairs[order], sampled])
        covariance = self.spread**2 * np.eye(len(self.prior)) + self.kinds.T @ self.kinds / max(len(self.kinds), 1)
        found = fit_logistic(
            self._rows({name: columns[name][chosen] for name in self.names}),
            np.concatenate([np.asarray(same, np.float64)[order], expected]),
            mean=self.prior,
            precision=np.asarray(np.linalg.inv(covariance), np.float64),
            weights=np.append(np.ones(len(pairs)), np.full(len(sampled), ANCHOR / max(len(sampled), 1))),
        )
        return replace(self, coefficients=found)

    def moved(self, log_odds: float) -> "Matcher":
        """Return the matcher that gives one half where this one gives these log odds; answers start from there."""
        less = log_odds * np.eye(1, len(self.prior))[0]
        return replace(self, coefficients=self.coefficients - less, prior=self.prior - less)

    def beside(self, columns: "Mapping[str, Column]") -> "Matcher":
        """Return the matcher with the other features of some pairs as well, which count for nothing before answers.

        Args:
            columns: (P,) features by name.
        """
        others = {name: np.asarray(column, np.float64) for name, column in columns.items() if name not in self.names}
        mean, scale = (
            [float(of(column)) if len(column) else 0.0 for column in others.values()] for of in (np.mean, np.std)
        )
        nothing = np.zeros(len(others))
        return replace(
            self,
            names=(*self.names, *others),
            mean=np.append(self.mean, mean),
            scale=np.append(self.scale, np.add(scale, LEAST_SCALE)),
            coefficients=np.append(self.coefficients, nothing),
            prior=np.append(self.prior, nothing),
            kinds=np.pad(self.kinds, ((0, 0), (0, len(others)))),
        )

    def _sure(self, columns: "Mapping[str, Column]", some: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
        """Return those of some pairs that the generic matcher is sure of, and what it says of them.

        Questions are about doubtful pairs alone, so without these nothing would hold the coefficients elsewhere.
        """
        rows = self._rows({name: columns[name][some] for name in self.names})
        expected = np.asarray(expit(rows @ self.prior), np.float64)
        sure = np.abs(expected - 0.5) > 0.5 - UNSURE
        return some[sure], expected[sure]

    def to_json(self) -> dict[str, Any]:
        """Return names and numbers, to `DIGITS` digits."""
        numbers = {name: _rounded(getattr(self, name)) for name in ("mean", "scale", "coefficients", "kinds")}
        moved = {} if np.array_equal(self.coefficients, self.prior) else {"prior": _rounded(self.prior)}
        return {"names": list(self.names), **numbers, **moved, "spread": self.spread}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Invert `to_json`.

        Raises:
            ValueError: if numbers are missing, too many, or not finite.
        """
        try:
            names = tuple(map(str, stored["names"]))
            mean, scale, coefficients, kinds = (
                np.asarray(stored[name], np.float64) for name in ("mean", "scale", "coefficients", "kinds")
            )
            prior = np.asarray(stored.get("prior", coefficients), np.float64)
            kinds, spread = kinds.reshape(-1, len(names) + 1), float(stored["spread"])
            found = cls(names, mean, scale, coefficients, prior, kinds, spread)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"expected the numbers of a matcher, as to_json gives them: {error}") from error
        shapes = [each.shape for each in (mean, scale, coefficients[1:], prior[1:])]
        if shapes != [(len(names),)] * 4 or not len(coefficients) == len(prior) == len(names) + 1:
            raise ValueError(f"expected numbers for {len(names)} features and an intercept, got {len(coefficients)}")
        if not all((np.abs(part) <= LARGEST).all() for part in (mean, scale, coefficients, prior, kinds, spread)):
            raise ValueError(f"expected finite numbers up to {LARGEST:g}, some are NaN, infinite or larger")
        if not (np.append(scale, spread) >= 1 / LARGEST).all():
            raise ValueError(f"expected scales and a spread of at least {1 / LARGEST:g}, got {min(*scale, spread):g}")
        return found

    def _require(self, columns: "Mapping[str, Column]") -> None:
        if missing := [name for name in self.names if name not in columns]:
            raise ValueError(f"expected columns of all features of the matcher, there is no {', '.join(missing)}")

    def _rows(self, columns: "Mapping[str, Column]") -> Floats:
        """Return (P, F + 1) standardised, after a column of ones."""
        self._require(columns)
        rows = np.column_stack([columns[name] for name in self.names]).astype(np.float64)
        return np.column_stack([np.ones(len(rows)), (rows - self.mean) / self.scale])


def anchors(count: int) -> NDArray[np.int64]:
    """Return positions of at most `ANCHORS` pairs that are spread over so many."""
    return np.unique(np.linspace(0, count - 1, min(count, ANCHORS)).astype(np.int64))


def _rounded(numbers: Floats) -> Any:
    return np.vectorize(lambda number: float(f"{round(number, DECIMALS):.{DIGITS}g}") + 0.0, otypes=[float])(
        numbers
    ).tolist()
