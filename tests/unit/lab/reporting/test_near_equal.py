import numpy as np
import pyarrow as pa
import pytest

from twicetold_lab.data.corpus import SPLITS, UNKNOWN, Corpus, Pairs
from twicetold_lab.reporting.near_equal import count_near_equal, near_equal

TITLES = [  # story, title
    (0, "Fannie Mae and Freddie Mac post profits driven by settlements"),
    (0, "Fannie Mae and Freddie Mac post profits driven by settlements"),
    (1, "Update: Fannie Mae and Freddie Mac post profits driven by settlements"),
    (1, "FANNIE MAE and Freddie Mac post profits, driven by settlements"),
    (2, "Markets open"),
    (3, "Markets open"),
    (4, "A review of the new *film* about <b>ants</b> | today"),
    (5, "A review of the new *film* about <b>ants</b> | tonight"),
    (UNKNOWN, "A review of the new *film* about <b>ants</b> | today"),
    (6, "Nothing like it here at all"),
]


@pytest.fixture
def corpus():
    stories, titles = zip(*(TITLES * 3), strict=True)
    size = len(TITLES)
    return Corpus(
        name="news",
        kind="documents",
        ids=pa.array([str(i) for i in range(3 * size)]),
        texts=pa.array(titles),
        groups={"story": np.array(stories), "category": np.zeros(3 * size, np.int64)},
        members={split: np.arange(i * size, (i + 1) * size) for i, split in enumerate(SPLITS)},
    )


def naive(texts):
    """Near-equal pairs by a loop."""
    words = [set("".join(c if c.isalnum() else " " for c in text.lower()).split()) - {"a"} for text in texts]
    found = set()
    for i, one in enumerate(words):
        for j in range(i + 1, len(texts)):
            other = words[j]
            if min(len(one), len(other)) >= 4 and len(one & other) / np.sqrt(len(one) * len(other)) >= 0.85:
                found.add((i, j))
    return found


def test_near_equal_texts_are_those_of_a_naive_loop():
    rng = np.random.default_rng(0)
    vocabulary = [f"word{i}" for i in range(12)]
    texts = [" ".join(rng.choice(vocabulary, rng.integers(1, 10))) for _ in range(150)]
    left, right = near_equal(texts)
    found = naive(texts)
    assert len(found) > 20
    assert set(zip(left.tolist(), right.tolist(), strict=True)) == found


def test_pairs_are_counted_within_and_between_groups_and_unlabelled_texts_left_out(corpus):
    card = count_near_equal(corpus)
    assert card["near_equal_pairs_in_one_group"] == {"val": 2, "test": 2}
    assert card["near_equal_pairs_of_two_groups"] == {"val": 5, "test": 5}


def test_texts_without_words_have_no_twins():
    left, right = near_equal(["?", "!", "a b"])
    assert len(left) == len(right) == 0


def test_graded_pairs_have_no_groups_and_no_twins(corpus):
    whole = {split: Pairs(m[:2], m[1:3], np.array([1.0, 4.0], np.float32)) for split, m in corpus.members.items()}
    graded = Corpus("graded", "graded_pairs", corpus.ids, corpus.texts, {}, corpus.members, whole)
    assert count_near_equal(graded) == {}
