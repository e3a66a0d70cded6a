"""Ensemble: the score of a pair is a weighted sum of several trained models' calibrated log-odds.

Lakshminarayanan, Pritzel and Blundell, Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles,
NeurIPS 2017 (arXiv:1612.01474). There, probabilities are averaged; here log-odds, which keep the sum a dot product
where the members' scores are. With slope aᵢ and intercept bᵢ of member i, chosen on validation, and its score sᵢ:

    s = Σᵢ wᵢ (aᵢ sᵢ + bᵢ) + c

The mean has wᵢ = 1 / M and c = 0. Stacking by logistic regression fits wᵢ >= 0 and c on validation, and everything that
is chosen on validation afterwards is chosen on cross-fitted scores (`evaluation.stacking`).

Where the members' scores are dot products of search vectors uᵢ and vᵢ, those of the ensemble stand side by side,
√(wᵢ aᵢ) uᵢ and √(wᵢ aᵢ) vᵢ: their dot product is s without the constant Σᵢ wᵢ bᵢ + c. Documents are scored by it alone.
In cross-fitting a text has the weights of its fold, so a pair of two folds has their geometric means; the pairs of one
cluster are all within a fold.

Shape letters: M members, P pairs, N texts, D columns of the search vectors, K folds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.dedupe import Chosen
from twicetold.evaluation.inputs import UNKNOWN, finest_group
from twicetold.evaluation.labels import Decisions
from twicetold.evaluation.stacking import Weights, cross_fit, deal, fit_weights, pairs_of_documents
from twicetold.neighbours.grouping import components
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.scoring import ReadTexts, RowsOf, TrainedModel, evaluation_inputs
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.scoring.duplicates import choose_decisions, primary_value

Stacking: TypeAlias = Literal["mean", "logistic"]
"""How the members' weights are chosen."""


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
        """Whether the score of every member is, so that of the ensemble is, up to the constant."""
        return all(texts.score_is_dot_product for texts in self.texts)

    @property
    def searchable(self) -> bool:
        """Whether there are search vectors: only if the scores of all members are dot products."""
        return self.score_is_dot_product

    def log_odds(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        """(P, M) calibrated log-odds of each member."""
        found = np.empty((len(left), len(self.texts)))
        for column, (texts, decision) in enumerate(zip(self.texts, self.decisions, strict=True)):
            intercept = 0.0 if self.as_documents else decision.intercept
            found[:, column] = decision.slope * texts.score(left, right).astype(np.float64) + intercept
        return found

    def score(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """(P,) weighted sum of the members' log-odds."""
        roots = np.sqrt([weights.members for weights in self.weights])
        constants = np.array([0.0 if self.as_documents else weights.intercept for weights in self.weights])
        one, other = self._fold_of(left), self._fold_of(right)
        total = np.einsum("pm,pm->p", self.log_odds(left, right), roots[one] * roots[other])
        return np.asarray(total + (constants[one] + constants[other]) / 2, np.float32)

    def search_matrices(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """(N, D) the members' search vectors side by side, as queries and as documents.

        Raises:
            TypeError: if the score of a member is not a dot product.
        """
        queries, documents = zip(*self.members_matrices(texts), strict=True)
        side = self._side_by_side(queries, texts)
        same = all(query is document for query, document in zip(queries, documents, strict=True))
        return side, side if same else self._side_by_side(documents, texts)

    def members_matrices(self, texts: NDArray[np.int64]) -> list[tuple[Matrix, Matrix]]:
        """By member, its search vectors, as queries and as documents.

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
        """Each member's vectors times √(wᵢ aᵢ); those of weight 0 are left out."""
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
        ValueError: if there are fewer than two members, there is not one weight for each, or the calibration of one
            has a slope of 0 or less.
    """

    members: Mapping[str, TrainedModel]
    decision: Decision
    as_documents: bool
    weights: Weights | None = None
    by_label: Decisions | None = None

    def __post_init__(self) -> None:
        _check(self.members)
        if self.weights is not None and len(self.weights.members) != len(self.members):
            raise ValueError(
                f"expected one weight for each of the {len(self.members)} members, got {len(self.weights.members)}"
            )

    @property
    def stacked(self) -> Weights:
        """The weights of the members, in their order."""
        return self.weights or Weights.mean(len(self.members))

    def read(self, texts: Sequence[str]) -> ReadByMembers:
        """Prepare new texts for scoring by each member."""
        return _read_by(self.members, [member.read(texts) for member in self.members.values()], self.stacked)

    def read_corpus(self, rows_of: RowsOf) -> ReadByMembers:
        """Prepare all texts of a corpus for scoring by each member."""
        return _read_corpus_by(self.members, rows_of, self.stacked)


def make_ensemble(
    members: Mapping[str, TrainedModel],
    corpus: Corpus,
    selection: Selection,
    rows_of: RowsOf,
    *,
    stacking: Stacking = "mean",
) -> tuple[Ensemble, Chosen | None, str, float]:
    """Choose an ensemble's weights, decision and thresholds for a dedupe on validation; the test split is not read.

    Args:
        members: trained models by name, each calibrated on the same validation split.
        corpus: the data.
        selection: primary metric, bins and classes.
        rows_of: gives the feature rows of the corpus.
        stacking: `mean`, or `logistic` regression on the labels of validation.

    Returns:
        The ensemble, thresholds for a dedupe (see `choose_for_dedupe`), the name of the primary metric and its value on
        validation. Where weights are fitted, all but the weights are of cross-fitted scores.

    Raises:
        ValueError: as `Ensemble` does, if the weights cannot be fitted, or if `stacking` is unknown.
        TypeError: if documents are stacked, and a member has no vector per text.
    """
    _check(members)
    if stacking not in get_args(Stacking):
        raise ValueError(f"stacking must be one of {', '.join(get_args(Stacking))}; got {stacking!r}")
    read = _read_corpus_by(members, rows_of, Weights.mean(len(members))).keeping(corpus.members["val"])
    weights = None
    if stacking == "logistic":
        weights, read = _stack(read, corpus, selection)
    inputs = evaluation_inputs(read, corpus, "val")
    metric, value = primary_value(read, corpus, selection, inputs=inputs)
    decisions, thresholds = choose_decisions(read, inputs, corpus, selection)
    made = Ensemble(members, decisions.selected, corpus.kind == "documents", weights, decisions)
    return made, thresholds, metric, value


def _stack(read: ReadByMembers, corpus: Corpus, selection: Selection) -> tuple[Weights, ReadByMembers]:
    """Weights that are fitted on all of validation, and the corpus read with cross-fitted ones."""
    fold = np.zeros(len(corpus), np.int64)
    if corpus.kind == "documents":
        documents = corpus.members["val"]
        groups = {name: codes[documents] for name, codes in corpus.groups.items()}
        if (group := finest_group(groups, selection.classes)) is None:
            raise ValueError(
                f"stacking=logistic needs documents with a group of those that say the same, such as story; got "
                f"{sorted(groups)}, which are classes (evaluator.classes): use stacking=mean"
            )
        documents = documents[groups[group] != UNKNOWN]
        codes = corpus.groups[group][documents]
        fold[documents] = deal(codes)
        chosen = pairs_of_documents(codes, read.members_matrices(documents))
        left, right = documents[chosen.left], documents[chosen.right]
        label, weight = chosen.label, chosen.weight
    else:
        pairs, code = corpus.pairs["val"], corpus.text_codes()
        left, right = pairs.left, pairs.right
        cluster = components(len(corpus), code[left], code[right])[code]
        fold[corpus.members["val"]] = deal(cluster[corpus.members["val"]])
        label, weight = pairs.label >= corpus.positive_label, None
    log_odds = read.log_odds(left, right)
    fitted = fit_weights(log_odds, label, weight)
    by_fold = cross_fit(log_odds, label, (fold[left], fold[right]), weight)
    return fitted, replace(read, weights=by_fold, fold=fold)


def _read_corpus_by(members: Mapping[str, TrainedModel], rows_of: RowsOf, weights: Weights) -> ReadByMembers:
    def rows_for(name: str) -> RowsOf:
        return lambda featuriser, inner: rows_of(featuriser, f"{name}-{inner}" if inner else name)

    return _read_by(members, [member.read_corpus(rows_for(name)) for name, member in members.items()], weights)


def _read_by(members: Mapping[str, TrainedModel], texts: Sequence[ReadTexts], weights: Weights) -> ReadByMembers:
    models = list(members.values())
    return ReadByMembers(texts, [model.decision for model in models], models[0].as_documents, [weights])


def _scaled(matrix: Matrix, rows: NDArray[np.float32]) -> Matrix:
    """A dense matrix or a CSR one, each row times a number."""
    if isinstance(matrix, np.ndarray):
        return matrix * rows
    return sp.csr_matrix(matrix.multiply(rows))


def _check(members: Mapping[str, TrainedModel]) -> None:
    if len(members) < 2:
        raise ValueError(f"an ensemble has at least two members of different names; got {list(members)}")
    for name, member in members.items():
        if member.decision.slope <= 0:
            raise ValueError(
                f"on validation, a higher score of the ensemble's member {name} is not more alike (slope "
                f"{member.decision.slope:.4g}): train it longer, or leave it out"
            )
