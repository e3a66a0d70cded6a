"""Names of topics."""

import re
from collections import Counter
from math import log

import numpy as np
import pytest

from twicetold.features.splitting import words
from twicetold.topics.naming import class_tf_idf, distinctive_terms

TEXTS = [
    "The bank cuts the rate",
    "the bank raises the rate again",
    "The film wins the award",
    "the star of the film",
    "the drug",
]
TOPIC = np.array([0, 0, 1, 1, 2])


def naive(texts, topic):
    """Weight and lift of each word of each topic, by loops."""
    by_topic = {t: Counter() for t in sorted(set(topic))}
    for text, t in zip(texts, topic):
        by_topic[t].update(re.findall(r"\w+", text.lower()))
    everywhere = sum(by_topic.values(), Counter())
    mean, total = sum(everywhere.values()) / len(by_topic), sum(everywhere.values())
    found = {}
    for t, counts in by_topic.items():
        for word, often in counts.items():
            share = often / sum(counts.values())
            found[t, word] = share * log(1 + mean / everywhere[word]), share / (everywhere[word] / total)
    return found


def test_weights_are_those_of_a_naive_loop():
    tokens = words(TEXTS, lower_case=True)
    spelt = tokens.spellings.to_pylist()
    at = np.repeat(TOPIC, np.diff(tokens.offsets))
    pair, often = np.unique(at * len(spelt) + tokens.codes, return_counts=True)
    topic, code = np.divmod(pair, len(spelt))
    weight, lift = class_tf_idf(topic, code, often, 3, len(spelt))
    golden = naive(TEXTS, TOPIC)
    assert len(golden) == len(pair)
    for t, c, w, ratio in zip(topic, code, weight, lift):
        assert (w, ratio) == pytest.approx(golden[t, spelt[c]])


def test_what_every_topic_says_names_none_as_long_as_there_are_other_words():
    found = distinctive_terms(TEXTS, TOPIC, 3, terms=2)
    assert found[0] == ("bank", "rate")
    assert found[1][0] == "film"
    assert found[2] == ("drug", "the"), "a topic has its frequent words where it has no others"


def test_marks_numbers_and_single_letters_are_no_names():
    texts = ["a 42 , ! don't x2 b", "well-known o'clock"]
    found = distinctive_terms(texts, np.array([0, 1]), 2)
    assert set(found[0]) == {"x2", "do"}
    assert set(found[1]) == {"well-known", "o'clock"}


def test_texts_without_a_topic_or_without_words_count_nowhere():
    assert distinctive_terms(["bank", "film", "!!"], np.array([0, -1, 1]), 2) == [("bank",), ()]
    assert distinctive_terms(["!!", "?"], np.array([0, 1]), 2) == [(), ()]


def test_words_of_any_script_are_names():
    found = distinctive_terms(["банк ставка", "фильм премия", "银行 利率"], np.array([0, 1, 2]), 3)
    assert [set(names) for names in found] == [{"банк", "ставка"}, {"фильм", "премия"}, {"银行", "利率"}]
