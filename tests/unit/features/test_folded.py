"""Terms of texts in their normal form, and their symbols."""

import json
from itertools import combinations
from unicodedata import normalize

import numpy as np
import pytest

from twicetold.features.folded import FoldedTerms, FoldedTokens, symbols
from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.static_tokens import StaticTokens
from twicetold.normal_form import normal_form

MEMBERS = [{"letters": 3}, {"letters": 0, "words": 1}]
DIFFERENT = [
    ["C", "C+", "C++", "C#"],
    ["A", "A+", "A-"],
    ["5 V", "+5 V", "-5 V", "±5 V", "~5 V"],
    ["x > 5", "x < 5", "x = 5", "x >= 5", "x != 5", "x ≥ 5", "x ≈ 5"],
    ["5 €", "5 $", "5 £", "5 %", "5 ‰", "5°"],
    ["ok", "ok 👍", "ok 👎", "ok 👍👍", "ok 👍🏿", "ok ❤️"],
    ["won 🇩🇪", "won 🇪🇩", "won 🇫🇷"],
    ["fine :-)", "fine :-("],
    ["★★★★★", "★★★★☆", "★"],
    ["5'", '5"', "5 / 6", "5 * 6"],
    ["का", "कि", "की"],
    ["𠀋", "𠀌"],
]
SAME = [
    ("-5 V", "\N{MINUS SIGN}5 V"),
    ("1/2", "½"),
    ("Ｃ＋＋", "c++"),
    ("5″ and 5”", '5′′ and 5"'),
    ("❤️", "❤"),
    ("How do I swim?", "how do I swim"),
    ("yes!", "“Yes” ..."),
    ("e-mail (new)", "e mail, new"),
    ("one \N{EM DASH} two - three", "one two three"),
    ("Café", normalize("NFD", "CAFÉ")),
]


def rows(texts, settings):
    return FoldedTerms(**settings).fit(texts).transform(texts).to_scipy().toarray()


@pytest.mark.parametrize("settings", MEMBERS, ids=["letters", "words"])
@pytest.mark.parametrize("texts", DIFFERENT, ids=lambda texts: texts[-1])
def test_texts_that_differ_in_symbols_alone_are_not_the_same(texts, settings):
    found = rows([*texts, "something else"], settings)
    for one, other in combinations(found[:-1], 2):
        assert one @ other < 0.99
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("settings", MEMBERS, ids=["letters", "words"])
@pytest.mark.parametrize("pair", SAME, ids=lambda pair: pair[0])
def test_forms_of_a_text_and_its_punctuation_make_no_difference(pair, settings):
    one, other = rows(pair, settings)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a well-known e-mail - or two -- of 1990-95, isn't it?", []),
        ("c++ at -5 (−5), --force", ["+", "++", "-", "-", "--"]),
        ("15.6\" of 5' and \"quotes\" of 'words'", ['"', "'"]),
        ("a/b & c", ["/", "&"]),
        ("नई-दिल्ली", ["दि", "ल्", "ली"]),
        ("x->y", ["-", ">"]),
        ("1⃣ x̂ don´t", ["1⃣", "x̂"]),
    ],
)
def test_symbols_are_what_neither_words_nor_punctuation_are(text, found):
    assert symbols(*normal_form([text])) == found


def test_texts_of_symbols_alone_have_rows():
    found = rows(["👍", "👎", "👍"], {"letters": 3})
    np.testing.assert_array_equal(found, [[1, 0], [0, 1], [1, 0]])
    with pytest.raises(ValueError, match="no word"):
        FoldedTerms().fit(["?!", "..."])


@pytest.mark.parametrize("settings", MEMBERS, ids=["letters", "words"])
def test_without_symbols_rows_are_those_of_letters_and_words(settings):
    texts = ["How do I learn to drive?", "driving lessons", "", "the best ones"]
    expected = LetterTfIdf(**settings).fit(texts).transform(texts).to_scipy()
    assert (FoldedTerms(**settings).fit(texts).transform(texts).to_scipy() != expected).nnz == 0


def test_vectors_that_read_capitals_get_none(tiny_static, tmp_path):
    for name in ("model.safetensors", "config.json"):
        (tmp_path / name).symlink_to(tiny_static / name)
    tokenizer = json.loads((tiny_static / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    texts = ["BANK Rate", "bank rate", "\uff42ank ra\u00adte"]
    plain, folded = (made(str(tmp_path), "-").fit(texts).transform(texts) for made in (StaticTokens, FoldedTokens))
    assert plain.indices[0] != plain.indices[2]
    np.testing.assert_array_equal(folded.indices.reshape(3, 2), [folded.indices[:2]] * 3)
