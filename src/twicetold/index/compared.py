"""Pairs of queries and texts of an index by the matcher, as if each query by itself were a text of the index.

What a feature has from the whole of a file comes from the whole of the index: how rare words are from a count
(`matching.rarity`), how near the second nearest text of a text usually is from a sample. How a pair stands is seen
among the nearest texts of both. Queries that are asked at once do not see each other.

Shape letters: m distinct texts, Q queries, H hits, P pairs, D columns.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.dedupe.distinct import DistinctTexts, folded
from twicetold.dedupe.options import DEFAULTS
from twicetold.dedupe.thresholds import Thresholds
from twicetold.index.search import nearest
from twicetold.index.segments import REMOVED
from twicetold.index.state import IndexState, groups_of, rows_of
from twicetold.matching.candidates import LEAST, LEAST_VECTORS, Pairs, lexical_rows, pair_dots
from twicetold.matching.generic import generic_matcher
from twicetold.matching.matcher import Matcher
from twicetold.matching.pair_features import Column, Standing, features_of_texts
from twicetold.matching.rarity import Rarity
from twicetold.matching.terms import Terms
from twicetold.neighbours.exact_search import Hits
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.neighbours.nearest import Matrix
from twicetold.normal_form import normal_form
from twicetold.trained.fitted import lowest_hashes, member_vectors
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors

BESIDE = 14  # nearest texts among which a pair stands: about as many as there are candidates of a text
SAMPLED = 400  # texts by which it is known how near the second nearest one is
BUCKETS = 1 << 18  # of trigrams and of words
QUERIES = 256  # that are compared at a time
DECIMALS = 5  # of a similarity: what is equal but for the rounding of sums has one rank


class ComparedTexts:
    """The distinct texts of an index, among which queries are compared.

    Args:
        model: of the index.
        state: of the index, in which pairs are compared by the matcher.
    """

    def __init__(self, model: LoadedModel, state: IndexState) -> None:
        self.model, self.state = model, state
        groups = groups_of(state.segments)
        alive = np.flatnonzero(groups != REMOVED)
        distinct = DistinctTexts.of(rows_of(state.segments, alive)["text"].to_pylist())
        self._texts: NDArray[Any] = np.array(distinct.texts, object)
        self._number, once = np.full((2, len(groups)), REMOVED)
        self._number[alive] = distinct.place
        first = alive[distinct.rows]
        once[first] = groups[first]
        self._once = state.in_groups(once).segments
        self._folded = folded(pa.array(distinct.texts, pa.large_string()))
        self._rarity = Rarity.of(normal_form(distinct.texts), buckets=BUCKETS)

    def probability(self, texts: Sequence[str], queries: Matrix, hits: Hits) -> Floats:
        """Return (H,) probability that a query and a text are duplicates: 1 where they are equal in their normal form.

        Args:
            texts: (Q,) queries.
            queries: (Q, D) their vectors.
            hits: texts that were found for them, by query.
        """
        known = pc.index_in(folded(pa.array(texts, pa.large_string())), value_set=self._folded)
        itself, found = pc.fill_null(known, REMOVED).to_numpy(), self._number[hits.row]
        other = np.flatnonzero(found != itself[hits.query])
        cells, back = np.unique(hits.query[other] * len(self._texts) + found[other], return_inverse=True)
        query, number = np.divmod(cells, len(self._texts))
        log_odds, probability = np.empty(len(cells)), np.ones(len(found))
        for start in np.unique(query // QUERIES * QUERIES).tolist():
            part, mine = slice(start, start + QUERIES), slice(*np.searchsorted(query, [start, start + QUERIES]))
            wanted = query[mine] - start, number[mine]
            log_odds[mine] = self._log_odds(texts[part], itself[part], self._near(queries[part], itself[part]), *wanted)
        if len(other):
            probability[other] = self.state.manifest.decision.probability(log_odds[back])
        return probability

    @cached_property
    def _matcher(self) -> Matcher:
        matched = Thresholds.of(self.model, DEFAULTS, by_matcher=True).matched
        vectors = member_vectors(self.model.trained, self._texts[:1].tolist())
        return generic_matcher(vectors=vectors is not None) if matched is None else matched.matcher

    @cached_property
    def _middle(self) -> dict[str, float]:
        """Similarity of the second nearest text of a text in the middle of the index, by letters and by vectors."""
        sample = lowest_hashes(self._texts.tolist(), SAMPLED)
        near = self._around(sample)
        right, middle = len(sample) + np.arange(len(near.row)), {}
        similar = self._similar(self._texts[np.append(sample, near.row)].tolist(), near.query, right)[1]
        kept = _likely(similar)
        for name, value in similar.items():
            pairs = Pairs(len(sample) + len(right), near.query[kept], right[kept], value[kept], None)
            middle[name] = float(Standing.of(pairs, value[kept]).middle)
        return middle

    def _near(self, queries: Matrix, itself: Ints) -> Hits:
        """Return the nearest distinct texts of (Q, D) queries, without those that they are themselves."""
        hits = nearest(self._once, queries, BESIDE + 1, constant=0.0)
        hits = Hits(hits.query, self._number[hits.row], hits.similarity)
        return hits.at(hits.row != itself[hits.query])

    def _around(self, numbers: Ints) -> Hits:
        """Return the nearest other ones of some distinct texts."""
        return self._near(search_vectors(self.model.trained, self._texts[numbers].tolist())[0], numbers)

    def _similar(self, texts: list[str], left: Ints, right: Ints) -> tuple[Terms, dict[str, Column]]:
        """Return terms of texts, and the (P,) similarities of pairs of them by name."""
        terms, vectors = self._rarity.terms(normal_form(texts)), member_vectors(self.model.trained, texts)
        rows = {"lexical": lexical_rows(terms.letters, terms.words)} | ({} if vectors is None else {"cosine": vectors})
        return terms, {name: np.round(pair_dots(each, left, right), DECIMALS) for name, each in rows.items()}

    def _log_odds(self, texts: Sequence[str], itself: Ints, near: Hits, query: Ints, other: Ints) -> Floats:
        """Return (W,) log odds of pairs.

        Each stands among the nearest texts of both sides, whatever else is asked.

        Args:
            texts: (Q,) queries.
            itself: (Q,) number of the text that a query is equal to: that is the query.
            near: their nearest texts.
            query: (W,) one side of the pairs.
            other: (W,) number of the text on the other side.
        """
        count, wanted = len(texts), slice(0, len(query))
        further = near.at(~np.isin(near.query * len(self._texts) + near.row, query * len(self._texts) + other))
        around = self._around(other)
        around = around.at(around.row != itself[query[around.query]])
        rows, right = np.unique(np.concatenate([other, further.row, around.row]), return_inverse=True)
        right = count + right
        left = np.concatenate([query, further.query, right[around.query]])
        node = np.concatenate([query, further.query, count + around.query])  # on the right each has one of its own
        terms, similar = self._similar([*texts, *self._texts[rows]], left, right)
        columns = {name: value[wanted] for name, value in similar.items()} | features_of_texts(
            terms, left[wanted], right[wanted]
        )
        likely = _likely(similar)
        beside = likely.copy()
        beside[: len(other) + len(further.row)] = True  # where pairs stand that would be no candidates
        for kept in (beside, likely):
            pairs = Pairs(count + len(left), node[kept], count + np.flatnonzero(kept), similar["lexical"][kept], None)
            own = np.flatnonzero(kept[wanted])
            for name, value in similar.items():
                standing = Standing.of(pairs, value[kept])
                for key, column in standing.columns(name, pairs.left, pairs.right, value[kept]).items():
                    columns.setdefault(key, np.empty(len(query), np.float32))[own] = column[: len(own)]
        for name, middle in self._middle.items():
            columns[f"{name}_over"] = columns[name] - np.float32(middle)
        return self._matcher.log_odds(columns)


def _likely(similar: Mapping[str, Column]) -> NDArray[np.bool_]:
    """Return (P,) which pairs would be candidates in a dedupe."""
    least = {"lexical": LEAST, "cosine": LEAST_VECTORS}
    likely: NDArray[np.bool_] = np.logical_or.reduce([value >= least[name] for name, value in similar.items()])
    return likely
