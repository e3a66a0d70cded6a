"""What the model card says of how texts are read."""

from pathlib import Path

import pytest
import yaml

import twicetold
from twicetold.features.hashing_card import by_view, card, in_words
from twicetold_lab.reporting.model_card import model_card
from twicetold_lab.reporting.reading import reading

ROOT = Path(__file__).parents[4]
LETTERS = {"_target_": "twicetold.features.letter_tfidf.LetterTfIdf"}
WORDS = {"_target_": "twicetold.features.tokens.Words"}
CLEANED = {"_target_": "twicetold.features.cleaning.Cleaned", "featuriser": LETTERS, "nfkc": True, "lower_case": False}


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (LETTERS, "capitals make no difference; Unicode forms (NFD, full-width letters) do. Symbols are left out."),
        (CLEANED, "capitals make no difference; Unicode forms do not (NFKC). Symbols are left out."),
        ({**WORDS, "lower_case": False}, "As they are: capitals make a difference"),
        ({**WORDS, "lower_case": True}, "In lower case: capitals make no difference"),
        ({"_target_": "twicetold.features.static_tokens.StaticTokens"}, "As the tokenizer of its vectors does"),
    ],
)
def test_a_model_says_what_makes_no_difference_to_it(features, said):
    [sentence] = reading([features])
    assert said in sentence
    assert reading([features, {"_target_": "twicetold.features.views.Views", "views": [features]}]) == [sentence]


@pytest.mark.parametrize("file", sorted((ROOT / "conf/features").glob("*.yaml")), ids=lambda file: file.stem)
def test_the_features_of_each_name_in_conf_are_described(file):
    assert reading([yaml.safe_load(file.read_text())]) or file.stem == "views_news"


def test_the_card_of_a_fitted_model_says_that_texts_are_read_in_their_normal_form(tmp_path):
    twicetold.fit(["bank rate", "film star"], lexical=True, folder=tmp_path / "model")
    card = model_card(tmp_path / "model")
    assert "## How it reads texts\n\n- In their normal form: capitals, Unicode forms and invisible" in card
    assert "- In lower case: capitals make no difference" in model_card(ROOT / "tests/models/letters")


QUESTIONS = card(3, words=40_000, letter_grams=9_000)


def test_the_report_is_a_line_of_text_with_the_papers_figures():
    assert in_words(QUESTIONS) == (
        "40,000 words into 9,000 letter n-grams, 0.0075 % of the words collide "
        "(Huang et al. 2013: 500,000 into 30,000, 0.0044 %)"
    )


def test_a_featuriser_without_words_to_hash_has_no_report():
    assert by_view(None) == {}
    assert by_view({}) == {}
