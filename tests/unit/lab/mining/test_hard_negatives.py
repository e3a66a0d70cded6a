"""Hard negatives of a trained model against a brute-force reference on random vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_corpora import documents_of
from twicetold_lab.data.corpus import UNKNOWN
from twicetold_lab.mining import hard_negatives
from twicetold_lab.mining.hard_negatives import mine


def corpus_of(codes):
    """Documents with the group `g`, all of train but for one of validation and one of test, which are of group 0."""
    return documents_of([f"text {n}" for n in range(len(codes))], codes)


def allowed(corpus, teacher, anchor, positive, *, ranks, margin):
    """The negatives that a triplet may have, by comparing the anchor with every text in turn."""
    codes = corpus.groups["g"]
    texts = [n for n in corpus.members["train"] if codes[n] not in (codes[anchor], UNKNOWN)]
    scores = {n: float(teacher.queries[anchor] @ teacher.documents[n]) for n in texts}
    window = sorted(texts, key=lambda n: -scores[n])[ranks[0] - 1 : ranks[1]]
    most = float(teacher.queries[anchor] @ teacher.documents[positive]) - margin
    return {n for n in window if scores[n] <= most + 1e-6}


@given(
    codes=st.lists(st.integers(UNKNOWN, 5), min_size=10, max_size=40),
    seed=st.integers(0, 10**6),
    per_anchor=st.integers(1, 4),
    first=st.integers(1, 6),
    width=st.integers(0, 12),
    margin=st.sampled_from([-3.0, -0.2, 0.0, 0.05, 0.5]),
)
@settings(max_examples=60, deadline=None)
def test_negatives_are_of_the_window_below_the_margin_and_of_another_group(
    random_teacher, codes, seed, per_anchor, first, width, margin
):
    corpus = corpus_of([0, 0, 1, 1, *codes])
    teacher = random_teacher(len(corpus), seed=seed)
    ranks = [first, first + width]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hard_negatives, "ANCHORS", 3)
        found = mine(corpus, teacher, label="g", seed=seed, per_anchor=per_anchor, ranks=ranks, margin=margin)
    drawn = {}
    filled = 0
    for anchor, positive, negative in zip(found.anchor.tolist(), found.positive.tolist(), found.negative.tolist()):
        may = allowed(corpus, teacher, anchor, positive, ranks=ranks, margin=margin)
        drawn.setdefault(anchor, []).append((may, negative))
        filled += negative not in may
        assert corpus.groups["g"][anchor] == corpus.groups["g"][positive]
        assert corpus.groups["g"][negative] not in (corpus.groups["g"][anchor], UNKNOWN)
    assert found.card["negatives"]["other_group"] >= filled
    for triplets in drawn.values():
        for may, negative in triplets:
            if negative not in may:  # a random one filled up, so that the candidates are used up
                assert may <= {other for _, other in triplets}
    assert teacher.asked <= set(corpus.members["train"].tolist())


def test_without_a_margin_to_speak_of_the_window_alone_decides(random_teacher):
    corpus = corpus_of(np.repeat(np.arange(20), 3).tolist())
    teacher = random_teacher(len(corpus), seed=1)
    found = mine(corpus, teacher, label="g", seed=0, per_anchor=3, ranks=[2, 4], margin=-10)
    assert found.card["negatives"] == {"hard": 180, "other_group": 0}
    assert found.card["candidates_within_margin"] == 0
    for anchor in range(60):
        expected = allowed(corpus, teacher, anchor, anchor, ranks=[2, 4], margin=-10)
        assert set(found.negative[found.anchor == anchor].tolist()) == expected


def test_candidates_too_near_are_counted_for_each_triplet(teacher_of):
    """Texts 0 and 1 are one group; 2 is nearer to 0 than 1 is, 3 is farther."""
    vectors = np.array([[1, 0], [0.8, 0.6], [0.9, 0.4359], [0.1, 0.995], [0, 0], [0, 0]], np.float32)
    corpus = corpus_of([0, 0, 1, 1])
    found = mine(corpus, teacher_of(vectors, vectors), label="g", seed=0, per_anchor=1, ranks=[1, 2], margin=0.05)
    of = dict(zip(found.anchor.tolist(), found.negative.tolist()))
    assert of[0] == 3
    assert found.card["candidates_within_margin"] == sum({0: 1, 1: 1, 2: 2, 3: 1}.values())


def test_the_same_seed_gives_the_same_triplets_and_another_seed_others(random_teacher):
    corpus = corpus_of(np.repeat(np.arange(30), 3).tolist())
    teacher = random_teacher(len(corpus), seed=2)
    mined = [mine(corpus, teacher, label="g", seed=seed, per_anchor=2, ranks=[1, 20], margin=-2) for seed in (7, 7, 8)]
    assert mined[0].negative.tolist() == mined[1].negative.tolist() != mined[2].negative.tolist()


@pytest.mark.parametrize("ranks", [[0, 5], [5, 4]])
def test_a_window_that_is_none_is_refused(ranks, random_teacher):
    corpus = corpus_of([0, 0, 1, 1])
    with pytest.raises(ValueError, match="1 <= first <= last"):
        mine(corpus, random_teacher(6, seed=0), label="g", seed=0, per_anchor=1, ranks=ranks, margin=0)
