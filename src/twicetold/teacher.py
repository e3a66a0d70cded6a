"""A trained model from a run folder as a teacher for self-training: its vectors and probabilities for a corpus.

Shape letters: M texts, P pairs, D columns of the search vectors.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.features.cache import inputs_of
from twicetold.features.rows import CsrRows
from twicetold.model_folder import load_scorer, trained_on
from twicetold.scoring import Matrix, Scorer, score_pairs, search_matrices


@dataclass(frozen=True)
class TrainedTeacher:
    """Implements `mining.teacher.Teacher`: a trained model and the feature rows of a corpus."""

    scorer: Scorer
    rows: CsrRows

    @classmethod
    def load(cls, model: Path, corpus: Corpus) -> "TrainedTeacher":
        """Read the model that training wrote, and make its feature rows of the corpus.

        Raises:
            FileNotFoundError: if there is no trained model.
            ValueError: if it was trained on another train split of this corpus, so that it knows held-out texts.
        """
        scorer = load_scorer(model)
        data = trained_on(model)
        if data.get("name") == corpus.name and data["train"] != corpus.train_digest():
            raise ValueError(
                f"{model} was trained on another train split of {corpus.name} than the one that is there now, so it "
                "knows texts that are held out: train it again"
            )
        inputs = inputs_of(scorer.featuriser, corpus, np.arange(len(corpus)))
        return cls(scorer, scorer.featuriser.transform(inputs))

    def vectors(self, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """(M, D) search vectors of texts, as queries and as documents.

        Raises:
            TypeError: if the family cannot embed a text alone.
        """
        return search_matrices(self.scorer.encoder, self.rows, texts)

    def similarity(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """(P,) dot products of the search vectors."""
        return score_pairs(self.scorer.encoder, self.rows, left, right, as_documents=True)

    def probability(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        """(P,) probability, calibrated on validation, that two texts say the same."""
        score = score_pairs(self.scorer.encoder, self.rows, left, right, as_documents=self.scorer.as_documents)
        return self.scorer.decision.probability(score)
