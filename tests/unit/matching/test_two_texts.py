"""One pair of texts in no file: the features are those of a file of two, but for what only a file has."""

import numpy as np
import pytest

from twicetold.matching.candidates import candidates
from twicetold.matching.matcher import Matcher
from twicetold.matching.pair_features import pair_features
from twicetold.matching.terms import Terms
from twicetold.matching.two_texts import LONG, two_texts

MATCHER = Matcher.generic(vectors=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Canon EOS-70D digital camera, 18 MP (black)", "canon eos70d camer black 20 mp"),
        ("the receiver of receivers", "a reciever, receivr of the receiver"),
        ("C++ at 5 % of 05.50 €", "c# at 5.5 € of c++"),
        ("今天天气很好我们去公园", "今天天气很好我们去公园吧"),
        ("hello", "hello"),
        ("a " * LONG + "tent 16gb", "a tent 16 gb " + "b " * LONG),
    ],
)
def test_features_are_those_of_a_file_of_two_but_for_rarity(one: str, other: str, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    terms = Terms.of([one, other])
    expected = pair_features(terms, candidates(terms))
    found = two_texts(one, other, matcher=MATCHER)
    assert set(MATCHER.names) <= set(found)
    by_rarity = ("letters", "words", "lexical", "shared", "unshared_weight", "unshared_rarest", "spelt")
    for name, column in found.items():
        if not name.startswith(by_rarity) and len(expected[name]):
            np.testing.assert_allclose(column, expected[name], atol=1e-6, err_msg=name)
    turned = two_texts(other, one, matcher=MATCHER)
    assert MATCHER.probability(turned) == pytest.approx(MATCHER.probability(found), abs=1e-6)
    monkeypatch.setattr("twicetold.matching.two_texts.LONG", 0 if len(one + other) < LONG else 10 * LONG)
    for name, column in two_texts(one, other, matcher=MATCHER).items():
        np.testing.assert_allclose(column, found[name], atol=1e-5, err_msg=name)


def test_all_words_weigh_the_same_and_each_text_is_the_nearest_of_the_other() -> None:
    columns = two_texts("red hose ten", "red hose six", matcher=MATCHER)
    assert columns["shared_of_smaller"][0] == pytest.approx(2 / 3)
    assert columns["words"][0] == pytest.approx(2 / 3)
    assert (columns["lexical_rank_larger"][0], columns["lexical_mutual"][0]) == (0, 1)
    gaps = [MATCHER.contributions(columns, 0)[name] for name in ("lexical_gap_smaller", "lexical_over")]
    assert gaps == pytest.approx([0, 0], abs=1e-6)


@pytest.mark.parametrize("texts", [("", ""), ("", "a"), ("☺", "!"), ("+++", "+")])
def test_features_of_texts_without_words_are_finite(texts: tuple[str, str]) -> None:
    vectors = np.eye(2, dtype=np.float32)
    matcher = Matcher.generic(vectors=True)
    columns = two_texts(*texts, matcher=matcher, vectors=vectors)
    assert all(np.isfinite(column).all() for column in columns.values())
    assert matcher.probability(columns)[0] < 0.5


def test_a_matcher_with_vectors_asks_for_them() -> None:
    with pytest.raises(ValueError, match="expected vectors"):
        two_texts("a", "b", matcher=Matcher.generic(vectors=True))
