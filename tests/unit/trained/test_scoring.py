"""Scoring with families whose score is not a dot product, and building a model from its saved configuration."""

import numpy as np
import pytest
import torch

from twicetold.evaluation.decision import Decision
from twicetold.features.word_hashing import WordHashing
from twicetold.models.dssm_mlp import DssmMlp
from twicetold.trained.reading import in_use, score_pairs
from twicetold.trained.scoring import Scorer

TEXTS = ["good day to you", "good night", "night and day"]
DECISION = Decision(0.5, 1.0, 0.0)


@pytest.fixture
def compared():
    featuriser = WordHashing().fit(TEXTS)
    torch.manual_seed(0)
    settings = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0}
    return featuriser, DssmMlp(
        **featuriser.shape, hidden=[8], embedding=4, own=2, init_std=None, head=[6], scale=5.0, **settings
    )


def test_a_family_with_a_network_is_scored_by_it_on_pairs_and_by_its_vectors_on_documents(compared):
    featuriser, encoder = compared
    by_network = Scorer(featuriser, encoder, DECISION).score(TEXTS[:2], TEXTS[1:])
    by_vectors = Scorer(featuriser, encoder, DECISION, as_documents=True).score(TEXTS[:2], TEXTS[1:])
    rows = featuriser.transform(TEXTS)
    np.testing.assert_allclose(score_pairs(encoder, rows, np.array([0, 1]), np.array([1, 2])), by_network, rtol=1e-5)
    vectors, _ = in_use(encoder).search_matrices(rows, np.arange(3))
    np.testing.assert_allclose((vectors[:2] * vectors[1:]).sum(1), by_vectors, rtol=1e-5)
    assert not np.allclose(by_network, by_vectors)


def test_one_text_is_no_list_of_texts_and_no_texts_have_no_scores(compared):
    scorer = Scorer(*compared, DECISION)
    for ask in (scorer.embed, lambda text: scorer.score(text, text)):
        with pytest.raises(TypeError, match=r"expected a list of texts, got one text: put it in a list, \['abc'\]"):
            ask("abc")
    assert scorer.score([], []).shape == (0,)
