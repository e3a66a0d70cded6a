"""Pseudo-labels against brute-force references."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from small_corpora import corpus_of
from twicetold_lab.data.corpus import UNKNOWN, Pairs
from twicetold_lab.data.sources import duplicate_clusters
from twicetold_lab.mining.pseudo_labels import PseudoPairs, mine

TRAIN, VAL, TEST = range(12), (10, 11, 12, 13, 14), (11, 14, 15, 16)
SETTINGS = {
    "label": "cluster",
    "seed": 0,
    "neighbours": 3,
    "max_df": 1000,
    "max_pairs": 10_000,
    "duplicates": 0.2,
}


def questions_of(words, pairs):
    """Labelled pairs of 17 texts: 10 and 11 are of train and of validation, 11 and 14 of test as well."""
    ends = np.array([p[:2] for p in pairs], np.int64).reshape(-1, 2)
    train = Pairs(*ends.T, np.array([p[2] for p in pairs], np.float32))
    same = train.label == 1
    members = {name: np.array(of) for name, of in (("train", TRAIN), ("val", VAL), ("test", TEST))}
    cluster = duplicate_clusters(17, left=train.left[same], right=train.right[same], members=members["train"])
    label = np.array([1.0, 0.0, 1.0, 0.0], np.float32)
    pairs = {
        "train": train,
        "val": Pairs(np.array([10, 11, 12, 13]), np.array([11, 12, 13, 14]), label),
        "test": Pairs(np.array([11, 14]), np.array([15, 16]), label[:2]),
    }
    texts = [f"text {w}" for w in words]
    return corpus_of(texts, kind="labelled_pairs", groups={"cluster": cluster}, members=members, pairs=pairs)


def candidates(corpus):
    """Every unlabelled pair of train texts that share a word, by looking at all of them; each text counts once."""
    texts, every = corpus.texts.to_pylist(), range(len(corpus))
    unseen = {texts[n] for split in ("val", "test") for n in corpus.members[split]}
    free = [n for n in corpus.members["train"].tolist() if texts[n] not in unseen and texts[n] not in texts[:n]]
    link = {n: {n} for n in every}
    train = list(zip(*(side.tolist() for side in vars(corpus.pairs["train"]).values()), strict=True))
    same = [(a, b) for a, b, label in train if label == 1]
    same += [(a, b) for a in every for b in every if texts[a] == texts[b]]
    for _ in every:
        for a, b in same:
            link[a] = link[b] = link[a] | link[b]
    labelled = {frozenset((x, y)) for a, b, _ in train for x in link[a] for y in link[b]}
    pairs = [(one, other) for one in free for other in free if one < other and other not in link[one]]
    return [pair for pair in pairs if frozenset(pair) not in labelled], free, link


@given(
    words=st.lists(st.integers(0, 30), min_size=17, max_size=17),
    pairs=st.lists(
        st.tuples(st.sampled_from(TRAIN), st.sampled_from(TRAIN), st.sampled_from([0.0, 1.0])).filter(
            lambda p: p[0] != p[1]
        ),
        min_size=1,
        max_size=8,
    ),
    seed=st.integers(0, 10**6),
    neighbours=st.sampled_from([1, 2, 5, 17]),
)
@settings(max_examples=80, deadline=None)
def test_pairs_are_all_unlabelled_ones_of_train_alone_or_the_nearest(random_teacher, words, pairs, seed, neighbours):
    corpus, teacher = questions_of(words, pairs), random_teacher(17, seed=seed)
    found = mine(corpus, teacher, **SETTINGS | {"neighbours": neighbours})
    got = list(zip(found.left.tolist(), found.right.tolist()))
    expected = candidates(corpus)[0]
    assert set(got) <= set(expected)
    assert neighbours < 17 or got == expected
    assert got == sorted(set(got))
    assert found.card["candidates"] == found.card["already_labelled"] + len(found)
    assert ("reason" in found.card) == (not got)
    np.testing.assert_array_equal(found.probability, teacher.probability(found.left, found.right))


def test_pairs_are_unlabelled_neighbours_of_train_alone(questions, random_teacher):
    found = mine(questions, random_teacher(len(questions), seed=1), **SETTINGS)
    got = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
    pairs, free, link = candidates(questions)
    assert 0 < len(got) == len(found)
    assert got <= set(pairs)
    rows = TfidfVectorizer(sublinear_tf=True).fit_transform([questions.texts[n].as_py() for n in free])
    cosine = {one: dict(zip(free, row)) for one, row in zip(free, (rows @ rows.T).toarray())}

    def nearer(one, other):
        return sum(cosine[one][n] > cosine[one][other] + 1e-6 for n in free if n not in link[one])

    assert all(min(nearer(a, b), nearer(b, a)) < SETTINGS["neighbours"] for a, b in got), (
        "ties aside, the nearest alone"
    )
    assert found.card["candidates"] == found.card["already_labelled"] + len(found)


def test_odds_of_soft_labels_are_corrected_for_the_share_of_duplicates(questions, random_teacher):
    teacher = random_teacher(len(questions), seed=1)
    found = mine(questions, teacher, **SETTINGS)
    np.testing.assert_array_equal(found.probability, teacher.probability(found.left, found.right))
    v = float((questions.pairs["val"].label == 1).mean())
    odds = found.probability / (1 - found.probability) * (0.2 / 0.8) / (v / (1 - v))
    np.testing.assert_allclose(found.label, odds / (1 + odds), rtol=1e-5)
    as_in_validation = mine(questions, teacher, **SETTINGS | {"duplicates": v})
    np.testing.assert_allclose(as_in_validation.label, found.probability, rtol=1e-5)


def test_so_many_pairs_are_drawn_and_saved_the_same_each_time(questions, random_teacher, tmp_path):
    teacher = random_teacher(len(questions), seed=1)
    whole = mine(questions, teacher, **SETTINGS)
    for name in ("one", "two"):
        mine(questions, teacher, **SETTINGS | {"max_pairs": 5}).save(tmp_path / f"{name}.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    few, drawn = PseudoPairs.load(tmp_path / "one.parquet"), mine(questions, teacher, **SETTINGS | {"max_pairs": 5})
    for field in dataclasses.fields(PseudoPairs):
        np.testing.assert_equal(getattr(few, field.name), getattr(drawn, field.name))
    assert len(few) == 5
    everything = list(zip(whole.left.tolist(), whole.right.tolist(), strict=True))
    assert set(zip(few.left.tolist(), few.right.tolist(), strict=True)) < set(everything)
    assert everything == sorted(everything)


def test_a_teacher_needs_no_vectors(questions, random_teacher):
    class WithoutVectors:
        probability = staticmethod(random_teacher(len(questions), seed=1).probability)

    assert len(mine(questions, WithoutVectors(), **SETTINGS)) > 0


def test_documents_that_are_all_labelled_give_no_pairs_and_the_reason(news, random_teacher):
    found = mine(news, random_teacher(60, seed=0), **SETTINGS | {"label": "story"})
    assert len(found) == 0
    assert found.card["reason"] == "every train text of news has a known story, so that no pair of them is unlabelled"


def test_documents_of_unknown_group_are_paired_with_their_neighbours(news, random_teacher):
    story = news.groups["story"].copy()
    story[[0, 7]] = UNKNOWN
    corpus = dataclasses.replace(news, groups={**news.groups, "story": story})
    found = mine(corpus, random_teacher(60, seed=0), **SETTINGS | {"label": "story", "neighbours": 4})
    assert 4 <= len(found) <= 8
    assert all(left in (0, 7) or right in (0, 7) for left, right in zip(found.left.tolist(), found.right.tolist()))
    np.testing.assert_allclose(found.label, found.probability, rtol=1e-5)


def test_a_document_of_unknown_group_whose_text_has_a_known_one_asks_for_nothing(news, random_teacher):
    texts, story = news.texts.to_pylist(), news.groups["story"].copy()
    texts[7], story[7] = texts[0], UNKNOWN
    corpus = dataclasses.replace(news, texts=pa.array(texts), groups={**news.groups, "story": story})
    found = mine(corpus, random_teacher(60, seed=0), **SETTINGS | {"label": "story"})
    assert len(found) == 0
    assert found.card["reason"] == "no two train texts of news are near each other and unlabelled"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"duplicates": 0.0}, "between 0 and 1; got 0.0"),
        ({"duplicates": 1.0}, "between 0 and 1; got 1.0"),
        ({"neighbours": 0}, "at least 1; got 0 and"),
        ({"max_pairs": 0}, "at least 1; got 3 and 0"),
        ({"label": "story"}, r"no group 'story'; it has \['cluster'\]: set data.label=cluster "),
    ],
)
def test_wrong_settings_are_refused(random_teacher, options, said):
    corpus = questions_of(range(17), [(0, 1, 1.0)])
    with pytest.raises(ValueError, match=said):
        mine(corpus, random_teacher(17, seed=0), **SETTINGS | options)
