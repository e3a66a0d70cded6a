"""Models by whose similarity texts are grouped."""

from dataclasses import asdict

import pytest

import twicetold
from twicetold.evaluation.decision import Decision
from twicetold.files import write_json
from twicetold.trained.ensemble import Ensemble
from twicetold.use.model import Model


@pytest.fixture(scope="session")
def by_similarity():
    """From texts to a lexical model of them that is not without labels, so that groups are by its similarity."""

    def fitted(texts, threshold):
        model = twicetold.fit(texts, lexical=True)
        decision = Decision(threshold, 10.0, -10 * threshold)
        return Model(Ensemble(model.trained.members, decision, True, model.trained.weights), model.folder)

    return fitted


@pytest.fixture
def by_cosine(tmp_path):
    """From texts and vectors to a model of them by a decision file, so that groups are by their cosine."""
    decision = asdict(Decision(0.6, 10.0, -6.0))
    pairs = {"file": "pairs.csv", "count": 20}
    file = tmp_path / "cosine.json"
    write_json(file, {"calibration": {"pairs": pairs, "about": "meaning", "decision": decision}})
    return lambda texts, vectors: twicetold.fit(texts, vectors=vectors, decision=file)
