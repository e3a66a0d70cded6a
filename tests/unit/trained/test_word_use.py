"""Common words of a file beside those of the train texts."""

import numpy as np
import pytest

from twicetold.evaluation.decision import Decision
from twicetold.features.bm25 import Bm25Weights
from twicetold.features.tfidf import TfIdf
from twicetold.features.tokens import Characters, Words
from twicetold.features.word_grams import WordGrams
from twicetold.features.word_hashing import WordHashing
from twicetold.features.word_trigrams import WordTrigrams
from twicetold.trained.ensemble import Ensemble
from twicetold.trained.scoring import Scorer
from twicetold.trained.word_use import AT_LEAST, COMMON, WordUse, expected

WORDS = np.array([f"word{number}" for number in range(1000)])
SHARES = 1 / (1 + np.arange(1000))  # Zipf's law
DECISION = Decision(0.5, 1.0, 0.0)


def written(texts, *, kind=0, seed=0):
    """Texts of ten words; those of another kind use the same words, each as often as another one is used here."""
    rng = np.random.default_rng(seed)
    order = np.random.default_rng(kind).permutation(1000) if kind else np.arange(1000)
    chosen = rng.choice(WORDS[order], (texts, 10), p=SHARES / SHARES.sum())
    return [" ".join(row) for row in chosen]


class Trained:
    """A loaded model, as far as words are concerned."""

    def __init__(self, *featurisers):
        scorers = [Scorer(each, None, DECISION, as_documents=False) for each in featurisers]
        named = {str(number): scorer for number, scorer in enumerate(scorers)}
        self.trained = scorers[0] if len(scorers) == 1 else Ensemble(named, DECISION, as_documents=False)


FEATURISERS = {
    "tfidf": TfIdf(),
    "bm25": Bm25Weights(),
    "counted words": Words(counted=True),
    "word grams": WordGrams(),
}


@pytest.mark.parametrize("name", FEATURISERS)
def test_texts_of_another_kind_are_warned_of_though_every_word_is_known_and_texts_alike_are_not(name):
    model = Trained(FEATURISERS[name].fit(written(3000, seed=1)))
    for texts in (100, 1000):
        for seed in range(5):
            own, other = WordUse(model), WordUse(model)
            own.add(written(texts, seed=10 + seed))
            other.add(written(texts, kind=7, seed=10 + seed))
            assert own.distance < 0.2 < 0.4 < other.distance
            assert list(own.warnings()) == []
            (warning,) = other.warnings()
            assert "common words are used as in texts of another kind" in warning


@pytest.mark.parametrize("name", FEATURISERS)
def test_the_shares_are_those_of_the_train_texts(name):
    texts = written(3000, seed=1)
    found = expected(Trained(FEATURISERS[name].fit(texts)).trained)
    split = [text.split() for text in texts]
    counted = [word for words in split for word in (set(words) if found.once else words)]
    words, counts = np.unique(counted, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:20]
    shares = [found.share[found.known[word]] for word in words[common]]
    np.testing.assert_allclose(shares, counts[common] / counts.sum(), rtol=0.01)
    assert found.share.sum() == pytest.approx(1)
    assert len(found.share) == COMMON + 1


def test_the_words_that_differ_most_are_named_with_their_shares():
    use = WordUse(Trained(TfIdf().fit(written(3000, seed=1))))
    use.add([f"word0 word1 word{n}" for n in range(300)])
    (warning,) = use.warnings()
    assert "'word1' 33." in warning
    assert "'word0' 33." in warning


def test_where_frequent_pairs_of_words_alone_are_held_shares_are_guessed_from_them():
    """In these texts, unlike in real ones, neighbours are independent of each other."""
    model = Trained(WordHashing(words=2, max_features=3000).fit(written(5000, seed=1)))
    own, other = WordUse(model), WordUse(model)
    own.add(written(1000, seed=10))
    other.add(written(1000, kind=7, seed=10))
    assert own.distance < own.expected.limit == 0.25 < 0.4 < other.distance


def test_few_words_and_words_that_are_not_known_say_nothing():
    use = WordUse(Trained(TfIdf().fit(written(3000, seed=1))))
    use.add([f"word0 strange{n}" for n in range(AT_LEAST - 1)])
    assert use.distance is None
    assert list(use.warnings()) == []
    use.add(["word0"])
    assert use.distance > 0.5


@pytest.mark.parametrize("featuriser", [WordTrigrams(), Characters(), Words(), WordHashing(words=1)])
def test_features_that_hold_no_counts_of_words_give_no_sign(featuriser):
    use = WordUse(Trained(featuriser.fit(written(500))))
    use.add(written(500, kind=7))
    assert use.distance is None


def test_of_an_ensemble_the_member_that_knows_most_words_counts():
    few, many = TfIdf(max_features=150).fit(written(3000)), WordGrams().fit(written(3000))
    found = expected(Trained(few, WordTrigrams().fit(written(500)), many).trained)
    assert len(found.known) == len(many.vocabulary_)


def test_capital_letters_do_not_make_another_word():
    texts = [text.replace("word1", "Word1") if number % 2 else text for number, text in enumerate(written(2000))]
    found = expected(Trained(Words(counted=True).fit(texts)).trained)
    counted = " ".join(texts).lower().split()
    assert found.share[found.known["word1"]] == pytest.approx(counted.count("word1") / len(counted))
