"""Ensemble: the score of a pair is the mean of several trained models' calibrated log-odds.

Lakshminarayanan, Pritzel and Blundell, Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles,
NeurIPS 2017 (arXiv:1612.01474). There, probabilities are averaged; here log-odds, which keep the mean a dot product
where the members' scores are. With slope aᵢ and intercept bᵢ of member i, chosen on validation, and its score sᵢ:

    s = Σᵢ (aᵢ sᵢ + bᵢ) / M

Where the members' scores are dot products of search vectors uᵢ and vᵢ, those of the ensemble stand side by side,
√(aᵢ / M) uᵢ and √(aᵢ / M) vᵢ: their dot product is s without the constant Σᵢ bᵢ / M. Documents are scored by it alone.

Shape letters: M members, P pairs, N texts, D columns of the search vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.dedupe import Chosen
from twicetold.evaluation.selection import Selection
from twicetold.scoring import ReadTexts, RowsOf, TrainedModel, choose_for_dedupe, evaluation_inputs
from twicetold.search import Matrix


@dataclass(frozen=True)
class ReadByMembers:
    """A `scoring.ReadTexts` of an ensemble.

    Args:
        texts: by member.
        decisions: by member.
        as_documents: whether scores are the dot products alone, without the constant.
    """

    texts: Sequence[ReadTexts]
    decisions: Sequence[Decision]
    as_documents: bool

    @property
    def score_is_dot_product(self) -> bool:
        """Whether the score of every member is, so that of the ensemble is, up to the constant."""
        return all(texts.score_is_dot_product for texts in self.texts)

    @property
    def searchable(self) -> bool:
        """Whether there are search vectors: only if the scores of all members are dot products."""
        return self.score_is_dot_product

    def score(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """(P,) mean of the members' log-odds."""
        total = np.zeros(len(left))
        for texts, decision in zip(self.texts, self.decisions, strict=True):
            intercept = 0.0 if self.as_documents else decision.intercept
            total += decision.slope * texts.score(left, right).astype(np.float64) + intercept
        return (total / len(self.texts)).astype(np.float32)

    def search_matrices(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """(N, D) the members' search vectors side by side, as queries and as documents.

        Raises:
            TypeError: if the score of a member is not a dot product.
        """
        if not self.searchable:
            raise TypeError(
                "this ensemble scores pairs only: the scores of a member are not dot products of search vectors, so "
                "there is no vector per text"
            )
        queries, documents = zip(*(read.search_matrices(texts) for read in self.texts), strict=True)
        side = self._side_by_side(queries)
        same = all(query is document for query, document in zip(queries, documents, strict=True))
        return side, side if same else self._side_by_side(documents)

    def keeping(self, texts: NDArray[np.int64]) -> "ReadByMembers":
        """Let each member keep the search vectors of these texts, if there are any."""
        if not self.searchable:
            return self
        return replace(self, texts=[read.keeping(texts) for read in self.texts])

    def _side_by_side(self, matrices: Sequence[Matrix]) -> Matrix:
        weights = [np.float32((decision.slope / len(self.decisions)) ** 0.5) for decision in self.decisions]
        scaled = [matrix * weight for matrix, weight in zip(matrices, weights, strict=True)]
        if all(isinstance(matrix, np.ndarray) for matrix in scaled):
            return np.concatenate(scaled, axis=1)
        return sp.hstack([sp.csr_matrix(matrix) for matrix in scaled], format="csr")


@dataclass(frozen=True)
class Ensemble(TrainedModel):
    """Trained models by name, with a threshold and calibration for their mean log-odds.

    Args:
        members: by name, at least two.
        decision: threshold and calibration of the ensemble's score.
        as_documents: whether the decision was chosen on documents.

    Raises:
        ValueError: if there are fewer than two members, or the calibration of one has a slope of 0 or less.
    """

    members: Mapping[str, TrainedModel]
    decision: Decision
    as_documents: bool

    def __post_init__(self) -> None:
        _check(self.members)

    def read(self, texts: Sequence[str]) -> ReadByMembers:
        """Prepare new texts for scoring by each member."""
        return _read_by(self.members, [member.read(texts) for member in self.members.values()])

    def read_corpus(self, rows_of: RowsOf) -> ReadByMembers:
        """Prepare all texts of a corpus for scoring by each member."""
        return _read_corpus_by(self.members, rows_of)


def make_ensemble(
    members: Mapping[str, TrainedModel], corpus: Corpus, selection: Selection, rows_of: RowsOf
) -> tuple[Ensemble, Chosen | None, str, float]:
    """Choose an ensemble's decision, and thresholds for a dedupe, on validation; the test split is not read.

    Args:
        members: trained models by name, each calibrated on the same validation split.
        corpus: the data.
        selection: primary metric and bins.
        rows_of: gives the feature rows of the corpus.

    Returns:
        The ensemble, thresholds for a dedupe (see `choose_for_dedupe`), the name of the primary metric and its value on
        validation.

    Raises:
        ValueError: as `Ensemble` does.
    """
    _check(members)
    read = _read_corpus_by(members, rows_of).keeping(corpus.members["val"])
    inputs = evaluation_inputs(read, corpus, "val")
    metric, value = selection.primary_value(corpus.kind, inputs)
    decision = selection.decide(corpus.kind, inputs, positive_grade=corpus.card.get("positive_grade"))
    thresholds = choose_for_dedupe(read, corpus, selection)
    return Ensemble(members, decision, corpus.kind == "documents"), thresholds, metric, value


def _read_corpus_by(members: Mapping[str, TrainedModel], rows_of: RowsOf) -> ReadByMembers:
    def rows_for(name: str) -> RowsOf:
        return lambda featuriser, inner: rows_of(featuriser, f"{name}-{inner}" if inner else name)

    return _read_by(members, [member.read_corpus(rows_for(name)) for name, member in members.items()])


def _read_by(members: Mapping[str, TrainedModel], texts: Sequence[ReadTexts]) -> ReadByMembers:
    models = list(members.values())
    return ReadByMembers(texts, [model.decision for model in models], models[0].as_documents)


def _check(members: Mapping[str, TrainedModel]) -> None:
    if len(members) < 2:
        raise ValueError(f"an ensemble has at least two members of different names; got {list(members)}")
    for name, member in members.items():
        if member.decision.slope <= 0:
            raise ValueError(
                f"on validation, a higher score of the ensemble's member {name} is not more alike (slope "
                f"{member.decision.slope:.4g}): train it longer, or leave it out"
            )
