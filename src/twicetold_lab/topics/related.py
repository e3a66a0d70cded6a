r"""Related articles: a headline as query, and what a reader of it is shown.

Candidates are the other headlines that were published within some days of the query, on either side. Relevant are
those of the query's label: its story, or its category. For each label:

- `query`: ranked by the model's score of the query.
- `popularity`: the same list for everybody: headlines of the story that had most headlines so far, in the days up to
  the query and without it; the latest first. It knows stories, which the models do not.
- `history_mean`, `history_last`: a reader has read three headlines of the label, the query last. Candidates are ranked
  by the mean of the three vectors, or by the last one alone; what was read is no candidate. Both have the same queries.

| measure | what it is |
|---|---|
| `ndcg_at_k` | normalised discounted cumulative gain of the first k, relevance 0 or 1 (Järvelin and Kekäläinen 2002) |
| `mrr` | mean of 1 / rank of the first relevant one; 0 if none is found, as where a lexical family shares no term |
| `near_copies` | share of the first ten that are near-copies of the query or of one above: no news to the reader |
| `coverage` | share of all headlines that are among the first ten of some query |

Two headlines are near-copies if they share at least `COPY` of their words (Jaccard, case and marks aside), whatever
the model. 95 % intervals are of the mean over queries and resample stories, as headlines of one are not independent.

Queries are gone through in blocks; a block holds the scores of its queries with the candidates of its days.

Shape letters: M texts in order of time, Q queries, H headlines that were read, b queries and w candidates of a block,
k ranks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.evaluation.inputs import UNKNOWN
from twicetold.evaluation.intervals import Interval
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.nearest import Matrix, similarities
from twicetold.topics.near_copies import COPY, jaccard
from twicetold_lab.evaluation.pair_intervals import clustered_mean_interval

RANKS = (1, 3, 10)
SHOWN = max(RANKS)
HISTORY = 3
MOST_QUERIES = 2000
BLOCK = 4_000_000  # scores held at a time, some 100 MB with what is made of them
NOBODY = -1
Ints = NDArray[np.int64]
Score = Callable[[Ints, slice], Floats]
"""From places of b queries and a slice of w candidates to (b, w) scores, -inf of what cannot be found."""


@dataclass(frozen=True)
class Ranked:
    """Quality of some lists."""

    metrics: dict[str, float]
    intervals: dict[str, Interval]


@dataclass(frozen=True)
class Articles:
    """Texts that were published one after another.

    Args:
        queries: (M, D) vectors as queries, dense or CSR.
        documents: (M, D) vectors as documents.
        day: (M,) days, not falling.
        story: (M,) codes of what is resampled as a whole, `UNKNOWN` where there is none.
        words: (M, V) which words each text has, 0 or 1; see `near_copies.word_sets`.
    """

    queries: Matrix
    documents: Matrix
    day: Floats
    story: Ints
    words: sparse.csr_matrix

    def __len__(self) -> int:
        return len(self.day)


@dataclass(frozen=True)
class Lists:
    """The first `SHOWN` of each list, and what they are worth."""

    shown: Ints
    """(Q, SHOWN) texts, `NOBODY` where there are fewer."""
    values: dict[str, Floats]
    """Of each query: `ndcg_at_k` and `mrr`."""


def related(
    articles: Articles, labels: Mapping[str, Ints], *, days: float, most: int = MOST_QUERIES, seed: int = 0
) -> dict[str, dict[str, Ranked]]:
    """Measure related articles.

    Args:
        articles: the texts.
        labels: name -> (M,) codes, `UNKNOWN` where there is none.
        days: between a query and a candidate, at most.
        most: queries of each kind; of more, a sample is taken.
        seed: of the sample.

    Returns:
        Label -> way of ranking -> measures; without a way that has no query.
    """
    measures: dict[str, dict[str, Ranked]] = {}
    for name, codes in labels.items():
        alone = sampled(reading(codes, articles.day, days=days, read=1), most, seed)
        several = sampled(reading(codes, articles.day, days=days, read=HISTORY), most, seed)
        ways: dict[str, tuple[Ints, Score]] = {
            "query": (alone, by_query(articles, alone)),
            "popularity": (alone, by_popularity(articles, alone, days=days)),
            "history_mean": (several, by_query(articles, several)),
            "history_last": (several, by_query(articles, several[:, -1:])),
        }
        measures[name] = {
            way: measured(articles, read, lists(articles, codes, read, score, days=days))
            for way, (read, score) in ways.items()
            if len(read)
        }
    return measures


def reading(codes: Ints, day: Floats, *, days: float, read: int) -> Ints:
    """(Q, H) queries: the headlines that were read, in order, each the next one of its label, the query last.

    Args:
        codes: (M,) labels, `UNKNOWN` where there is none.
        day: (M,) not falling.
        days: the first one read is at most so many before the query.
        read: H. A query has at least one more text of its label within the days.
    """
    rows = np.flatnonzero(codes != UNKNOWN)
    order = rows[np.argsort(codes[rows], kind="stable")]
    label, time = codes[order], day[order]
    end = np.arange(read - 1, len(order))
    first = end - (read - 1)
    kept = (label[first] == label[end]) & (time[end] - time[first] <= days)
    end = end[kept]
    last = order[end]
    within = _count(label, time, codes[last], day[last] - days, day[last] + days)
    end = end[within > read]
    queries = order[end[:, None] + np.arange(1 - read, 1)]
    return np.asarray(queries[np.argsort(queries[:, -1], kind="stable")], np.int64)


def sampled(read: Ints, most: int, seed: int) -> Ints:
    """At most so many queries, in their order."""
    if len(read) <= most:
        return read
    return read[np.sort(np.random.default_rng(seed).choice(len(read), most, replace=False))]


def by_query(articles: Articles, read: Ints) -> Score:
    """Score by the mean of the vectors of what was read."""
    count, depth = read.shape
    if depth == 1:
        asked = articles.queries[read[:, 0]]
    else:
        place = (np.repeat(np.arange(count), depth), read.ravel())
        mean = sparse.csr_matrix((np.full(read.size, 1 / depth, np.float32), place), (count, len(articles)))
        asked = mean @ articles.queries

    def score(places: Ints, candidates: slice) -> Floats:
        similar = similarities(asked[places], articles.documents[candidates])(slice(0, len(places)))
        return similar.astype(np.float64)

    return score


def by_popularity(articles: Articles, read: Ints, *, days: float) -> Score:
    """Score by how many headlines the candidate's story had in the days up to the query, the latest first."""
    story, day = articles.story, articles.day
    order = np.lexsort((np.arange(len(story)), story))

    def score(places: Ints, candidates: slice) -> Floats:
        query = read[places, -1]
        own = story[candidates]
        stories, which = np.unique(own, return_inverse=True)
        end = np.repeat(day[query][:, None], len(stories), axis=1)
        code = np.broadcast_to(stories, end.shape)
        count = _count(story[order], day[order], code.ravel(), (end - days).ravel(), end.ravel()).reshape(end.shape)
        count = np.where(code == UNKNOWN, 0, count - (code == story[query][:, None]))
        return np.asarray(count[:, which] * float(len(story)) + np.arange(len(story))[candidates])

    return score


def lists(articles: Articles, codes: Ints, read: Ints, score: Score, *, days: float) -> Lists:
    """Rank the candidates of each query.

    Args:
        articles: the texts.
        codes: (M,) labels: candidates with that of the query are relevant.
        read: (Q, H) what was read, the query last.
        score: of the queries, by their places in `read`.
        days: between a query and a candidate, at most.
    """
    shown = np.full((len(read), SHOWN), NOBODY, np.int64)
    values = {name: np.zeros(len(read)) for name in (*(f"ndcg_at_{k}" for k in RANKS), "mrr")}
    gain = 1 / np.log2(np.arange(2, SHOWN + 2))
    step = max(1, BLOCK // len(articles))
    for start in range(0, len(read), step):
        places = np.arange(start, min(start + step, len(read)))
        query, day = read[places, -1], articles.day
        low = int(np.searchsorted(day, day[query].min() - days))
        candidates = slice(low, int(np.searchsorted(day, day[query].max() + days, side="right")))
        near = np.abs(day[candidates] - day[query][:, None]) <= days
        near[np.arange(len(places))[:, None], read[places] - low] = False
        scores = np.where(near, score(places, candidates), -np.inf)
        order = np.argsort(-scores, axis=1, kind="stable")
        there = np.take_along_axis(scores, order, axis=1) > -np.inf
        relevant = near & (codes[candidates] == codes[query][:, None])
        hit = np.take_along_axis(relevant, order, axis=1) & there
        width = min(SHOWN, order.shape[1])
        shown[places, :width] = np.where(there[:, :width], order[:, :width] + low, NOBODY)
        best = np.cumsum(gain)[np.clip(relevant.sum(axis=1), 1, SHOWN)[:, None].clip(max=RANKS) - 1]
        for column, k in enumerate(RANKS):
            values[f"ndcg_at_{k}"][places] = hit[:, :k] @ gain[: min(k, width)] / best[:, column]
        values["mrr"][places] = np.where(hit.any(axis=1), 1 / (1 + hit.argmax(axis=1)), 0)
    return Lists(shown, values)


def measured(articles: Articles, read: Ints, listed: Lists) -> Ranked:
    """The measures of some lists, and their intervals."""
    values = {**listed.values, "near_copies": copies(articles.words, read[:, -1], listed.shown)}
    story = articles.story[read[:, -1]]
    unit = np.where(story == UNKNOWN, story.max() + 1 + np.arange(len(story)), story)
    metrics = {name: float(value.mean()) for name, value in values.items()}
    intervals = {name: clustered_mean_interval(value, unit) for name, value in values.items()}
    covered = len(np.setdiff1d(listed.shown, [NOBODY])) / len(articles)
    return Ranked({**metrics, "coverage": covered, "queries": float(len(read))}, intervals)


def copies(sets: sparse.csr_matrix, query: Ints, shown: Ints) -> Floats:
    """(Q,) share of what is shown that is a near-copy of the query or of what stands above it; 0 of nothing.

    Args:
        sets: (M, V) which words each text has.
        query: (Q,) texts.
        shown: (Q, k) texts, `NOBODY` where there are fewer.
    """
    listed = np.concatenate([query[:, None], shown], axis=1)
    again = np.zeros(shown.shape, bool)
    for below in range(1, listed.shape[1]):
        for above in range(below):
            both = np.flatnonzero(listed[:, below] != NOBODY)
            again[both, below - 1] |= jaccard(sets, listed[both, above], listed[both, below]) >= COPY
    return np.asarray(again.sum(axis=1) / np.maximum((shown != NOBODY).sum(axis=1), 1))


def _count(label: Ints, time: Floats, code: Ints, low: Floats, high: Floats) -> Ints:
    """Count the texts of a label between two times, ends included; labels are sorted, times within each."""
    start, span = min(time.min(initial=0), low.min(initial=0)), 1.0
    span += max(time.max(initial=0), high.max(initial=0)) - start
    key = label * span + (time - start)
    above = np.searchsorted(key, code * span + (high - start), side="right")
    return np.asarray(above - np.searchsorted(key, code * span + (low - start)))
