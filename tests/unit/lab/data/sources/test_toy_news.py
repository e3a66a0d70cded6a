from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.data.sources import toy_news

NOWHERE = Path("not-used")


@pytest.fixture(scope="module")
def corpus():
    return toy_news.read(NOWHERE, name="toy_news")


def test_a_story_has_one_category_and_is_told_by_each_publisher_at_most_once(corpus):
    story, category = corpus.groups["story"], corpus.groups["category"]
    publisher = corpus.fields["publisher"].to_pylist()
    assert len(set(zip(story.tolist(), category.tolist(), strict=True))) == len(np.unique(story))
    assert len(set(zip(story.tolist(), publisher, strict=True))) == len(corpus)


def test_every_category_is_in_every_split_and_every_slug_has_words_in_lower_case(corpus):
    for split in SPLITS:
        assert set(corpus.groups["category"][corpus.members[split]].tolist()) == {0, 1, 2, 3}
    assert all(slug and slug == slug.lower() for slug in corpus.fields["url_slug"].to_pylist())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tfidf_finds_most_of_the_stories_and_little_of_the_categories(seed):
    corpus = toy_news.read(NOWHERE, name="toy_news", seed=seed)
    assert 1_500 <= len(corpus) <= 2_500
    rows = TfidfVectorizer().fit(corpus.texts_of("train")).transform(corpus.texts_of("test"))
    upper = np.triu_indices(rows.shape[0], 1)
    score = (rows @ rows.T).toarray()[upper]

    def auroc(group):
        code = corpus.groups[group][corpus.members["test"]]
        return roc_auc_score((code[:, None] == code)[upper], score)

    assert 0.58 < auroc("category") < 0.75
    assert 0.90 < auroc("story") < 0.97


@pytest.mark.parametrize("wrong", [{"stories": 2}, {"stories": 0}, {"limit": 0}])
def test_too_few_stories_or_headlines_are_refused(wrong):
    with pytest.raises(ValueError, match="got"):
        toy_news.read(NOWHERE, name="toy_news", **wrong)
