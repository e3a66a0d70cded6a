"""Positive pointwise mutual information of neighbours, against one pair at a time."""

from collections import Counter
from math import log

import pytest

from twicetold.features.word_associations import WordAssociations

TRAIN = ["the cat sat on the mat", "a cat ran", "the dog sat on a cat", "the", "", "sat sat sat"]


def naively(window, smoothing, known=None):
    """PPMI of each pair, as in the docstring."""
    met = Counter()
    for text in TRAIN:
        words = [word for word in text.split() if known is None or word in known]
        for place, word in enumerate(words):
            for other in range(max(0, place - window), min(len(words), place + window + 1)):
                met[word, words[other]] += other != place
    of_word, of_neighbour = Counter(), Counter()
    for (word, neighbour), count in met.items():
        of_word[word] += count
        of_neighbour[neighbour] += count
    total = sum(count**smoothing for count in of_neighbour.values())
    values = {
        (w, c): log(count * total / (of_word[w] * of_neighbour[c] ** smoothing))
        for (w, c), count in met.items()
        if count
    }
    return {pair: value for pair, value in values.items() if value > 0}


def found(featuriser):
    names = featuriser.get_feature_names_out()
    pairs, values = featuriser.shape["pairs"], featuriser.shape["values"]
    assert sorted(set(pairs.tolist())) == pairs.tolist()
    return {tuple(names[[*divmod(p, len(names))]]): value for p, value in zip(pairs.tolist(), values.tolist())}


@pytest.mark.parametrize("window", [1, 2, 9])
@pytest.mark.parametrize("smoothing", [0.75, 1.0])
def test_associations_are_those_of_the_formula_for_every_pair(window, smoothing):
    featuriser = WordAssociations(window=window, smoothing=smoothing).fit(TRAIN)
    assert found(featuriser) == pytest.approx(naively(window, smoothing), rel=1e-5)


def test_unknown_words_are_no_neighbours_and_stand_in_nobodys_way():
    featuriser = WordAssociations(min_df=2).fit(TRAIN)
    assert "on" in featuriser.vocabulary_
    assert "mat" not in featuriser.vocabulary_
    assert found(featuriser) == pytest.approx(naively(2, 0.75, known=set(featuriser.vocabulary_)), rel=1e-5)


def test_texts_of_one_word_have_no_associations():
    shape = WordAssociations().fit(["one", "two"]).shape
    assert len(shape["pairs"]) == len(shape["values"]) == 0
