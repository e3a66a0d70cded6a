"""Ensemble: the score of a pair is a weighted sum of several trained models' calibrated log-odds.

Lakshminarayanan, Pritzel and Blundell, Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles,
NeurIPS 2017 (arXiv:1612.01474). There, probabilities are averaged; here log-odds, which keep the sum a dot product
where the members' scores are. With slope aᵢ and intercept bᵢ of member i, chosen on validation, and its score sᵢ:

    s = Σᵢ wᵢ (aᵢ sᵢ + bᵢ) + c

The mean has wᵢ = 1 / M and c = 0. Stacking by logistic regression fits wᵢ >= 0 and c on validation
(`twicetold_lab.scoring.stacking`). Where a member judges a pair by features of both texts, as `matcher` does, the sum
may have a weight for each of these as well, so that the member is a second stage of the others.

Where the members' scores are dot products of search vectors uᵢ and vᵢ, those of the ensemble stand side by side,
√(wᵢ aᵢ) uᵢ and √(wᵢ aᵢ) vᵢ: their dot product is s without the constant Σᵢ wᵢ bᵢ + c. Documents are scored by it alone.
In cross-fitting a text has the weights of its fold, so a pair of two folds has their geometric means; the pairs of one
cluster are all within a fold.

Shape letters: M members, P pairs, N texts, D columns of the search vectors, K folds, F features of a pair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.inputs import described, is_number
from twicetold.evaluation.labels import Decisions
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.reading import EncodedTexts, ReadTexts, RowsOf
from twicetold.trained.scoring import TrainedModel

Stacking: TypeAlias = Literal["mean", "logistic", "features"]
"""How the members' weights are chosen."""


@dataclass(frozen=True)
class Weights:
    """Weights of an ensemble's members.

    Args:
        members: (M,) of each member's score.
        intercept: added to the weighted sum.
        features: (F,) of the features of a pair, of any sign; none unless they are stacked.

    Raises:
        ValueError: if a number is not finite, a weight is below 0, or all weights are 0.
    """

    members: tuple[float, ...]
    intercept: float = 0.0
    features: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        numbers = (*self.members, self.intercept, *self.features)
        if wrong := [n for n in numbers if not is_number(n)]:
            raise ValueError(f"expected finite numbers as weights and intercept, got {described(wrong[0])}")
        if not self.members or min(self.members) < 0 or not any(self.members):
            raise ValueError(f"expected weights of at least 0, not all of them 0, got {list(self.members)!r:.80}")

    @classmethod
    def mean(cls, members: int) -> "Weights":
        """Return the same weight for each member, 1 in total."""
        return cls((1 / members,) * members)


@dataclass(frozen=True)
class ReadByMembers:
    """A `scoring.ReadTexts` of an ensemble.

    Args:
        texts: by member.
        decisions: by member.
        as_documents: whether scores are the dot products alone, without the constant.
        weights: of the members, for each fold; one where nothing is cross-fitted.
        fold: (N,) of each text; None: the first.
    """

    texts: Sequence[ReadTexts]
    decisions: Sequence[Decision]
    as_documents: bool
    weights: Sequence[Weights]
    fold: NDArray[np.int64] | None = None

    @property
    def score_is_dot_product(self) -> bool:
        """True if the score of every member is, so that of the ensemble is, up to the constant."""
        return all(texts.score_is_dot_product for texts in self.texts)

    @property
    def searchable(self) -> bool:
        """True if there are search vectors: only if the scores of all members are dot products."""
        return self.score_is_dot_product

    def log_odds(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (P, M) calibrated log-odds of each member."""
        found = np.empty((len(left), len(self.texts)))
        for column, (texts, decision) in enumerate(zip(self.texts, self.decisions, strict=True)):
            intercept = 0.0 if self.as_documents else decision.intercept
            found[:, column] = decision.slope * texts.score(left, right).astype(np.float64) + intercept
        return found

    def pair_features(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (P, F) features of each pair, of all members that have some."""
        own = (texts.pair_features(left, right) for texts in self.texts if isinstance(texts, EncodedTexts))
        return np.concatenate([np.empty((len(left), 0), np.float32), *own], axis=1)

    def score(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (P,) weighted sum of the members' log-odds, and of features of the pairs if they have weights."""
        roots = np.sqrt([weights.members for weights in self.weights])
        constants = np.array([0.0 if self.as_documents else weights.intercept for weights in self.weights])
        one, other = self._fold_of(left), self._fold_of(right)
        total = np.einsum("pm,pm->p", self.log_odds(left, right), roots[one] * roots[other])
        if self.weights[0].features:
            mine = np.array([weights.features for weights in self.weights])
            total += np.einsum("pf,pf->p", self.pair_features(left, right), (mine[one] + mine[other]) / 2)
        return np.asarray(total + (constants[one] + constants[other]) / 2, np.float32)

    def search_matrices(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """Return (N, D) the members' search vectors side by side, as queries and as documents.

        Raises:
            TypeError: if the score of a member is not a dot product.
        """
        queries, documents = zip(*self.members_matrices(texts), strict=True)
        side = self._side_by_side(queries, texts)
        same = all(query is document for query, document in zip(queries, documents, strict=True))
        return side, side if same else self._side_by_side(documents, texts)

    def members_matrices(self, texts: NDArray[np.int64]) -> list[tuple[Matrix, Matrix]]:
        """Return the search vectors of each member, as queries and as documents.

        Raises:
            TypeError: if the score of a member is not a dot product.
        """
        if not self.searchable:
            raise TypeError(
                "this ensemble scores pairs only: the scores of a member are not dot products of search vectors, so "
                "there is no vector per text"
            )
        return [read.search_matrices(texts) for read in self.texts]

    def keeping(self, texts: NDArray[np.int64]) -> "ReadByMembers":
        """Let each member keep the search vectors of these texts, if there are any."""
        if not self.searchable:
            return self
        return replace(self, texts=[read.keeping(texts) for read in self.texts])

    def _side_by_side(self, matrices: Sequence[Matrix], texts: NDArray[np.int64]) -> Matrix:
        """Return each member's vectors times √(wᵢ aᵢ); those of weight 0 are left out."""
        slopes = [decision.slope for decision in self.decisions]
        scales = np.sqrt([np.multiply(weights.members, slopes) for weights in self.weights])
        rows = scales[self._fold_of(texts)].astype(np.float32)
        scaled = [_scaled(matrix, rows[:, [m]]) for m, matrix in enumerate(matrices) if scales[:, m].any()]
        if all(isinstance(matrix, np.ndarray) for matrix in scaled):
            return np.concatenate(scaled, axis=1)
        return sp.hstack([sp.csr_matrix(matrix) for matrix in scaled], format="csr")

    def _fold_of(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.zeros(len(texts), np.int64) if self.fold is None else self.fold[texts]


@dataclass(frozen=True)
class Ensemble(TrainedModel):
    """Trained models by name, with a threshold and calibration for the weighted sum of their log-odds.

    Args:
        members: by name, at least two.
        decision: threshold and calibration of the ensemble's score, about the primary label.
        as_documents: whether the decision was chosen on documents.
        weights: of the members, in their order; None: the mean.
        by_label: of documents, the decision about each label.

    Raises:
        ValueError: if there are fewer than two members, there is not one weight for each or for each of their features,
            or the calibration of one has a slope of 0 or less.
    """

    members: Mapping[str, TrainedModel]
    decision: Decision
    as_documents: bool
    weights: Weights | None = None
    by_label: Decisions | None = None

    def __post_init__(self) -> None:
        check_members(self.members)
        if self.weights is not None and len(self.weights.members) != len(self.members):
            raise ValueError(
                f"expected one weight for each of the {len(self.members)} members, got {len(self.weights.members)}"
            )
        if wanted := len(self.stacked.features):
            found = self.read(["a text", "another"]).pair_features(np.array([0]), np.array([1])).shape[1]
            if found != wanted:
                raise ValueError(f"expected one weight for each of {found} features of the members, got {wanted}")

    @property
    def stacked(self) -> Weights:
        """The weights of the members, in their order."""
        return self.weights or Weights.mean(len(self.members))

    def read(self, texts: Sequence[str]) -> ReadByMembers:
        """Prepare new texts for scoring by each member."""
        return _read_by(self.members, [member.read(texts) for member in self.members.values()], self.stacked)

    def read_corpus(self, rows_of: RowsOf) -> ReadByMembers:
        """Prepare all texts of a corpus for scoring by each member."""
        return read_corpus_by(self.members, rows_of, self.stacked)


def read_corpus_by(members: Mapping[str, TrainedModel], rows_of: RowsOf, weights: Weights) -> ReadByMembers:
    """Return the corpus read by each member, which finds its rows under its name."""

    def rows_for(name: str) -> RowsOf:
        return lambda featuriser, inner: rows_of(featuriser, f"{name}-{inner}" if inner else name)

    return _read_by(members, [member.read_corpus(rows_for(name)) for name, member in members.items()], weights)


def _read_by(members: Mapping[str, TrainedModel], texts: Sequence[ReadTexts], weights: Weights) -> ReadByMembers:
    models = list(members.values())
    return ReadByMembers(texts, [model.decision for model in models], models[0].as_documents, [weights])


def _scaled(matrix: Matrix, rows: NDArray[np.float32]) -> Matrix:
    """Return a dense matrix or a CSR one, each row times a number."""
    if isinstance(matrix, np.ndarray):
        return matrix * rows
    return sp.csr_matrix(matrix.multiply(rows))


def check_members(members: Mapping[str, TrainedModel]) -> None:
    """Check that members can make an ensemble.

    Raises:
        ValueError: if there are fewer than two, or the calibration of one has a slope of 0 or less.
    """
    if len(members) < 2:
        raise ValueError(f"an ensemble has at least two members of different names; got {list(members)}")
    for name, member in members.items():
        if member.decision.slope <= 0:
            raise ValueError(
                f"on validation, a higher score of the ensemble's member {name} is not more alike (slope "
                f"{member.decision.slope:.4g}): train it longer, or leave it out"
            )


def constant(model: TrainedModel) -> float:
    """Return the score of a pair minus the dot product of its vectors, where it is one; see above."""
    if not isinstance(model, Ensemble):
        return 0.0
    members, stacked = list(model.members.values()), model.stacked
    dots = members[0].as_documents
    each = [m.decision.slope * constant(m) + (0 if dots else m.decision.intercept) for m in members]
    weighted = sum(weight * value for weight, value in zip(stacked.members, each, strict=True))
    return weighted + (0 if dots else stacked.intercept)
