from itertools import count

import numpy as np
import pytest

from twicetold_lab.data.corpus import UNKNOWN
from twicetold_lab.data.sources import toy_threads


def read(**options):
    return toy_threads.read(None, name="toy_threads", **options)


def pairs_of(corpus, split, label):
    texts, pairs = corpus.texts.to_pylist(), corpus.pairs[split]
    rows = pairs.label == label
    return [(texts[one], texts[other]) for one, other in zip(pairs.left[rows].tolist(), pairs.right[rows].tolist())]


def ends(text):
    return text.replace("?", ".").count(".")


@pytest.mark.parametrize("history", [1, 2, 5])
def test_a_turn_is_paired_with_the_turns_right_before_it(history, monkeypatch):
    thread = count(-1)
    now = []

    def utterance(event, meaning, place, rng):
        if place == 0:
            now[:] = [next(thread)]
        return f"{now[0]}.{place}"

    monkeypatch.setattr(toy_threads, "_utterance", utterance)
    corpus = read(threads=20, history=history)
    found = [pair for split in corpus.pairs for pair in pairs_of(corpus, split, 1)]
    assert len(found) > 50
    for turn, before in found:
        number, place = turn.split(".")
        places = range(max(0, int(place) - history), int(place))
        assert before == " ".join(f"{number}.{earlier}" for earlier in places)


def test_a_longer_history_has_more_turns():
    short, long = (read(threads=40, history=history) for history in (1, 4))
    mean = [np.mean([ends(history) for _, history in pairs_of(corpus, "train", 1)]) for corpus in (short, long)]
    assert mean[0] < mean[1]


def test_a_negative_history_is_of_another_thread_and_of_the_same_split():
    corpus = read(threads=60)
    thread = {}
    for split in corpus.pairs:
        own = dict(pairs_of(corpus, split, 1))
        others = pairs_of(corpus, split, 0)
        histories = set(own.values())
        assert len(others) == len(own)
        for turn, history in others:
            assert history in histories
            assert history != own[turn]
        thread[split] = {*own, *histories}
    assert not thread["train"] & thread["test"]
    assert not thread["train"] & thread["val"]
    assert not thread["val"] & thread["test"]


def test_texts_of_one_thread_of_train_are_one_cluster():
    corpus = read(threads=60)
    cluster, train = corpus.groups["cluster"], corpus.members["train"]
    assert (cluster[train] != UNKNOWN).all()
    assert (np.delete(cluster, train) == UNKNOWN).all()
    pairs = corpus.pairs["train"]
    same = cluster[pairs.left] == cluster[pairs.right]
    assert (same == (pairs.label == 1)).all()
    assert np.bincount(cluster[train]).max() > 4  # several turns and their histories


def test_two_threads_in_every_split_are_needed():
    with pytest.raises(ValueError, match="use more `threads`"):
        read(threads=3)


@pytest.mark.parametrize("history", [0, -1])
def test_a_history_of_no_turn_is_refused(history):
    with pytest.raises(ValueError, match="at least 1; got"):
        read(history=history)
