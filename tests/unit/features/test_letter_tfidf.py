import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from twicetold.features.letter_tfidf import LetterTfIdf

TEXTS = [
    "How do I learn to drive?",
    "How can I learn driving?",
    "What is the best way to learn to learn?",
    "Driving lessons: the best ones",
    "",
]


def letter_trigrams(text):
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return [f"#{w}#"[i : i + 3] for w in words for i in range(len(w))]


def test_rows_are_those_of_scikit_learn_over_the_same_grams():
    mine = LetterTfIdf().fit(TEXTS)
    theirs = TfidfVectorizer(analyzer=letter_trigrams).fit(TEXTS)
    names = list(mine.get_feature_names_out())
    assert sorted(names) == sorted(theirs.get_feature_names_out())
    order = [theirs.vocabulary_[name] for name in names]
    unseen = [*TEXTS, "Who drove?", "zzz"]
    expected = theirs.transform(unseen).toarray()[:, order]
    np.testing.assert_allclose(mine.transform(unseen).to_scipy().toarray(), expected, atol=1e-6)


def test_words_get_columns_and_weights_beside_letters():
    rows = LetterTfIdf(words=1).fit(TEXTS).transform(TEXTS).to_scipy()
    np.testing.assert_allclose(np.sqrt(rows.multiply(rows).sum(1))[:4], 1, atol=1e-6)
