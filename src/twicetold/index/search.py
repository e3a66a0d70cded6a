"""Search in the parts of an index by the model's scores.

Shape letters: Q queries, N texts that are added, D columns.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.dedupe.candidates import held
from twicetold.dedupe.distinct import first_of, folded, require_texts
from twicetold.index.segments import Segment
from twicetold.index.state import count_of, numbered, rows_of
from twicetold.neighbours.exact_search import Hits
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.nearest import Matrix
from twicetold.trained import ensemble
from twicetold.trained.loaded import LoadedModel

CHUNK = 4096  # texts that are compared with each other at once
EQUAL = np.inf  # score of texts that are equal except for case and white space
ROUNDING = 1e-5  # of float32 sums, of the threshold or of 1


def score_constant(model: LoadedModel, *, by_vectors: bool) -> float:
    """Score of a pair minus the dot product of its vectors.

    Args:
        model: that makes the vectors.
        by_vectors: whether scores are dot products alone.

    Raises:
        TypeError: if scores are no dot products.
    """
    if by_vectors:
        return 0.0
    if not model.trained.read(["a"]).score_is_dot_product:
        raise TypeError(
            f"the scores of {model.folder} are no dot products of a vector for each text, which an index needs: give a "
            "model such as static, tfidf or minilm"
        )
    return ensemble.constant(model.trained)


def nearest(segments: Sequence[Segment], queries: Matrix, k: int, *, constant: float) -> Hits:
    """Return the `k` texts that are most alike, with their scores.

    Args:
        segments: the parts of an index.
        queries: (Q, D) vectors.
        k: at least 1.
        constant: see `score_constant`.
    """
    _check(segments, queries)
    found = Hits.joined([segment.search(queries, k).moved(row=first) for first, segment in numbered(segments)])
    return _scored(found.nearest(k), constant)


def links(
    segments: Sequence[Segment],
    texts: Sequence[str],
    queries: Matrix,
    *,
    constant: float,
    threshold: float,
    neighbours: int,
) -> Hits:
    """Return links of texts of the last part to those before them whose score reaches a threshold, by the later text.

    A text is also linked with the first one of each part that is equal except for case and space. Of texts that are
    equal the first counts, as in a dedupe: the others have no further links, though a model that heeds case may have
    other vectors of them.

    Args:
        segments: the parts of an index.
        texts: (N,) of the last part.
        queries: (N, D) their vectors.
        constant: see `score_constant`.
        threshold: the least score of a link.
        neighbours: of each text, about, where very many reach the threshold.

    Returns:
        Later texts as queries and earlier ones as rows, both by their numbers in the index.

    Raises:
        ValueError: if a text is blank.
    """
    _check(segments, queries)
    parts, fresh = segments[:-1], segments[-1]
    known, most = count_of(parts), held(CHUNK, neighbours)
    least = threshold - constant - ROUNDING * max(1.0, abs(threshold))
    equal, found = _equal(segments, texts), list[Hits]()
    for start in range(0, len(texts), CHUNK):
        stop = min(start + CHUNK, len(texts))
        asked = queries[start:stop]
        among = replace(fresh, vectors=fresh.vectors[:stop], groups=fresh.groups[:stop])
        own = among.above(asked, least, most=most, before=np.arange(start, stop)).moved(row=known)
        earlier = [part.above(asked, least, most=most).moved(row=first) for first, part in numbered(parts)]
        hits = _scored(Hits.joined([*earlier, own]), constant)
        found.append(hits.at(hits.similarity >= threshold).moved(query=start))
    near, again = Hits.joined(found), np.unique(equal.query)
    repeats = np.append(_repeats(segments, near.row[near.row < known]), known + again)
    near = near.at(~np.isin(near.query, again) & ~np.isin(near.row, repeats))
    hits = Hits.joined([equal, near])
    return hits.at(np.lexsort((hits.row, hits.query))).moved(query=known)


def _equal(segments: Sequence[Segment], texts: Sequence[str]) -> Hits:
    """Return new texts, each with the first one of each part that is equal except for case and white space."""
    mine = require_texts(folded(pa.array(texts, pa.large_string())))
    pairs = []
    for start, part in numbered(segments[:-1]):
        rows = _first_rows(part, mine)
        new = np.flatnonzero(rows >= 0)
        pairs.append((new, start + rows[new]))
    first = first_of(mine)
    again = np.flatnonzero(first != np.arange(len(texts)))
    pairs.append((again, count_of(segments[:-1]) + first[again]))
    query, row = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return Hits(query, row, np.full(len(query), EQUAL, np.float32))


def _first_rows(part: Segment, texts: pa.Array) -> Ints:
    """Return the first row of a part with each of these folded texts, -1 where it has none."""
    rows = np.flatnonzero(pc.is_in(part.folded, value_set=texts).to_numpy() & part.alive)
    place = pc.index_in(texts, value_set=part.folded.take(pa.array(rows)).combine_chunks())
    found: Ints = np.append(rows, -1)[pc.fill_null(place, len(rows)).to_numpy()]
    return found


def _repeats(segments: Sequence[Segment], rows: Ints) -> Ints:
    """Return those of these rows before the last part whose text is equal to one in an earlier row."""
    rows = np.unique(rows)
    if not len(rows):
        return rows
    texts = folded(rows_of(segments[:-1], rows)["text"]).combine_chunks()
    first = rows.copy()
    for start, part in reversed(list(numbered(segments[:-1]))):
        own = _first_rows(part, texts)
        first[own >= 0] = start + own[own >= 0]
    repeats: Ints = rows[first != rows]
    return repeats


def _check(segments: Sequence[Segment], queries: Matrix) -> None:
    for segment in segments:
        if queries.shape[1] != segment.vectors.shape[1]:
            raise ValueError(f"expected vectors of {queries.shape[1]} columns, got {segment.vectors.shape[1]}")


def _scored(hits: Hits, constant: float) -> Hits:
    return replace(hits, similarity=hits.similarity + np.float32(constant))
