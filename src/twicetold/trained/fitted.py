"""A model that needs no training: fitted to the texts that it is to compare, without labels.

The score of a pair is the weighted mean of cosines,

    s = Σᵢ wᵢ ⟨uᵢ, vᵢ⟩        Σᵢ wᵢ = 1

of the letter trigrams within words and of whole words, both by TF-IDF over these texts. It is an ensemble, so there is
one search vector for a text, and all that is done with models can be done with it. What it cannot do is promise:
its threshold is a guess (`evaluation.unlabelled`), and it gives no verdict until it is calibrated on labelled pairs.

Shape letters: n texts, R sampled ones.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.labels import Decisions, LabelDecision
from twicetold.evaluation.stacking import Weights
from twicetold.evaluation.unlabelled import guess
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.ensemble import Ensemble
from twicetold.trained.model_folder import construct, save_ensemble
from twicetold.trained.saving import save_scorer
from twicetold.trained.scoring import Scorer
from twicetold.trained.vectors import search_vectors

MEANING = "meaning"  # the label: what two texts share that say the same
SAMPLED, HELD = 1000, 16_000_000  # texts that are compared with all, and similarities that are held (64 MB)
METRIC = "none"  # nothing was measured
SEED = 0
COSINE = Decision(0.0, 1.0, 0.0)  # of a member: its score stays a cosine


@dataclass(frozen=True)
class Part:
    """A way of comparing texts.

    Args:
        features: configuration of the featuriser.
        encoder: configuration of the encoder.
        weight: of its cosine.
    """

    features: dict[str, Any]
    encoder: dict[str, Any]
    weight: float


_LETTER_TFIDF = "twicetold.features.letter_tfidf.LetterTfIdf"
_COSINE = {"_target_": "twicetold.models.tfidf.TfIdfCosine"}
# docs/experiments/default-dedupe.md: trigrams group better than 4-grams, and 0.7 is as good as 0.5 and 1.
LETTERS_AND_WORDS = {
    "letters": Part({"_target_": _LETTER_TFIDF, "letters": 3}, _COSINE, 0.7),
    "words": Part({"_target_": _LETTER_TFIDF, "letters": 0, "words": 1}, _COSINE, 0.3),
}
EXPONENT = 0.64  # of unrelated pairs, `evaluation.unlabelled`; the same page


def fit_to(texts: Sequence[str]) -> Ensemble:
    """Fit to distinct texts.

    Raises:
        ValueError: if there is no text, or no word in them.
    """
    if not texts:
        raise ValueError("there are no texts to fit to")
    parts = LETTERS_AND_WORDS
    members = {name: _member(part, texts) for name, part in parts.items()}
    weights = Weights(tuple(part.weight for part in parts.values()))
    fitted = Ensemble(members, COSINE, as_documents=True, weights=weights)
    decision = guess(_sample(search_vectors(fitted, texts)[0]), exponent=EXPONENT)
    about = LabelDecision(MEANING, decision, unlabelled=True)
    return Ensemble(members, decision, True, weights, Decisions({MEANING: about}, MEANING, MEANING))


def save_fitted_to(folder: Path, fitted: Ensemble, texts: Sequence[str], *, name: str) -> None:
    """Write it to `folder`, as any ensemble.

    Args:
        folder: the model folder.
        fitted: what `fit_to` gave.
        texts: that it was fitted to.
        name: of these texts, such as that of their file.
    """
    data = {"name": name, "train": hashlib.sha256("\0".join(texts).encode()).hexdigest()}
    training = {"parameters": 0, "metric": METRIC, "epochs": 0, "best_epoch": 0, "best_value": 0.0, "precision": None}
    with TemporaryDirectory() as temporary:
        places = {name: Path(temporary, name) for name in fitted.members}
        for name, member in fitted.members.items():
            part = LETTERS_AND_WORDS[name]
            assert isinstance(member, Scorer)
            save_scorer(
                places[name], member, features=part.features, encoder=part.encoder, data=data, training=training
            )
        save_ensemble(folder, fitted, places, thresholds=None, metric=METRIC, value=0.0, data=data)


def _member(part: Part, texts: Sequence[str]) -> Scorer:
    featuriser = construct(part.features, "features").fit(texts)
    encoder = construct(part.encoder, "models", **featuriser.shape).eval()
    return Scorer(featuriser, encoder, COSINE, as_documents=True)


def _sample(vectors: Matrix) -> NDArray[np.float32]:
    """(R, n) similarities of a sample of texts to all; NaN to themselves."""
    count = vectors.shape[0]
    rows = np.sort(np.random.default_rng(SEED).choice(count, min(count, SAMPLED, 1 + HELD // count), replace=False))
    found = vectors[rows] @ vectors.T
    similarity = np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), np.float32)
    similarity[np.arange(len(rows)), rows] = np.nan
    return similarity
