"""Word hashing against scikit-learn, and against the obvious loops."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.features import distinct_words
from twicetold.features.cleaning import Cleaned
from twicetold.features.word_hashing import WordHashing

TEXTS = st.lists(st.text("abcABC12 .,#-éßİñ中𝐀𐐀\0\n\t’½", max_size=25), min_size=1, max_size=8)


def words_of(text):
    """Lower-case runs of letters and digits, character by character."""
    cut = "".join(c.lower()[0] if c.isalnum() else " " for c in text)
    return "".join("\ufffd" if c > "\uffff" else c for c in cut).split(" ")


def counts_of(text, size, words=0):
    found = Counter()
    known = [word for word in words_of(text) if word]
    for word in known:
        marked = f"#{word}#" if size > 1 else word
        found.update(marked[i : i + size] for i in range(len(marked) - size + 1))
    found.update((word,) for word in known * bool(words))
    if words == 2:
        found.update(pair for line in [known] for pair in pairwise(line))
    return found


def as_counters(featuriser, texts):
    rows = featuriser.transform(texts)
    f = len(featuriser.words_)
    names = [*featuriser.letter_grams_, *((word,) for word in featuriser.words_)]
    names += [(featuriser.words_[p // f], featuriser.words_[p % f]) for p in featuriser.pairs_]
    return [
        Counter({names[c]: int(n) for c, n in zip(rows.indices[a:b], rows.values[a:b])})
        for a, b in pairwise(rows.indptr)
    ]


def has_word(texts):
    return any(c.isalnum() for text in texts for c in text)


def test_good_is_hashed_as_in_the_paper():
    assert WordHashing().fit(["Good!"]).letter_grams_ == ["#go", "goo", "od#", "ood"]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@given(texts=TEXTS.filter(has_word))
def test_letter_grams_of_any_text_equal_the_obvious_loops(size, texts):
    assert as_counters(WordHashing(letters=size).fit(texts), texts) == [counts_of(text, size) for text in texts]


def test_single_letters_of_chinese_are_its_characters_without_marks_and_punctuation():
    featuriser = WordHashing(letters=1).fit(["今天天气好吗？", "你好，世界！"])
    assert featuriser.letter_grams_ == sorted("今天气好吗你世界")
    assert as_counters(featuriser, ["天天好。"]) == [Counter({"天": 2, "好": 1})]


def test_full_width_letters_are_columns_of_their_own_unless_they_are_cleaned():
    texts = ["ＱＲ码２０", "QR码20"]
    assert WordHashing(letters=1).fit(texts).letter_grams_ == sorted("qr20码ｑｒ２０")
    cleaned = Cleaned(WordHashing(letters=1), nfkc=True).fit(texts)
    assert list(cleaned.get_feature_names_out()) == sorted("qr20码")
    one, other = cleaned.transform(texts).to_scipy().toarray()
    np.testing.assert_array_equal(one, other)


def test_characters_beyond_sixteen_bits_share_one_column():
    assert WordHashing(letters=1).fit(["𠀀𠀁"]).letter_grams_ == [chr(distinct_words.BEYOND)]


@given(TEXTS.filter(has_word))
def test_words_and_pairs_equal_the_obvious_loops(texts):
    found = as_counters(WordHashing(words=2).fit(texts), texts)
    assert found == [counts_of(text, 3, words=2) for text in texts]


@given(TEXTS.filter(has_word), st.permutations(range(8)))
def test_columns_do_not_depend_on_the_order_of_the_train_texts(texts, order):
    turned = [texts[i] for i in order if i < len(texts)]
    one, other = (WordHashing(words=2, max_features=5).fit(t) for t in (texts, turned))
    assert one.letter_grams_ == other.letter_grams_
    assert one.words_ == other.words_
    assert one.pairs_.tolist() == other.pairs_.tolist()


@given(TEXTS.filter(has_word))
def test_how_texts_are_cut_into_chunks_does_not_matter(texts):
    whole = WordHashing(words=2).fit(texts)
    expected = as_counters(whole, texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct_words, "CHUNK", 3)
        cut = WordHashing(words=2).fit(texts)
        assert as_counters(cut, texts) == expected
    assert cut.card_ == whole.card_


def test_the_most_frequent_words_and_pairs_get_a_column():
    texts = ["big red fox", "big red dog", "big cat"]
    featuriser = WordHashing(letters=0, words=2, max_features=3).fit(texts)
    assert featuriser.words_ == ["big", "red"]
    assert as_counters(featuriser, ["red big red fox"]) == [Counter({("red",): 2, ("big",): 1, ("big", "red"): 1})]


def test_words_of_neighbouring_texts_are_no_pair():
    featuriser = WordHashing(letters=0, words=2).fit(["a b", "c d", "", "e"])
    assert [featuriser.words_[p // 5] + featuriser.words_[p % 5] for p in featuriser.pairs_] == ["ab", "cd"]


def test_unknown_trigrams_are_left_out_and_may_leave_an_empty_row():
    rows = WordHashing().fit(["good"]).transform(["xyz", "gox", "", "?!"])
    assert rows.indptr.tolist() == [0, 0, 1, 1, 1]
    assert len(WordHashing().fit(["good"]).transform([])) == 0


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=60))
def test_collisions_are_words_that_share_all_trigrams_with_another(words):
    distinct = set(words)
    hashed = Counter(frozenset(counts_of(word, 3).items()) for word in distinct)
    expected = sum(count for count in hashed.values() if count > 1)
    card = WordHashing().fit([" ".join(words)]).card_
    assert card["words"] == len(distinct)
    assert card["collisions"] == expected
    assert card["collisions_percent"] == pytest.approx(100 * expected / len(distinct))


def test_the_card_names_the_papers_figures():
    card = WordHashing().fit(["ababbab abbabab"]).card_
    assert card["collisions"] == 2  # #ab, aba, bab, abb, bba, bab, ab# in another order
    published = card["published"]
    assert published["collisions_percent"] == 100 * published["collisions"] / published["words"]


def test_there_is_no_card_without_letters():
    assert WordHashing(letters=0, words=1).fit(["good"]).card_ is None


@pytest.mark.parametrize(
    ("featuriser", "texts", "complaint"),
    [
        (WordHashing(), ["?", ""], "no word in the 2 train texts"),
        (WordHashing(letters=5), ["good"], r"n of \(1, 2, 3, 4\), got 5"),
        (WordHashing(letters=0), ["good"], "above 0 without letters; got 0"),
        (WordHashing(words=3), ["good"], "expected words 0, 1 or 2"),
    ],
)
def test_bad_settings_and_empty_texts_are_refused(featuriser, texts, complaint):
    with pytest.raises(ValueError, match=complaint):
        featuriser.fit(texts)
