import numpy as np
import pytest

from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.data.sources import toy_titles
from twicetold_lab.examples.positives import sentences_of


def read(**options):
    return toy_titles.read(None, name="toy_titles", **options)


@pytest.fixture(scope="module")
def corpus():
    return read(stories=120)


def sides(corpus, split):
    pairs, texts = corpus.pairs[split], np.array(corpus.texts.to_pylist(), object)
    return texts[pairs.left], texts[pairs.right], pairs.label == 1


def test_titles_are_left_and_bodies_of_several_sentences_right(corpus):
    for split in SPLITS:
        titles, bodies, _ = sides(corpus, split)
        assert not set(titles) & set(bodies)
        assert not any(title.endswith(".") for title in titles)
        assert all(2 <= len(sentences_of(body)) <= 5 and body[-1] in ".?!" for body in bodies)


def test_a_title_has_one_body_of_its_own_and_three_of_others(corpus):
    pairs = corpus.pairs["train"]
    titles, own = np.unique(pairs.left[pairs.label == 1], return_counts=True)
    assert (own == 1).all()
    others, count = np.unique(pairs.left[pairs.label == 0], return_counts=True)
    assert set(others) == set(titles)
    assert count.max() == 3
    assert len(np.unique(np.stack([pairs.left, pairs.right]), axis=1)[0]) == len(pairs)


def test_bodies_that_are_not_its_own_share_more_words_with_a_title_if_they_tell_of_the_same_kind_of_event():
    def shared(**options):
        titles, bodies, same = sides(read(stories=120, **options), "train")
        pairs = zip(titles[~same], bodies[~same])
        return np.mean([len(set(t.lower().split()) & set(b.lower().split())) for t, b in pairs])

    assert shared(alike=2, others=0) > 1.5 * shared(alike=0, others=2)


def test_no_story_is_on_two_sides_and_no_title_is_paired_across(corpus):
    for split in SPLITS:
        pairs = corpus.pairs[split]
        assert np.isin(np.concatenate([pairs.left, pairs.right]), corpus.members[split]).all()
    for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
        assert not set(corpus.members[one]) & set(corpus.members[other])


def test_a_number_of_bodies_below_0_is_refused():
    with pytest.raises(ValueError, match="got alike=-1 and others=1"):
        read(stories=30, alike=-1)
