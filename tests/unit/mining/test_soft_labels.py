"""Soft labels against a brute-force reference."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from twicetold.data.corpus import UNKNOWN
from twicetold.mining.pseudo_labels import PseudoPairs
from twicetold.mining.soft_labels import judge_pairs

SETTINGS = {"label": "cluster", "neighbours": 3, "texts_per_word": 1000, "most": 10_000, "duplicates": 0.2, "seed": 0}


def nearest(corpus, *, neighbours):
    """The unlabelled pairs of each train text with the others most like it, by looking at all of them."""
    texts, train = corpus.texts.to_pylist(), corpus.members["train"].tolist()
    unseen = {texts[n] for split in ("val", "test") for n in corpus.members[split].tolist()}
    free = [n for n in train if texts[n] not in unseen]
    assert len({texts[n] for n in free}) == len(free), "the reference takes all texts for different"
    rows = TfidfVectorizer(sublinear_tf=True).fit_transform([texts[n] for n in free])
    cosine = (rows @ rows.T).toarray()
    cluster = corpus.groups["cluster"]
    linked = lambda a, b: a == b or (cluster[a] == cluster[b] and cluster[a] >= 0)  # noqa: E731
    pairs = corpus.pairs["train"]
    judged = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    found = {}
    for row, text in enumerate(free):
        others = [(cosine[row, k], other) for k, other in enumerate(free) if not linked(text, other) and cosine[row, k]]
        least = sorted((c for c, _ in others), reverse=True)[: neighbours + 1]
        for c, other in others:
            known = any(
                (linked(a, text) and linked(b, other)) or (linked(a, other) and linked(b, text)) for a, b in judged
            )
            if not known and c >= (least[neighbours - 1] if len(least) >= neighbours else 0) - 1e-6:
                found[tuple(sorted((text, other)))] = c
    return found


def test_pairs_are_unlabelled_neighbours_of_train_alone(questions, random_teacher):
    found = judge_pairs(questions, random_teacher(len(questions), seed=1), **SETTINGS)
    got = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert len(got) == len(found) > 0
    assert got <= set(nearest(questions, neighbours=3)), "ties aside, nothing but the nearest"
    assert {n for pair in got for n in pair} <= set(questions.members["train"].tolist())
    assert found.card["candidates"] == found.card["already_labelled"] + len(found)


def test_odds_are_corrected_for_the_share_of_duplicates(questions, random_teacher):
    teacher = random_teacher(len(questions), seed=1)
    found = judge_pairs(questions, teacher, **SETTINGS)
    np.testing.assert_array_equal(found.probability, teacher.probability(found.left, found.right))
    v = float((questions.pairs["val"].label == 1).mean())
    odds = found.probability / (1 - found.probability) * (0.2 / 0.8) / (v / (1 - v))
    np.testing.assert_allclose(found.label, odds / (1 + odds), rtol=1e-5)
    as_in_validation = judge_pairs(questions, teacher, **{**SETTINGS, "duplicates": v})
    np.testing.assert_allclose(as_in_validation.label, found.probability, rtol=1e-5)


def test_so_many_pairs_are_drawn_and_the_same_each_time(questions, random_teacher, tmp_path):
    teacher = random_teacher(len(questions), seed=1)
    whole = judge_pairs(questions, teacher, **SETTINGS)
    for name in ("one", "two"):
        judge_pairs(questions, teacher, **{**SETTINGS, "most": 5}).save(tmp_path / f"{name}.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    few = PseudoPairs.load(tmp_path / "one.parquet")
    assert len(few) == 5
    everything = list(zip(whole.left.tolist(), whole.right.tolist(), strict=True))
    assert set(zip(few.left.tolist(), few.right.tolist(), strict=True)) < set(everything)
    assert everything == sorted(everything)


def test_a_teacher_needs_no_vectors(questions, random_teacher):
    class Judge:
        probability = staticmethod(random_teacher(len(questions), seed=1).probability)

    assert len(judge_pairs(questions, Judge(), **SETTINGS)) > 0


def test_documents_that_are_all_labelled_give_no_pairs_and_the_reason(news, random_teacher):
    found = judge_pairs(news, random_teacher(60, seed=0), **{**SETTINGS, "label": "story"})
    assert len(found) == 0
    assert found.card["reason"] == "every train text of news has a known story, so that no pair of them is unlabelled"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"duplicates": 0.0}, "between 0 and 1; got 0.0"),
        ({"duplicates": 1.0}, "between 0 and 1; got 1.0"),
        ({"neighbours": 0}, "at least 1; got 0 and"),
        ({"most": 0}, "at least 1; got 3 and 0"),
        ({"label": "story"}, "no group 'story' to go by"),
    ],
)
def test_wrong_settings_are_refused(questions, random_teacher, options, said):
    with pytest.raises(ValueError, match=said):
        judge_pairs(questions, random_teacher(len(questions), seed=1), **{**SETTINGS, **options})


def test_a_document_of_unknown_group_whose_text_has_a_known_one_asks_for_nothing(news, random_teacher):
    texts, story = news.texts.to_pylist(), news.groups["story"].copy()
    texts[7], story[7] = texts[0], UNKNOWN
    corpus = dataclasses.replace(news, texts=pa.array(texts), groups={**news.groups, "story": story})
    found = judge_pairs(corpus, random_teacher(60, seed=0), **{**SETTINGS, "label": "story"})
    assert len(found) == 0
    assert found.card["reason"] == "no two train texts of news are near each other and unlabelled"
