"""A trained model from a run folder as a teacher for self-training."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold.trained.model_folder import load_scorer, trained_on
from twicetold.trained.reading import in_use, score_pairs
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.teacher import Teacher
from twicetold_lab.scoring.cache import inputs_of


def load_teacher(model: Path, corpus: Corpus) -> Teacher:
    """Load the model that training wrote, and compute its feature rows of the corpus.

    The teacher's `vectors` raises a TypeError if the family cannot embed a single text.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if it was trained on another train split of this corpus, and so on held-out texts.
    """
    scorer = load_scorer(model)
    data = trained_on(model)
    if data.get("name") == corpus.name and data["train"] != corpus.train_digest():
        raise ValueError(
            f"{model} was trained on another train split of {corpus.name} than the one that is there now, so it "
            "knows texts that are held out: train it again"
        )
    rows = scorer.featuriser.transform(inputs_of(scorer.featuriser, corpus, np.arange(len(corpus))))

    def probability(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        return scorer.decision.probability(
            score_pairs(scorer.encoder, rows, left, right, as_documents=scorer.as_documents)
        )

    return Teacher(vectors=partial(in_use(scorer.encoder).search_matrices, rows), probability=probability)
