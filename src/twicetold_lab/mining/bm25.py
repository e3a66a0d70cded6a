"""BM25 hard negatives: texts that share rare words with the anchor but belong to another group.

As in DPR (Karpukhin et al. 2020, arXiv:2004.04906), but the anchor's whole group is left out of the list, and the
first ranks are skipped, because they often contain unlabelled duplicates. bm25s
(https://github.com/xhluca/bm25s) computes the score of every word in every text once; a batch of queries is then one
product of sparse matrices.

Shape letters: M train texts of known group, V words, A anchors, B anchors of a batch, R ranks kept.
"""

import logging
from collections.abc import Callable, Iterator, Sequence

import bm25s
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from twicetold.neighbours.parallel import in_threads
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.draws import draw
from twicetold_lab.mining.groups import Groups, Positions, rank_window
from twicetold_lab.mining.triplets import Triplets

logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets its own level to DEBUG, which any root handler prints

PRODUCTS = 1 << 23  # multiplications of one batch, which bounds its entries: about 100 MB
PADDED = 1 << 21  # entries ranked at once
LONG = 4  # rows of more than so many times the entries that are needed are cut before they are ranked
NOBODY = -1

Weigh = Callable[[list[str]], tuple[csr_array, csr_array]]
"""From M texts to (M, V) weights of the words as queries, and (V, M) weights of the words in each text."""


def mine(
    corpus: Corpus,
    *,
    seed: int,
    label: str,
    per_anchor: int,
    ranks: Sequence[int] = (5, 50),
    max_df: int = 10_000,
    negative_grade: float = 1.0,
) -> Triplets:
    """Draw positives from the anchor's group and negatives from a window of its BM25 list.

    Args:
        corpus: any corpus with the group `label`.
        seed: of the draws.
        label: the group whose members are duplicates.
        per_anchor: triplets for each anchor. If the window has fewer texts, random members of other groups are
            added.
        ranks: first and last rank of the window, counted from 1 in the list without the anchor's group.
        max_df: words that occur in more texts than this are left out of queries: they have the smallest
            weights and the highest cost.
        negative_grade: of graded pairs, those above this grade are no negatives.

    Raises:
        ValueError: for an unknown label or a wrong window, or if no triplet is possible.
    """
    first, last = rank_window(ranks)
    draws = draw(corpus, label=label, per_anchor=per_anchor, seed=seed)
    groups, anchors, rng = draws.groups, draws.anchors, draws.rng
    texts = corpus.texts.take(groups.texts).to_pylist()
    negatives = np.full(draws.positives.shape, NOBODY)
    for rows, ranked in hardest(texts, groups, anchors, last=last, max_df=max_df):
        negatives[rows] = _sample(ranked[:, first - 1 :], per_anchor=per_anchor, rng=rng)
    return draws.triplets(
        corpus,
        negatives=negatives,
        drawn=negatives != NOBODY,
        kind="bm25",
        negative_grade=negative_grade,
        card={
            "strategy": "bm25",
            "label": label,
            "seed": seed,
            "ranks": [first, last],
            "max_df": max_df,
        },
    )


def bm25_weights(texts: list[str]) -> tuple[csr_array, csr_array]:
    """(M, V) how often each word occurs in each text, and (V, M) float32 BM25 score of each word in each text."""
    tokens = bm25s.tokenize(texts, stopwords=None, show_progress=False)
    if not any(tokens.ids):  # bm25s cannot index an empty corpus
        return csr_array((len(texts), 0), dtype=np.float32), csr_array((0, len(texts)), dtype=np.float32)
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    shape = (len(tokens.ids), len(index.scores["indptr"]) - 1)
    counts = np.fromiter(map(len, tokens.ids), dtype=np.int64, count=len(tokens.ids))
    words = np.fromiter((word for ids in tokens.ids for word in ids), dtype=np.int64, count=int(counts.sum()))
    queries = csr_array((np.ones(len(words), np.float32), words, np.append(0, np.cumsum(counts))), shape=shape)
    queries.sum_duplicates()
    by_word = csc_array((index.scores["data"], index.scores["indices"], index.scores["indptr"]), shape=shape)
    return queries, by_word.T


def hardest(
    texts: list[str],
    groups: Groups,
    anchors: Positions,
    *,
    last: int,
    max_df: int,
    weigh: Weigh = bm25_weights,
) -> Iterator[tuple[slice, Positions]]:
    """Rank the texts of other groups by shared words, batch by batch of anchors.

    Args:
        texts: M texts in the order of `groups`.
        groups: which texts belong together.
        anchors: (A,) positions.
        last: R, the last rank to keep.
        max_df: see `mine`.
        weigh: the score: a text's is the sum, over shared words, of query weight times weight in the text.

    Yields:
        The batch's range within `anchors`, and (B, R) positions by falling score (ties: by position), `NOBODY`
        after the last text that shares a word with the anchor.
    """
    queries, scores = weigh(texts)
    frequency = np.diff(scores.indptr)
    queries = queries[anchors]
    queries.data *= (frequency <= max_df)[queries.indices]
    queries.eliminate_zeros()
    work = np.append(0, np.cumsum(frequency[queries.indices]))[queries.indptr[1:]]  # up to the end of each anchor
    batches = []
    begin = 0
    while begin < len(anchors):
        done = work[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(work, done + PRODUCTS, side="right")))
        batches.append(slice(begin, end))
        begin = end

    def ranked(number: int) -> Positions:
        batch = batches[number]
        products = _cut(queries[batch] @ scores, last + groups.size[anchors[batch]])
        return _rank(products, groups, anchors[batch], last=last)

    yield from zip(batches, in_threads(ranked, len(batches)), strict=True)


def _cut(products: csr_array, counts: NDArray[np.int64]) -> csr_array:
    """Return the best entries of each row, at least as many as `counts` says where there are as many; ties are kept.

    Ranking whole rows of some thousand entries takes three times as long as finding a score that parts them.
    """
    lengths = np.diff(products.indptr)
    least = np.zeros(len(counts), dtype=np.float32)
    for block, entry, inside in _rectangles(products.indptr, np.flatnonzero(lengths > LONG * counts)):
        place = inside.shape[1] - int(counts[block].max())
        least[block] = np.partition(np.where(inside, products.data[entry], np.float32(0)), place, axis=1)[:, place]
    kept = np.flatnonzero(products.data >= np.repeat(least, lengths))
    indptr = np.searchsorted(kept, products.indptr)
    return csr_array((products.data[kept], products.indices[kept], indptr), shape=products.shape)


def _rank(products: csr_array, groups: Groups, anchors: Positions, *, last: int) -> Positions:
    """Return (B, R) the best columns of each row of scores, the anchor's own group left out."""
    ranked = np.full((len(anchors), last), NOBODY)
    lengths = np.diff(products.indptr)
    rows = np.repeat(np.arange(len(anchors)), lengths)
    # One integer orders by score and then by position: the bits of a positive float grow as it does.
    keys = (products.data.astype(np.float32).view(np.int32).astype(np.int64) << 32) | (
        len(groups) - 1 - products.indices
    )
    keys[groups.code[products.indices] == groups.code[anchors][rows]] = NOBODY
    for block, entry, inside in _rectangles(products.indptr, np.flatnonzero(lengths)):
        padded = np.where(inside, keys[entry], NOBODY)
        width = padded.shape[1]
        kept = min(last, width)
        best = -np.sort(-np.partition(padded, width - kept, axis=1)[:, width - kept :], axis=1)
        ranked[block, :kept] = np.where(best == NOBODY, NOBODY, len(groups) - 1 - (best & 0xFFFFFFFF))
    return ranked


def _rectangles(
    indptr: NDArray[np.int64], rows: Positions
) -> Iterator[tuple[Positions, NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield rows of like length padded to rectangles, the longest first.

    Args:
        indptr: where the entries of each row begin.
        rows: which rows; none is empty.

    Yields:
        Some of the rows, (rows, width) their entries, and which of these belong to the row.
    """
    lengths = np.diff(indptr)
    by_length = rows[np.argsort(lengths[rows], kind="stable")]
    end = len(by_length)
    while end:
        width = int(lengths[by_length[end - 1]])
        begin = max(0, end - max(1, PADDED // width))
        block = by_length[begin:end]
        inside = np.arange(width) < lengths[block][:, None]
        yield block, np.where(inside, indptr[block].astype(np.int64)[:, None] + np.arange(width), 0), inside
        end = begin


def _sample(window: Positions, *, per_anchor: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return (B, per_anchor) different texts of each row of a window at random, `NOBODY` once it is used up."""
    order = np.where(window == NOBODY, np.inf, rng.random(window.shape)).argsort(axis=1)[:, :per_anchor]
    drawn = np.full((len(window), per_anchor), NOBODY)
    drawn[:, : order.shape[1]] = np.take_along_axis(window, order, axis=1)
    return drawn
