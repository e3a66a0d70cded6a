"""Cutting texts into words and characters, against rules written out one text at a time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features import splitting
from twicetold.features.splitting import PLAIN, QUOTES, characters, words


def lists(tokens):
    spellings = tokens.spellings.to_pylist()
    found = [spellings[code] for code in tokens.codes]
    return [found[start:end] for start, end in zip(tokens.offsets, tokens.offsets[1:])]


def cut(*texts, lower_case=False):
    return lists(words(texts, lower_case=lower_case))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What's new?", ["What", "'s", "new", "?"]),
        ("I don't, can't and WON'T.", ["I", "do", "n't", ",", "ca", "n't", "and", "WO", "N'T", "."]),
        ("they're we've you'll he'd I'm", ["they", "'re", "we", "'ve", "you", "'ll", "he", "'d", "I", "'m"]),
        ("o'clock Qur'an 'quoted'", ["o'clock", "Qur'an", "'", "quoted", "'"]),
        ("well-known -5 a--b x-", ["well-known", "-", "5", "a", "-", "-", "b", "x", "-"]),
        ("3.5 or 10,000, e.g. 2.", ["3.5", "or", "10,000", ",", "e", ".", "g", ".", "2", "."]),
        ("C++ and/or (x)", ["C", "+", "+", "and", "/", "or", "(", "x", ")"]),
        ("naïve Zürich 東京", ["naïve", "Zürich", "東京"]),
        ("“It’s” – yes—no…", ['"', "It", "'s", '"', "-", "yes", "-", "no", ".", ".", "."]),
        ("``Hi''", ['"', "Hi", '"']),
        (" \t two \n lines\u00a0here ", ["two", "lines", "here"]),
        ("'", ["'"]),
        ("", []),
    ],
)
def test_words_are_cut_as_documented(text, expected):
    assert cut(text) == [expected]


@pytest.mark.parametrize("text", ["What's up?", "I don't know, e.g. 3.5.", "o'clock well-known they'll 'tis"])
def test_a_text_that_is_already_cut_gives_the_same_words(text):
    (once,) = cut(text)
    assert cut(" ".join(once)) == [once]


def test_lower_case_folds_words_beyond_ascii():
    assert cut("Émile ÉMILE", lower_case=True) == [["émile", "émile"]]


CLITIC = r"'(?:s|m|d|t|re|ve|ll)(?!\w)"
NEGATION = r"n't(?!\w)"
BY_RULE = re.compile(
    rf"{NEGATION} | {CLITIC} | (?: (?!{NEGATION}) \w (?: (?!{CLITIC}) ['-] (?=\w) | (?<=\d)[.,](?=\d) )? )+ | [^\w\s]",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


def by_rule(text):
    for old, new in {**PLAIN, **QUOTES}.items():
        text = text.replace(old, new)
    return BY_RULE.findall(text.strip())


@given(st.lists(st.text("nNtsdDlemrv'-.,1 x?\n`’“é", max_size=14), max_size=6))
def test_all_texts_at_once_are_cut_as_one_by_one(texts):
    ascii_only = [text.replace("é", "e") for text in texts]  # the pattern's \w knows no é
    assert cut(*ascii_only) == [by_rule(text) for text in ascii_only]
    assert cut(*texts) == [cut(text)[0] for text in texts]


VISIBLE = st.text(st.characters(categories=["L", "M", "N", "P", "S"]) | st.just(" "), max_size=12)


@given(st.lists(VISIBLE, max_size=6))
def test_no_visible_character_is_lost(texts):
    tokens = cut(*texts)
    assert len(tokens) == len(texts)
    for text, found in zip(texts, tokens):
        for old, new in {**PLAIN, **QUOTES}.items():
            text = text.replace(old, new)
        assert "".join(found) == text.replace(" ", "")


@given(st.lists(VISIBLE, max_size=6))
def test_characters_are_those_of_the_text_without_the_blanks_around_it(texts):
    for text, found in zip(texts, lists(characters(texts, lower_case=False))):
        for old, new in PLAIN.items():
            text = text.replace(old, new)
        assert found == list(text.strip())


def test_chunks_make_no_difference(monkeypatch):
    texts = [f"word{i % 7} it's {i}" for i in range(50)]
    whole = words(texts, lower_case=False)
    monkeypatch.setattr(splitting, "CHUNK", 7)
    parts = words(texts, lower_case=False)
    assert lists(whole) == lists(parts)
    assert whole.spellings.equals(parts.spellings)


def test_no_text_gives_no_tokens():
    assert lists(words([], lower_case=True)) == []
