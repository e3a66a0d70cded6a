"""A model by whose similarity texts are grouped."""

from dataclasses import replace

import pytest

import twicetold
from twicetold.evaluation.decision import Decision
from twicetold.use.model import Model


@pytest.fixture(scope="session")
def by_similarity():
    """From texts to a lexical model of them that is not without labels, so that groups are by its similarity."""

    def fitted(texts, threshold):
        model = twicetold.fit(texts, lexical=True)
        return Model(
            replace(model.trained, decision=Decision(threshold, 10.0, -10 * threshold), by_label=None), model.folder
        )

    return fitted
