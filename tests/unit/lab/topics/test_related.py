"""Related articles against a loop over all pairs, and what each way of ranking means."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.topics.near_copies import COPY, jaccard, word_sets
from twicetold.topics.spherical import unit
from twicetold_lab.topics import related as module
from twicetold_lab.topics.related import (
    RANKS,
    SHOWN,
    Articles,
    by_popularity,
    by_query,
    copies,
    lists,
    reading,
    related,
)

DAYS = 7
BOTH = pytest.mark.parametrize("form", ["dense", "sparse"])
READ = pytest.mark.parametrize("read", [1, 3])


def made(form="dense", texts=40, seed=0):
    """Articles with stories, some of none, on quarters of days, so that many are exactly at the end of a window."""
    random = np.random.default_rng(seed)
    day, story = np.sort(random.integers(0, 60, texts) / 4.0), random.integers(-1, 9, texts)
    vectors = unit(random.normal(size=(texts, 5)).astype(np.float32))
    if form == "sparse":
        vectors = sparse.random(texts, 12, 0.2, "csr", np.float32, random_state=seed)
    said = [f"w{random.integers(5)} w{random.integers(5)} w{random.integers(5)}" for _ in range(texts)]
    return Articles(vectors, vectors, day, story, word_sets(said))


def naive(articles, codes, read, score):
    """Values and list of one query, by a loop."""
    day, query = articles.day, read[-1]
    near = [c for c in range(len(articles)) if c not in read and abs(day[c] - day[query]) <= DAYS]
    relevant = {c for c in near if codes[c] == codes[query]}
    scores = {c: score(read, c) for c in near}
    order = sorted((c for c in near if scores[c] > -np.inf), key=lambda c: (-scores[c], c))
    values = {"mrr": next((1 / place for place, c in enumerate(order, 1) if c in relevant), 0)}
    for k in RANKS:
        gained = sum(1 / np.log2(place + 1) for place, c in enumerate(order[:k], 1) if c in relevant)
        values[f"ndcg_at_{k}"] = gained / sum(1 / np.log2(place + 1) for place in range(1, min(k, len(relevant)) + 1))
    return values, order[:SHOWN]


@READ
def test_a_query_is_the_last_that_was_read_and_has_a_relevant_text_left(read):
    articles = made()
    story, day, expected = articles.story, articles.day, []
    for query in range(len(articles)):
        mine = [row for row in range(query + 1) if story[row] == story[query]][-read:]
        others = [
            row
            for row in range(len(articles))
            if story[row] == story[query] and row not in mine and abs(day[row] - day[query]) <= DAYS
        ]
        if story[query] >= 0 and len(mine) == read and day[query] - day[mine[0]] <= DAYS and others:
            expected.append(mine)
    assert reading(story, day, days=DAYS, read=read).tolist() == expected
    assert len(expected) > 5


@BOTH
@READ
@pytest.mark.parametrize("block", [module.BLOCK, 100])
def test_lists_and_measures_are_those_of_a_loop(form, read, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    articles = made(form)
    asked = reading(articles.story, articles.day, days=DAYS, read=read)
    vectors = articles.documents.toarray() if form == "sparse" else articles.documents

    def score(read, candidate):
        found = round(float(vectors[read].mean(axis=0, dtype=np.float32) @ vectors[candidate]), 5)
        return -np.inf if form == "sparse" and found <= 0 else found

    by_mean = by_query(articles, asked)
    found = lists(articles, articles.story, asked, lambda *part: np.round(by_mean(*part), 5), days=DAYS)
    for place, one in enumerate(asked.tolist()):
        values, order = naive(articles, articles.story, one, score)
        assert {name: each[place] for name, each in found.values.items()} == pytest.approx(values)
        assert [row for row in found.shown[place].tolist() if row >= 0] == order


def test_the_most_popular_story_so_far_comes_first_and_its_latest_text_before_the_others():
    articles = made()
    story, day = articles.story, articles.day
    asked = reading(story, day, days=DAYS, read=1)

    def score(read, candidate):
        if story[candidate] < 0:
            return candidate
        same = (story == story[candidate]) & (day <= day[read[-1]]) & (day >= day[read[-1]] - DAYS)
        return (same.sum() - (story[candidate] == story[read[-1]])) * len(articles) + candidate

    found = lists(articles, story, asked, by_popularity(articles, asked, days=DAYS), days=DAYS)
    for place, one in enumerate(asked.tolist()):
        assert [row for row in found.shown[place].tolist() if row >= 0] == naive(articles, story, one, score)[1]


def test_near_copies_are_those_of_a_loop():
    articles = made()
    asked = reading(articles.story, articles.day, days=DAYS, read=1)
    shown = lists(articles, articles.story, asked, by_query(articles, asked), days=DAYS).shown
    has = articles.words.toarray() > 0

    def alike(one, other):
        return (has[one] & has[other]).sum() / (has[one] | has[other]).sum() >= COPY

    for query, listed, share in zip(asked[:, 0], shown, copies(articles.words, asked[:, 0], shown)):
        there = [row for row in listed if row >= 0]
        again = [any(alike(above, row) for above in [query, *there[:place]]) for place, row in enumerate(there)]
        assert share == pytest.approx(sum(again) / max(len(again), 1))


def test_words_are_compared_without_case_and_marks_and_texts_without_words_are_like_none():
    words = word_sets(["Fed cuts rate!", "fed CUTS, rate", "fed", "?!", ""])
    left, right = np.array([0, 0, 3, 3]), np.array([1, 2, 4, 3])
    assert jaccard(words, left, right) == pytest.approx([1, 1 / 3, 0, 0])


def test_vectors_that_tell_stories_apart_rank_them_and_a_history_helps_vectors_that_are_noisy():
    random = np.random.default_rng(1)
    story = np.sort(random.integers(0, 60, 600))
    day = story / 10 + random.random(600) / 10
    centres = unit(random.normal(size=(60, 20)))
    noisy = unit((centres[story] + 0.25 * random.normal(size=(600, 20))).astype(np.float32))
    order = np.argsort(day)
    articles = Articles(noisy[order], noisy[order], day[order], story[order], word_sets(["a b c"] * 600))
    found = related(articles, {"story": story[order]}, days=DAYS)["story"]
    assert set(found) == {"query", "popularity", "history_mean", "history_last"}
    assert found["query"].metrics["ndcg_at_10"] > found["popularity"].metrics["ndcg_at_10"] + 0.1
    assert found["history_mean"].metrics["ndcg_at_10"] > found["history_last"].metrics["ndcg_at_10"] + 0.1
    low, high = found["query"].intervals["ndcg_at_10"]
    assert low < found["query"].metrics["ndcg_at_10"] < high
    assert found["query"].metrics["near_copies"] == 1, "all texts are equal here"
    assert 0 < found["query"].metrics["coverage"] <= 1


def test_more_queries_than_most_are_sampled_by_the_seed_and_a_label_of_nobody_has_no_way():
    articles = made(texts=80)
    none = np.full(80, -1)
    found = related(articles, {"story": articles.story, "none": none}, days=DAYS, most=9)
    assert found["story"]["query"].metrics["queries"] == 9
    assert found["none"] == {}
    again = related(articles, {"story": articles.story}, days=DAYS, most=9)
    assert again["story"]["query"] == found["story"]["query"]
