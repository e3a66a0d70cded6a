"""What terms add to a score: they sum to it, for every linear family."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from twicetold.evaluation.decision import Decision
from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.bm25 import Bm25Weights
from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.tfidf import TfIdf
from twicetold.features.tokens import Words
from twicetold.features.word_grams import WordGrams
from twicetold.interpretation.contributions import (
    CONSTANT,
    Explanation,
    explain,
    explanation_text,
    linear_families,
)
from twicetold.models.binary_count import BinaryCountCosine
from twicetold.models.bm25 import SymmetricBm25
from twicetold.models.dae import DenoisingAutoencoder
from twicetold.models.fasttext import FastText
from twicetold.models.film import Film
from twicetold.models.static import Static
from twicetold.models.tfidf import TfIdfCosine
from twicetold.models.word2vec import Word2Vec
from twicetold.trained.ensemble import Ensemble, Weights
from twicetold.trained.scoring import Scorer

TRAIN = ["the cat sat on the mat", "a cat ran to the dog", "the dog sat", "no mat for a dog"]
LEFT, RIGHT = "the cat and the dog sat", "a dog sat on the dog"
CASES = {
    "tfidf": (TfIdf(), TfIdfCosine),
    "binary_count": (BagOfWords(stop_words=None), BinaryCountCosine),
    "bm25": (Bm25Weights(), SymmetricBm25),
    "word2vec": (Words(counted=True), lambda **shape: Word2Vec(**shape, embedding=6, remove_components=0)),
    "word2vec_sif": (
        Words(counted=True, sif_a=1e-3),
        lambda **shape: Word2Vec(**shape, embedding=6, remove_components=1),
    ),
    "film": (TfIdf(), lambda **shape: Film(**shape, hidden=4)),
    "static": (TfIdf(), lambda **shape: Static(**shape, embedding=4, init_std=0.1, input_dropout=0.0)),
    "fasttext": (WordGrams(sif_a=1e-3), lambda **shape: FastText(**shape, embedding=6, remove_components=1)),
}


def scorer_of(name):
    featuriser, family = CASES[name]
    featuriser.fit(TRAIN)
    torch.manual_seed(0)
    encoder = family(**featuriser.shape).eval()
    if hasattr(encoder, "settle"):
        rows = featuriser.transform(TRAIN)
        with torch.no_grad():
            encoder.settle([rows.gather(np.arange(len(rows)))])
    return Scorer(featuriser, encoder, Decision(0.5, 1.0, 0.0))


@pytest.mark.parametrize("name", CASES)
def test_contributions_sum_to_the_score(name):
    scorer = scorer_of(name)
    found = explain(scorer, LEFT, RIGHT)
    assert found.score == pytest.approx(scorer.score([LEFT], [RIGHT])[0])
    assert found.contribution.shape == (len(found.left), len(found.right))
    assert found.contribution.sum() == pytest.approx(found.score, abs=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_other_way_round_is_the_same_transposed(name):
    one, other = explain(scorer_of(name), LEFT, RIGHT), explain(scorer_of(name), RIGHT, LEFT)
    order = [one.left.index(term) for term in other.right], [one.right.index(term) for term in other.left]
    np.testing.assert_allclose(other.contribution.T, one.contribution[np.ix_(*order)], atol=1e-6)


@pytest.mark.parametrize("name", ["tfidf", "binary_count", "bm25"])
def test_lexical_families_see_nothing_but_words_that_both_texts_have(name):
    found = explain(scorer_of(name), LEFT, RIGHT)
    assert {(left, right) for left, right, _ in found.largest(99)} == {(w, w) for w in ("the", "dog", "sat")}


def test_a_contribution_is_the_product_of_weights_and_vectors():
    scorer = scorer_of("word2vec")
    found = explain(scorer, "cat dog cat", "mat")
    vectors = dict(zip(scorer.featuriser.get_feature_names_out(), scorer.encoder.table.detach().numpy()))
    left, right = 2 * vectors["cat"] + vectors["dog"], vectors["mat"]
    expected = np.array([2 * vectors["cat"] @ right, vectors["dog"] @ right])
    assert found.left == ("cat", "dog")
    np.testing.assert_allclose(
        found.contribution[:, 0], expected / np.linalg.norm(left) / np.linalg.norm(right), rtol=1e-5
    )


def test_a_family_that_is_not_linear_is_answered_with_those_that_are():
    featuriser = BagOfWords(stop_words=None).fit(TRAIN)
    dae = DenoisingAutoencoder(
        **featuriser.shape,
        hidden=3,
        activation="tanh",
        corruption="masking",
        corruption_level=0.1,
        decay_when_encoding=False,
    )
    scorer = Scorer(featuriser, dae, Decision(0.5, 1.0, 0.0))
    with pytest.raises(TypeError, match=r"DenoisingAutoencoder.*not linear.*bm25.*tfidf"):
        explain(scorer, LEFT, RIGHT)
    with pytest.raises(TypeError, match="the scores of DenoisingAutoencoder are not sums over terms"):
        explain(Ensemble({"tfidf": scorer_of("tfidf"), "dae": scorer}, scorer.decision, False), LEFT, RIGHT)


def test_linear_families_are_named_by_their_recipes():
    recipes = {path.stem for path in (Path(__file__).parents[3] / "conf/model").glob("*.yaml")}
    assert {"tfidf", "bm25", "binary_count", "glove_mean", "word2vec", "fasttext"} <= set(linear_families()) <= recipes
    assert "dae" not in linear_families()
    page = (Path(__file__).parents[3] / "docs/guides/explaining-a-score.md").read_text()
    listed = page.split("## Supported families")[1].split("linear_maps` (")[1].split(";")[0].split(": ")[1]
    assert sorted(listed.replace("`", "").split(", ")) == linear_families()


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (" ", RIGHT, "the left text is empty"),
        (LEFT, "", "the right text is empty"),
    ],
)
def test_texts_with_nothing_to_explain_are_errors(left, right, reason):
    with pytest.raises(ValueError, match=reason):
        explain(scorer_of("tfidf"), left, right)


@pytest.mark.parametrize("name", CASES)
def test_a_text_of_unknown_words_is_an_error_in_every_family(name):
    with pytest.raises(ValueError, match="no term of the right text is known"):
        explain(scorer_of(name), LEFT, "\u4e16\u754c")


FOUND = Explanation(("a", "$b"), ("c",), np.array([[0.5], [-0.125]]), 0.375)


def test_the_table_ends_with_the_rest_and_the_score():
    assert explanation_text(FOUND, most=1).splitlines() == [
        "contribution  left             right",
        "     +0.5000  a                c",
        "     -0.1250  (1 other pairs)",
        "     +0.3750  score",
    ]


def ensemble_of(*names, as_documents=False, weights=(0.7, 1.5)):
    members = {name: replace(scorer_of(name), as_documents=as_documents) for name in names}
    members = {n: replace(m, decision=Decision(0.5, 3.0 + i, -1.0)) for i, (n, m) in enumerate(members.items())}
    return Ensemble(members, Decision(0.0, 1.0, 0.0), as_documents, Weights(weights, -0.3))


@pytest.mark.parametrize("as_documents", [False, True])
@pytest.mark.parametrize("names", [("tfidf", "static"), ("bm25", "word2vec_sif")])
def test_contributions_of_an_ensemble_sum_to_its_score(names, as_documents):
    ensemble = ensemble_of(*names, as_documents=as_documents)
    found = explain(ensemble, LEFT, RIGHT)
    assert found.score == pytest.approx(ensemble.score([LEFT], [RIGHT])[0])
    assert found.contribution.sum() == pytest.approx(found.score, abs=1e-4)
    assert ((CONSTANT, CONSTANT) in {pair[:2] for pair in found.largest(999)}) == (not as_documents)


def test_terms_of_an_ensemble_are_named_after_their_member_and_add_nothing_with_those_of_another():
    found = explain(ensemble_of("tfidf", "static", as_documents=True), LEFT, RIGHT)
    assert {tuple(side.split(": ")[0] for side in pair[:2]) for pair in found.largest(999)} == {
        ("tfidf", "tfidf"),
        ("static", "static"),
    }
    alone = explain(scorer_of("tfidf"), LEFT, RIGHT)
    place = found.left.index("tfidf: dog"), found.right.index("tfidf: dog")
    expected = alone.contribution[alone.left.index("dog"), alone.right.index("dog")]
    assert found.contribution[place] == pytest.approx(0.7 * 3 * expected, rel=1e-5)


def test_a_member_that_knows_no_term_of_a_text_adds_nothing():
    featuriser = LetterTfIdf().fit(TRAIN)
    letters = Scorer(featuriser, TfIdfCosine(**featuriser.shape), Decision(0.0, 1.0, 0.0))
    members = {"words": scorer_of("tfidf"), "letters": letters}
    ensemble = Ensemble(members, Decision(0.0, 1.0, 0.0), as_documents=False)
    found = explain(ensemble, "catt dogg", "cat dog")
    assert found.contribution.sum() == pytest.approx(ensemble.score(["catt dogg"], ["cat dog"])[0], abs=1e-5)
    assert {left.split(":")[0] for left in found.left} == {"letters"}
    with pytest.raises(ValueError, match="no term of the left text is known"):
        explain(ensemble, "zzz", "cat dog")
