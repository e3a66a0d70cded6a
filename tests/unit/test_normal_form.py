"""The normal form of texts, against what Unicode says of it."""

import random
from unicodedata import category, normalize

import pytest

from twicetold.normal_form import IGNORABLE, normal_form

EVERY = [char for char in map(chr, range(0x110000)) if category(char) not in ("Cn", "Co", "Cs")]
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@pytest.fixture(scope="module")
def texts():
    """Each character, and heaps of letters, marks and invisible characters in any order."""
    rng = random.Random(0)
    marks = [char for char in EVERY if category(char)[0] == "M" or ord(char) in IGNORABLE]
    heaps = ["".join(rng.choice(rng.choice([EVERY, marks])) for _ in range(4)) for _ in range(5000)]
    return EVERY + heaps


def test_the_form_of_a_form_is_itself(texts):
    forms = normal_form(texts)
    assert normal_form(forms) == forms
    assert [normalize("NFKC", form) for form in forms] == forms


def test_canonically_equal_texts_have_one_form_and_so_have_compatible_characters(texts):
    forms = normal_form(texts)
    for form in FORMS[:2]:
        assert normal_form([normalize(form, text) for text in texts]) == forms
    for form in FORMS[2:]:
        assert normal_form([normalize(form, char) for char in EVERY]) == forms[: len(EVERY)]


@pytest.mark.parametrize("other", [str.casefold, str.lower, str.upper, str.swapcase])
def test_capitals_make_no_difference(other):
    for char, form, same in zip(EVERY, normal_form(EVERY), normal_form(list(map(other, EVERY))), strict=True):
        assert form == same or char == "ı"  # whose capital is that of i


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("Ｃ＋＋", "c++"),
        ("ｶﾞ", "ガ"),
        ("co\u00adoperate zero\u200bwidth", "cooperate zerowidth"),
        ("❤\ufe0f", "❤"),
        ("\u200b\ufeff\u00ad", ""),
        ("C# und C++", "c# und c++"),
    ],
)
def test_letters_are_folded_in_full_and_invisible_characters_are_left_out(text, form):
    assert normal_form([text]) == [form]
