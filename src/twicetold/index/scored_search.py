"""Search in the parts of an index by the model's scores.

Shape letters: Q queries, N texts that are added, D columns, k neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import ENCODED

CHUNK = 4096  # texts that are compared with each other at once
CANDIDATES = 50  # texts whose pairs are scored, by a family whose scores are no dot products
EQUAL = np.inf  # score of texts that are equal but for case and white space
ROUNDING = 1e-5  # of float32 sums, of the threshold or of 1


@dataclass(frozen=True)
class ScoredSearch:
    """The parts of an index, searched by the model that made them.

    Args:
        model: whose scores count.
        constant: score minus dot product; None if scores are no dot products.
        segments: the parts.
    """

    model: LoadedModel
    constant: float | None
    segments: Sequence[Segment]

    def nearest(self, texts: Sequence[str], queries: Matrix, k: int) -> Hits:
        """The `k` texts that are most alike, with their scores.

        Args:
            texts: (Q,).
            queries: (Q, D) their vectors.
            k: at least 1.
        """
        reach = self._reach(k)
        self._check(queries)
        return self._scored(texts, _nearest(self.segments, queries, reach).nearest(reach)).nearest(k)

    def links(self, texts: Sequence[str], queries: Matrix, *, threshold: float, neighbours: int) -> Hits:
        """The texts of the last part with those before them whose score reaches a threshold, sorted by the later text.

        A text is linked with all of them, where scores are dot products, else with those of the nearest ones; and with
        the first one of each part that is equal but for case and white space. Of texts that are equal the first counts,
        as in a dedupe: the others have no further links, though a model that heeds case may have other vectors of them.

        Args:
            texts: (N,) of the last part.
            queries: (N, D) their vectors.
            threshold: the least score of a link.
            neighbours: how many of the nearest, where scores are no dot products.

        Returns:
            Later texts as queries and earlier ones as rows, both by their numbers in the index.

        Raises:
            ValueError: if a text is blank.
        """
        self._check(queries)
        known, fresh = count_of(self.segments[:-1]), self.segments[-1]
        equal, found = self._equal(texts), list[Hits]()
        for start in range(0, len(texts), CHUNK):
            stop = min(start + CHUNK, len(texts))
            among = replace(fresh, vectors=fresh.vectors[:stop], alive=fresh.alive[:stop])
            found.append(self._linked(texts, queries, np.arange(start, stop), among, threshold, neighbours))
        near, again = Hits.joined(found), np.unique(equal.query)
        repeats = np.append(self._repeats(near.row[near.row < known]), known + again)
        near = near.at(~np.isin(near.query, again) & ~np.isin(near.row, repeats))
        hits = Hits.joined([equal, near])
        order = np.lexsort((hits.row, hits.query))
        return hits.at(order).moved(query=known)

    def _linked(
        self, texts: Sequence[str], queries: Matrix, new: Ints, among: Segment, threshold: float, neighbours: int
    ) -> Hits:
        """Links of some new texts with texts of the index, and with those of the new ones in `among` before them."""
        asked, known = queries[new], self.segments[:-1]
        last = count_of(known)
        if self.constant is None:
            reach = self._reach(neighbours)
            near = among.search(asked, reach, before=new)
            near = Hits.joined([_nearest(known, asked, reach), near.moved(row=last)])
            hits = self._scored([texts[number] for number in new.tolist()], near.nearest(reach)).nearest(neighbours)
        else:
            least, most = threshold - self.constant - ROUNDING * max(1.0, abs(threshold)), held(CHUNK, neighbours)
            near = among.above(asked, least, most=most, before=new).moved(row=last)
            earlier = [part.above(asked, least, most=most).moved(row=first) for first, part in numbered(known)]
            hits = self._scored([], Hits.joined([*earlier, near]))
        hits = hits.at(hits.similarity >= threshold)
        return replace(hits, query=new[hits.query])

    def _equal(self, texts: Sequence[str]) -> Hits:
        """New texts, each with the first one of each part that is equal but for case and white space."""
        mine = require_texts(folded(pa.array(texts, pa.large_string())))
        pairs = []
        for start, part in numbered(self.segments[:-1]):
            there = pc.is_in(part.folded, value_set=mine).to_numpy() & part.alive
            rows = np.flatnonzero(there)
            place = pc.index_in(mine, value_set=part.folded.take(pa.array(rows)).combine_chunks())
            new = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
            pairs.append((new, start + rows[place.drop_null().to_numpy()]))
        first = first_of(mine)
        again = np.flatnonzero(first != np.arange(len(texts)))
        pairs.append((again, count_of(self.segments[:-1]) + first[again]))
        query, row = (np.concatenate(side) for side in zip(*pairs, strict=True))
        return Hits(query, row, np.full(len(query), EQUAL, np.float32))

    def _repeats(self, rows: Ints) -> Ints:
        """Those of these rows before the last part whose text is equal to one in an earlier row."""
        rows = np.unique(rows)
        if not len(rows):
            return rows
        texts = folded(rows_of(self.segments[:-1], rows)["text"].cast(pa.large_string())).combine_chunks()
        first = rows.copy()
        for start, part in reversed(list(numbered(self.segments[:-1]))):
            there = np.flatnonzero(pc.is_in(part.folded, value_set=texts).to_numpy() & part.alive)
            place = pc.index_in(texts, value_set=part.folded.take(pa.array(there)).combine_chunks())
            first[place.is_valid().to_numpy(zero_copy_only=False)] = start + there[place.drop_null().to_numpy()]
        repeats: Ints = rows[first != rows]
        return repeats

    def _check(self, queries: Matrix) -> None:
        for segment in self.segments:
            if queries.shape[1] != segment.vectors.shape[1]:
                raise ValueError(f"expected vectors of {queries.shape[1]} columns, got {segment.vectors.shape[1]}")

    def _reach(self, k: int) -> int:
        return k if self.constant is not None else max(k, CANDIDATES)

    def _scored(self, texts: Sequence[str], hits: Hits) -> Hits:
        """The model's scores in place of dot products."""
        if self.constant is not None:
            return replace(hits, similarity=hits.similarity + np.float32(self.constant))
        right = rows_of(self.segments, hits.row)["text"].to_pylist()
        left = [texts[query] for query in hits.query.tolist()]
        step = range(0, len(left), ENCODED)
        scores = [self.model.similarity(left[at : at + ENCODED], right[at : at + ENCODED]) for at in step]
        return replace(hits, similarity=np.concatenate([np.empty(0, np.float32), *scores]))


def _nearest(segments: Sequence[Segment], queries: Matrix, k: int) -> Hits:
    """At least the `k` nearest texts of each query by dot products."""
    return Hits.joined([segment.search(queries, k).moved(row=first) for first, segment in numbered(segments)])
