import bm25s
import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.bm25 import Bm25Weights
from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.tfidf import TfIdf

TEXTS = ["the bank cuts the rate", "bank raises rate", "film star wins award", "the star", "rate rate rate of the bank"]


def matrix(rows):
    return rows.to_scipy().toarray()


def test_tfidf_rows_equal_scikit_learns():
    expected = TfidfVectorizer().fit(TEXTS[:3]).transform(TEXTS).toarray()
    np.testing.assert_allclose(expected, matrix(TfIdf().fit(TEXTS[:3]).transform(TEXTS)), atol=1e-6)


def test_binary_rows_equal_scikit_learns():
    expected = CountVectorizer(binary=True, stop_words="english").fit(TEXTS[:3]).transform(TEXTS).toarray()
    np.testing.assert_array_equal(expected, matrix(BagOfWords().fit(TEXTS[:3]).transform(TEXTS)))


def test_bm25_scores_equal_bm25s():
    tokens = [CountVectorizer().build_analyzer()(text) for text in TEXTS]
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    expected = np.stack([index.get_scores(query) for query in tokens])
    rows = matrix(Bm25Weights(k1=1.2, b=0.75).fit(TEXTS).transform(TEXTS))
    words = rows.shape[1] // 2
    np.testing.assert_allclose(expected, rows[:, :words] @ rows[:, words:].T, atol=1e-5)


@pytest.mark.parametrize("featuriser", [BagOfWords(max_df=0.1), TfIdf(min_df=9), Bm25Weights(stop_words="english")])
def test_a_vocabulary_without_a_word_is_refused_with_its_settings(featuriser):
    with pytest.raises(ValueError, match=r"no word of the 2 train texts is left .*stop_words"):
        featuriser.fit(["the", "the of"])


def test_a_text_without_known_words_has_an_empty_row():
    rows = TfIdf().fit(TEXTS).transform(["xyzzy"])
    assert rows.indptr.tolist() == [0, 0]


QUESTIONS = [
    "How do I learn to drive?",
    "How can I learn driving?",
    "What is the best way to learn to learn?",
    "Driving lessons: the best ones",
    "",
]


def letter_trigrams(text):
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return [f"#{w}#"[i : i + 3] for w in words for i in range(len(w))]


def test_letter_tfidf_rows_are_those_of_scikit_learn_over_the_same_grams():
    mine, theirs = LetterTfIdf().fit(QUESTIONS), TfidfVectorizer(analyzer=letter_trigrams).fit(QUESTIONS)
    names = list(mine.get_feature_names_out())
    assert sorted(names) == sorted(theirs.get_feature_names_out())
    order = [theirs.vocabulary_[name] for name in names]
    unseen = [*QUESTIONS, "Who drove?", "zzz"]
    expected = theirs.transform(unseen).toarray()[:, order]
    np.testing.assert_allclose(matrix(mine.transform(unseen)), expected, atol=1e-6)
