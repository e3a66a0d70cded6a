import numpy as np

from twicetold_lab.data.sources import toy_articles
from twicetold_lab.examples.positives import sentences_of


def read(**options):
    return toy_articles.read(None, name="toy_articles", **options)


def test_articles_have_three_to_six_sentences_each_with_a_capital_and_a_mark():
    for text in read(stories=80).texts.to_pylist():
        sentences = sentences_of(text)
        assert 3 <= len(sentences) <= 6
        assert all(not s[0].islower() and s[-1] in ".?!" for s in sentences)


def test_each_story_is_told_more_than_once_and_is_of_one_category():
    corpus = read(stories=60)
    story, category = corpus.groups["story"], corpus.groups["category"]
    assert np.bincount(story).min() >= 2
    assert all(len(set(category[story == s])) == 1 for s in set(story))
