"""Similarities of a teacher for distillation, against a brute-force reference and without a look at a label."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from twicetold_lab.mining import similarities
from twicetold_lab.mining.similarities import Similarities, mine

LISTS = {"positives": [1, 3, None], "negatives": [7, None, None]}


def mined(corpus, teacher, *, label="category", seed=0, max_texts=1000, **lists):
    return mine(corpus, teacher, label=label, seed=seed, max_texts=max_texts, **{**LISTS, **lists})


def test_ends_are_at_the_ranks_of_the_teachers_list_with_its_similarities(news, random_teacher, monkeypatch):
    monkeypatch.setattr(similarities, "ANCHORS", 7)
    teacher = random_teacher(len(news), seed=3)
    found = mined(news, teacher)
    train = news.members["train"]
    scores = teacher.queries.astype(np.float64) @ teacher.documents.T.astype(np.float64)
    anchors, counts = np.unique(found.anchor, return_counts=True)
    assert set(anchors) == set(train)
    assert counts.max() == 3
    for row, anchor in enumerate(found.anchor):
        of_anchor = np.flatnonzero(found.anchor == anchor)
        ranked = [n for n in train[np.argsort(-scores[anchor, train])] if n != anchor]
        if len(of_anchor) == 3:
            place = int(np.flatnonzero(of_anchor == row)[0])
            for rank, end in zip(
                (LISTS["positives"][place], LISTS["negatives"][place]), (found.positive, found.negative)
            ):
                assert rank is None or end[row] == ranked[rank - 1]
        assert len({anchor, found.positive[row], found.negative[row]}) == 3
    np.testing.assert_allclose(found.of_positive, scores[found.anchor, found.positive], rtol=1e-5)
    np.testing.assert_allclose(found.of_negative, scores[found.anchor, found.negative], rtol=1e-5)
    assert teacher.asked == set(train), "texts of validation and test are not read"


@pytest.mark.parametrize("kind", ["news", "questions"])
def test_no_label_is_read(kind, request, random_teacher):
    corpus = request.getfixturevalue(kind)
    rng = np.random.default_rng(1)
    groups = {name: rng.permutation(codes) for name, codes in corpus.groups.items()}
    pairs = {split: replace(each, label=1 - each.label) for split, each in corpus.pairs.items()}
    other, teacher = replace(corpus, groups=groups, pairs=pairs), random_teacher(len(corpus), seed=0)
    for one, two in zip(*(vars(mined(each, teacher)).items() for each in (corpus, other)), strict=True):
        if one[0] != "card":  # its digest of train is of labels as well
            np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize(("seed", "max_texts"), [(0, 3), (1, 20), (2, 60)])
def test_at_most_so_many_texts_are_used_and_the_same_seed_draws_the_same(news, random_teacher, seed, max_texts):
    teacher = random_teacher(len(news), seed=seed)
    one, two = (mined(news, teacher, seed=seed, max_texts=max_texts) for _ in range(2))
    texts = np.unique([one.anchor, one.positive, one.negative])
    assert len(texts) <= max_texts
    assert one.card == two.card
    np.testing.assert_array_equal(one.negative, two.negative)
    assert one.card["texts"] == min(max_texts, len(news.members["train"]))


def test_equal_texts_are_one_and_those_of_other_splits_are_left_out(news, random_teacher):
    texts = news.texts.to_pylist()
    texts[1], texts[2] = texts[0], texts[-1]  # a copy in train, and one in test
    found = mined(replace(news, texts=pa.array(texts)), random_teacher(len(news), seed=0))
    assert not {1, 2} & {*found.anchor, *found.positive, *found.negative}
    assert 0 in found.anchor


def test_lists_shorter_than_a_rank_are_filled_up_and_a_saved_file_is_read_again(news, random_teacher, tmp_path):
    found = mined(news, random_teacher(len(news), seed=0), positives=[99], negatives=[1])
    assert len(found) > 30
    found.save(tmp_path / "similarities.parquet")
    again = Similarities.load(tmp_path / "similarities.parquet")
    assert again.card == found.card
    for name in Similarities.columns():
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))


def test_what_makes_no_sense_is_refused(news, random_teacher, teacher_of):
    teacher = random_teacher(len(news), seed=0)
    with pytest.raises(ValueError, match="a positive and a negative for each triplet"):
        mined(news, teacher, negatives=[1])
    with pytest.raises(ValueError, match="a rank is at least 1, or null"):
        mined(news, teacher, positives=[0], negatives=[1])
    with pytest.raises(ValueError, match="learns similarities as cosines"):
        mined(news, teacher_of(2 * teacher.queries, 2 * teacher.queries))
    two = replace(news, members={**news.members, "train": news.members["train"][:2]})
    with pytest.raises(ValueError, match="a triplet has three different texts, and news has 2"):
        mined(two, teacher)
