"""Sequences of numbered words, characters and subwords."""

import numpy as np
import pytest

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.subwords import Subwords
from twicetold.features.tokens import Characters, Words

TEXTS = ["the cat sat", "the cat ran", "a dog ran ran ran"]


def rows_of(featuriser, texts):
    rows = featuriser.transform(texts)
    assert rows.values is None
    return [rows.indices[start:end].tolist() for start, end in zip(rows.indptr, rows.indptr[1:])]


def test_numbers_go_by_how_many_texts_have_a_word_and_then_by_spelling():
    featuriser = Words().fit(TEXTS)
    assert featuriser.vocabulary_ == ["cat", "ran", "the", "a", "dog", "sat"]
    assert featuriser.shape == {"width": 7}


def test_the_order_of_the_text_and_its_repetitions_are_kept():
    assert rows_of(Words().fit(TEXTS), ["ran the ran", ""]) == [[2, 3, 2], []]


def test_unknown_words_are_numbered_zero_and_keep_their_place():
    assert rows_of(Words().fit(TEXTS), ["the bird sat"]) == [[3, UNKNOWN_TOKEN, 6]]


def test_min_df_counts_texts_and_not_occurrences():
    assert "ran" not in Words(min_df=3).fit([*TEXTS, "the cat"]).vocabulary_
    assert Words(min_df=3).fit([*TEXTS, "the cat"]).vocabulary_ == ["cat", "the"]


def test_max_size_keeps_the_most_widespread_words():
    featuriser = Words(max_features=2).fit(TEXTS)
    assert featuriser.vocabulary_ == ["cat", "ran"]
    assert featuriser.shape == {"width": 3}


@pytest.mark.parametrize("featuriser", [Words(max_length=2), Characters(max_length=2), Subwords(max_length=2)])
def test_a_text_is_cut_off_after_max_length(featuriser):
    rows = featuriser.fit(TEXTS).transform([TEXTS[2], "", "a", TEXTS[0]])
    whole = type(featuriser)().fit(TEXTS).transform([TEXTS[2], "", "a", TEXTS[0]])
    assert np.diff(rows.indptr).tolist() == np.minimum(np.diff(whole.indptr), 2).tolist()
    assert rows.indices[:2].tolist() == whole.indices[:2].tolist()


def test_a_vocabulary_without_a_word_is_an_error():
    with pytest.raises(ValueError, match="min_df=9"):
        Words(min_df=9).fit(TEXTS)
    with pytest.raises(ValueError, match="no word"):
        Subwords().fit(["", " "])


def test_characters_read_blanks_as_well():
    featuriser = Characters().fit(TEXTS)
    (row,) = rows_of(featuriser, [" cat sat "])
    assert "".join(featuriser.vocabulary_[number - 1] for number in row) == "cat sat"


REPEATED = ["low lower lowest newer wider"] * 20


def spelled(featuriser, text):
    numbers = featuriser.transform([text]).indices.tolist()
    return [featuriser._loaded().id_to_token(number) for number in numbers]


def test_subwords_of_known_words_are_whole_and_unknown_words_fall_into_known_pieces():
    featuriser = Subwords(max_features=60).fit(REPEATED)
    assert spelled(featuriser, "lower") == ["▁lower"]
    pieces = spelled(featuriser, "widest")
    assert "".join(pieces) == "▁widest"
    assert len(pieces) > 1
    assert Subwords(max_features=30).fit(REPEATED).shape["width"] <= 30


def test_subwords_of_all_texts_at_once_are_those_of_each_word():
    featuriser = Subwords(max_features=40).fit(REPEATED)
    texts = ["lowest wider", "", "newest low low", "wide"]
    expected = [[n for word in t.split() for n in featuriser.transform([word]).indices.tolist()] for t in texts]
    assert rows_of(featuriser, texts) == expected


def test_characters_that_train_lacks_are_unknown_subwords():
    assert UNKNOWN_TOKEN in Subwords().fit(REPEATED).transform(["low 漢"]).indices


def test_a_cut_alphabet_is_cut_the_same_way_each_time():
    texts = [" ".join(chr(0x4E00 + i) * 3 for i in range(300))] * 2
    assert len({Subwords(max_alphabet=50).fit(texts).tokenizer_ for _ in range(4)}) == 1


def test_counts_are_occurrences_in_train_and_none_for_unknown_words():
    featuriser = Words(min_df=2, counted=True).fit(TEXTS)
    assert dict(zip(featuriser.get_feature_names_out(), featuriser.shape["counts"])) == {
        "(unknown)": 0,
        "cat": 2,
        "ran": 4,
        "the": 2,
    }


def test_smooth_weights_are_a_over_a_plus_p_and_one_for_unknown_words():
    rows = Words(min_df=2, sif_a=0.5).fit(TEXTS).transform(["ran the bird"])
    assert rows.values.tolist() == pytest.approx([0.5 / (0.5 + 4 / 8), 0.5 / (0.5 + 2 / 8), 1])


def test_a_word_of_unknown_characters_is_unknown_altogether():
    subwords = Subwords(max_features=40).fit(["bank rate cut", "bank rates"])
    rows = subwords.transform(["\U00013000\U00013000", "\U00013000 bank"])
    assert not rows.indices[: rows.indptr[1]].any()
    assert rows.indices[rows.indptr[1] :].any()
