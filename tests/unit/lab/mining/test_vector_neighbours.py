"""Neighbours by a teacher's vectors against a loop over all pairs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_corpora import documents_of
from twicetold import layout
from twicetold_lab.data.corpus import UNKNOWN
from twicetold_lab.examples.self_training import VECTOR_NEIGHBOURS, VectorNeighbours
from twicetold_lab.mining import vector_neighbours
from twicetold_lab.mining.vector_neighbours import NearestPairs, mine


@given(numbers=st.lists(st.integers(0, 12), min_size=4, max_size=40), seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_neighbour_is_the_other_text_of_the_highest_similarity(random_teacher, numbers, seed):
    corpus = documents_of([f"text {n}" for n in (0, 1, *numbers)])
    teacher = random_teacher(len(corpus), seed=seed)
    texts = corpus.texts.to_pylist()
    best = {}
    for one in corpus.members["train"].tolist():
        scores = {
            other: float(teacher.queries[one] @ teacher.documents[other])
            for other in corpus.members["train"].tolist()
            if texts[other] != texts[one]
        }
        if max(scores.values()) > 0:
            best[one] = max(scores.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_neighbours, "ANCHORS", 3)
        if not best:
            with pytest.raises(ValueError, match="no train text of 'small' is like another one"):
                mine(corpus, teacher, label="g", seed=0)
            return
        found = mine(corpus, teacher, label="g", seed=0)
    assert found.anchor.tolist() == sorted(best)
    assert teacher.asked <= set(corpus.members["train"].tolist())
    chosen = np.einsum("pd,pd->p", teacher.queries[found.anchor], teacher.documents[found.positive])
    np.testing.assert_allclose(chosen, [best[anchor] for anchor in found.anchor.tolist()], rtol=1e-5)
    assert all(texts[one] != texts[other] for one, other in zip(found.anchor, found.positive, strict=True))


def test_the_card_says_how_many_guesses_the_labels_confirm(random_teacher):
    corpus = documents_of([f"text {n}" for n in range(20)])
    corpus = replace(corpus, groups={"g": np.where(np.arange(22) < 15, corpus.groups["g"], UNKNOWN)})
    found = mine(corpus, random_teacher(22, seed=2), label="g", seed=0)
    one, other = corpus.groups["g"][found.anchor], corpus.groups["g"][found.positive]
    known = (one != UNKNOWN) & (other != UNKNOWN)
    assert found.card["positives"] == {
        "of_known_group": known.sum(),
        "of_the_anchors_group": (known & (one == other)).sum(),
    }
    assert found.card["pairs"] + found.card["texts_without_neighbour"] == found.card["texts"] == 20


def test_a_text_without_a_vector_has_no_neighbour(teacher_of):
    vectors = np.eye(6, 3, dtype=np.float32)  # rows from the fourth on are zero
    vectors[1] = vectors[0]
    found = mine(documents_of([f"text {n}" for n in range(4)]), teacher_of(vectors, vectors), label="g", seed=0)
    assert found.anchor.tolist() == [0, 1]
    assert found.positive.tolist() == [1, 0]


def test_neighbours_of_neighbours_are_of_one_group(tmp_path):
    corpus = documents_of([f"text {n}" for n in range(8)])
    pairs = NearestPairs(np.array([0, 1, 4]), np.array([1, 2, 5]), {"train": corpus.train_digest()})
    pairs.save(layout.mined_file(tmp_path, VECTOR_NEIGHBOURS))
    index = VectorNeighbours(str(tmp_path)).index(corpus, tmp_path / "unused")
    assert index.anchor.tolist() == [0, 1, 4]
    assert index.positive.tolist() == [1, 2, 5]
    assert index.group.tolist() == index.positive_group.tolist()
    assert index.group[0] == index.group[1] != index.group[2]
    assert index.label is None
