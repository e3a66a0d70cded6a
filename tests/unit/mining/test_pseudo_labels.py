"""Pseudo-labels against a brute-force reference on random vectors."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twicetold.data.clusters import duplicate_clusters
from twicetold.data.corpus import UNKNOWN, Corpus, Pairs
from twicetold.mining.pseudo_labels import PseudoPairs, label_pairs

TRAIN, VAL, TEST = range(12), (10, 11, 12, 13, 14), (11, 14, 15, 16)


def questions_of(words, pairs):
    """Labelled pairs of 17 texts: 10 and 11 are of train and of validation, 11 and 14 of test as well."""
    ends = np.array([p[:2] for p in pairs], np.int64).reshape(-1, 2)
    train = Pairs(*ends.T, np.array([p[2] for p in pairs], np.float32))
    same = train.label == 1
    members = {name: np.array(of) for name, of in (("train", TRAIN), ("val", VAL), ("test", TEST))}
    cluster = duplicate_clusters(17, left=train.left[same], right=train.right[same], members=members["train"])
    judged = np.array([1.0, 0.0, 1.0, 0.0], np.float32)
    return Corpus(
        name="small",
        kind="labelled_pairs",
        ids=pa.array([str(n) for n in range(17)]),
        texts=pa.array([f"text {w}" for w in words]),
        groups={"cluster": cluster},
        members=members,
        pairs={
            "train": train,
            "val": Pairs(np.array([10, 11, 12, 13]), np.array([11, 12, 13, 14]), judged),
            "test": Pairs(np.array([11, 14]), np.array([15, 16]), judged[:2]),
        },
    )


def expected(corpus, teacher, *, neighbours, above, below):
    """The labels by looking at every pair of texts in turn."""
    texts = corpus.texts.to_pylist()
    unseen = {texts[n] for n in (*VAL, *TEST)}
    free = [n for n in TRAIN if texts[n] not in unseen]
    link = {n: {n} for n in range(17)}
    train = list(zip(*(side.tolist() for side in vars(corpus.pairs["train"]).values()), strict=True))
    same = [(a, b) for a, b, label in train if label == 1]
    same += [(a, b) for a in range(17) for b in range(17) if texts[a] == texts[b]]
    for _ in range(17):
        for a, b in same:
            link[a] = link[b] = link[a] | link[b]
    judged = {frozenset((x, y)) for a, b, _ in train for x in link[a] for y in link[b]}
    found = {}
    for text in free:
        others = sorted(
            (n for n in free if n not in link[text]), key=lambda n: -teacher.queries[text] @ teacher.documents[n]
        )
        for other in others[:neighbours]:
            left, right = sorted((text, other))
            p = teacher.probability(np.array([left]), np.array([right])).item()
            if frozenset((text, other)) not in judged and (p >= above or p <= below):
                found[left, right] = float(p >= above)
    return found


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
    neighbours=st.integers(1, 14),
    bounds=st.sampled_from([(0.5, 0.4), (0.9, 0.1), (0.95, 0.5), (1.0, 0.0)]),
)
@settings(max_examples=80, deadline=None)
def test_labels_are_those_of_sure_unlabelled_neighbours_of_train_alone(
    random_teacher, words, pairs, seed, neighbours, bounds
):
    corpus, teacher = questions_of(words, pairs), random_teacher(17, seed=seed)
    above, below = bounds
    found = label_pairs(corpus, teacher, label="cluster", neighbours=neighbours, above=above, below=below)
    got = dict(zip(zip(found.left.tolist(), found.right.tolist()), found.label.tolist()))
    assert got == expected(corpus, teacher, neighbours=neighbours, above=above, below=below)
    assert len(got) == len(found)
    texts = corpus.texts.to_pylist()
    used = {texts[n] for n in (*found.left.tolist(), *found.right.tolist())}
    assert not used & {texts[n] for n in (*VAL, *TEST)}
    assert found.card["positives"] + found.card["negatives"] == len(found)
    card = found.card
    assert card["candidates"] == card["already_labelled"] + card["positives"] + card["negatives"] + card["unsure"]
    assert ("reason" in card) == (not got)
    np.testing.assert_array_equal(found.probability, teacher.probability(found.left, found.right))


def test_the_card_says_how_right_the_bounds_are_on_validation(random_teacher):
    corpus, teacher = questions_of(range(17), [(0, 1, 1.0), (2, 3, 0.0)]), random_teacher(17, seed=4)
    found = label_pairs(corpus, teacher, label="cluster", neighbours=3, above=0.6, below=0.4)
    val = corpus.pairs["val"]
    p = teacher.probability(val.left, val.right)
    for name, those in {"above": p >= 0.6, "below": p <= 0.4}.items():
        share = round(float(val.label[those].mean()), 4) if those.any() else None
        assert found.card["validation"][name] == {"pairs": int(those.sum()), "same": share}


def test_what_is_saved_is_read_again_and_the_same_each_time(random_teacher, tmp_path):
    corpus, teacher = questions_of(range(17), [(0, 1, 1.0)]), random_teacher(17, seed=4)
    for name in ("one", "two"):
        found = label_pairs(corpus, teacher, label="cluster", neighbours=3, above=0.6, below=0.4)
        found.save(tmp_path / f"{name}.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    again = PseudoPairs.load(tmp_path / "one.parquet")
    for field in dataclasses.fields(PseudoPairs):
        np.testing.assert_equal(getattr(again, field.name), getattr(found, field.name))


def test_documents_that_are_all_labelled_give_no_pairs_and_the_reason(news, random_teacher):
    found = label_pairs(news, random_teacher(60, seed=0), label="story", neighbours=3, above=0.6, below=0.4)
    assert len(found) == 0
    assert found.card["reason"] == "every train text of news has a known story, so that no pair of them is unlabelled"


def test_documents_of_unknown_group_are_paired_with_their_neighbours(news, random_teacher):
    story = news.groups["story"].copy()
    story[[0, 7]] = UNKNOWN
    corpus = dataclasses.replace(news, groups={**news.groups, "story": story})
    found = label_pairs(corpus, random_teacher(60, seed=0), label="story", neighbours=4, above=0.5, below=0.49)
    assert 4 <= len(found) <= 8
    assert all(left in (0, 7) or right in (0, 7) for left, right in zip(found.left.tolist(), found.right.tolist()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"above": 0.4, "below": 0.5}, "below < above"),
        ({"above": 1.5}, "are probabilities"),
        ({"neighbours": 0}, "at least 1; got 0"),
        ({"label": "story"}, r"no group 'story' to go by; it has \['cluster'\]"),
    ],
)
def test_wrong_settings_are_refused(random_teacher, options, said):
    corpus = questions_of(range(17), [(0, 1, 1.0)])
    settings = {"label": "cluster", "neighbours": 3, "above": 0.6, "below": 0.4, **options}
    with pytest.raises(ValueError, match=said):
        label_pairs(corpus, random_teacher(17, seed=0), **settings)
