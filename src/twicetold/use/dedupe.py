"""Groups of texts that say the same.

1. Texts that are equal but for case, white space and Unicode compatibility forms (NFKC) are one.
2. Each distinct text is compared with its nearest ones by search vectors: exactly up to `EXACT_UP_TO` texts or with
   sparse vectors, of which all pairs from the threshold on are found (`joining`); else with an approximate index.
3. With `rerank`, another model scores these pairs; it may be one that scores pairs only.
4. Pairs whose similarity reaches a threshold are links, and groups follow from links by a rule of
   `twicetold.neighbours.grouping`.

A calibration on labelled pairs, of which a third are duplicates, does not hold among all pairs of a corpus, of which
one in thousands is. So where the model folder holds thresholds that were measured over all pairs of its validation
texts (`precision.json`, which training writes), these and their calibration are used, and similarities are the
dot products that they were measured on. A model that was calibrated on pairs drawn from a file of texts
(`calibration.json`) has thresholds estimated from these in their place. A model without either has its threshold and
calibration for labelled pairs.

Shape letters: n texts, m distinct texts, L links, G groups of two or more texts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from twicetold import layout
from twicetold.evaluation.decision import Decision, sigmoid
from twicetold.evaluation.dedupe import Chosen
from twicetold.evaluation.labelled_links import LabelledLinks, covered
from twicetold.neighbours.grouping import RULES, Floats, Ints, Links, Rule, Vectors, describe, merge, row_dots
from twicetold.neighbours.joining import pairs_above
from twicetold.neighbours.nearest import NOBODY, Index, Matrix, Neighbours
from twicetold.neighbours.parallel import in_threads
from twicetold.tables.texts import texts_of
from twicetold.trained.model_folder import read_calibrated, read_thresholds
from twicetold.trained.scoring import ReadTexts
from twicetold.trained.vectors import constant, search_vectors
from twicetold.use.evidence import of_links, of_pairs
from twicetold.use.unlike import BLANK, Comparison, blank

if TYPE_CHECKING:
    from twicetold.use.model import Model

Keep: TypeAlias = Literal["first", "longest", "most-central"]
KEEP: tuple[Keep, ...] = get_args(Keep)
EXACT_UP_TO = 30_000  # texts with dense vectors: twice as many take four times as long
NEIGHBOURS = 20  # of each text that are compared first
MOST_NEIGHBOURS = 320  # and at most, where a text has more links
MOST_PAIRS = 30_000_000  # pairs that are held
PAIRS = 65_536  # pairs that are scored at a time
QUERIES = 8192  # texts that are searched for at a time in an approximate index


@dataclass(frozen=True)
class TextLinks:
    """Pairs of distinct texts whose similarity reaches the threshold.

    Args:
        left: (L,) row of the first text like the one.
        right: (L,) row of the first text like the other, which comes later.
        score: (L,) of the model, or of the one that re-ranked.
        probability: (L,) that both say the same.
    """

    left: Ints
    right: Ints
    score: Floats
    probability: Floats

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class GroupsOfTexts:
    """Groups of two or more texts.

    Args:
        group: (G,) number, ascending.
        size: (G,) texts.
        distinct: (G,) distinct texts.
        density: (G,) share of the pairs of distinct texts that are links; 1 for a single one.
        weakest: (G,) position in the links of the one without which the group, held by its strongest links, falls
            apart; `NO_LINK` for a single distinct text.
    """

    group: Ints
    size: Ints
    distinct: Ints
    density: Floats
    weakest: Ints

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True)
class DedupeSummary:
    """What was done, in numbers.

    Args:
        texts: n.
        distinct: m.
        links: pairs of distinct texts that reach the threshold.
        groups: of two or more texts.
        grouped: texts in them.
        largest: texts in the largest one.
        rule: how links make groups.
        threshold: score from which a pair is a link.
        probability: the same as a probability.
        unfinished: distinct texts that may have more links than were looked for.
        approximate: whether an approximate index was searched, which may miss links.
        evidence: what the threshold and the probabilities rest on, in words.
        labelled_pairs: whether they come from labelled pairs, among which duplicates are more frequent than among all
            pairs of a file.
        warnings: ways in which the texts are unlike those that the model was trained on.
        covered: where they come from pairs that were drawn from the nearest ones of a file, the share of links that
            are among as many nearest ones of a text; the labels say nothing about the others. Else None.
        precision: of links at the threshold, on this evidence; None if not measured.
        expected_precision: the same, carried over to this number of texts, see `evaluation.dedupe.carried_over`.
        lower_bound: whether these precisions are lower bounds, because not every duplicate of validation is labelled.
    """

    texts: int
    distinct: int
    links: int
    groups: int
    grouped: int
    largest: int
    rule: Rule
    threshold: float
    probability: float
    unfinished: int
    approximate: bool
    evidence: str = ""
    labelled_pairs: bool = True
    warnings: tuple[str, ...] = ()
    covered: float | None = None
    precision: float | None = None
    expected_precision: float | None = None
    lower_bound: bool = False


@dataclass(frozen=True)
class Groups:
    """Groups of texts that say the same.

    Args:
        group: (n,) group of each text, numbered by its first one; a text without duplicates is a group of its own.
        representative: (n,) row of the text that stands for the group.
        probability: (n,) that a text says the same as its representative; 1 for itself and its exact duplicates.
        exact: (n,) row of the first text that is equal but for case, white space and compatibility forms.
        links: between distinct texts.
        table: of the groups of two or more texts.
        summary: in numbers.
    """

    group: Ints
    representative: Ints
    probability: Floats
    exact: Ints
    links: TextLinks
    table: GroupsOfTexts
    summary: DedupeSummary

    def kept(self) -> Ints:
        """(groups,) rows of the representatives, ascending: the texts that are left when duplicates are dropped."""
        return np.flatnonzero(self.representative == np.arange(len(self.representative)))


def dedupe(
    model: "Model",
    texts: Sequence[str],
    *,
    precision: float | None = None,
    threshold: float | None = None,
    rule: Rule = "average",
    keep: Keep = "first",
    rerank: "Model | None" = None,
    neighbours: int = NEIGHBOURS,
    encoded: Callable[[], Vectors] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Groups:
    """Group texts that say the same; see `Model.dedupe`.

    With `encoded`, which gives the search vectors of all texts, no text is encoded here.
    """
    tell = progress or (lambda _: None)
    texts = texts_of(texts)
    _check(texts, precision=precision, threshold=threshold, rule=rule, keep=keep, neighbours=neighbours)
    measured = None if rerank else read_thresholds(model.folder)
    calibrated = None if rerank or measured else read_calibrated(model.folder)
    labelled = None if calibrated is None else calibrated.links
    if precision is not None and measured is None and labelled is None:
        raise ValueError(
            f"{model.folder} holds no thresholds for a precision"
            + (" of re-ranked pairs" if rerank else f": there is no {layout.PRECISION}")
            + ". Give a threshold, a probability, in its place; a threshold for a precision has to be measured on "
            "texts whose duplicates are known, or on pairs that label draws"
        )
    evidence = of_links(model.folder) if rerank is None else of_pairs(rerank.folder)
    tell(f"threshold and probabilities rest on {evidence}")
    tell("looking for exact duplicates")
    exact = first_equal(texts)
    rows, place = np.unique(exact, return_inverse=True)
    distinct = [texts[row] for row in rows.tolist()]
    first = model.trained.read(distinct[:1])
    if not first.searchable:
        raise TypeError(
            f"{model.folder} scores pairs only: it has no vector per text to search with. Give a model that has one, "
            "such as static or tfidf, and this one to re-rank its pairs (rerank)"
        )
    if encoded is None:
        tell(f"encoding {len(distinct):,} distinct texts")
        vectors = search_vectors(model.trained, distinct)
    else:
        vectors = _of_rows(encoded(), rows)
    warnings = _unlike(model, distinct, vectors)
    for warning in warnings:
        tell(f"warning: {warning}")
    pairs: Pairs
    if rerank is not None:
        pairs = PairsByModel(rerank.trained.read(distinct), rerank.decision)
    elif measured is None and not first.score_is_dot_product:
        pairs = PairsByModel(model.trained.read(distinct), model.decision)
    elif measured is None:
        pairs = PairsByVectors(vectors, model.decision, constant(model.trained))
    else:
        pairs = PairsByVectors(vectors, measured.decision, 0.0)
    least, promised = _least(pairs.decision, measured, labelled, precision=precision, threshold=threshold, rule=rule)
    tell(f"searching {len(distinct):,} texts")
    approximate = not _is_sparse(vectors[1]) and len(distinct) > EXACT_UP_TO
    floor = least - pairs.constant if isinstance(pairs, PairsByVectors) else None
    left, right, similarity, unfinished = _near(vectors, floor, neighbours=neighbours, approximate=approximate)
    if isinstance(pairs, PairsByModel):
        tell(f"scoring {len(left):,} pairs")
        score = pairs.score(left, right)
    else:
        score = similarity.astype(np.float64) + pairs.constant
    tell("grouping")
    links, codes = pairs.group(Links.of(len(distinct), left, right, score), least, rule)
    table = describe(codes, links)
    kept = _representatives(codes, links, keep, distinct, pairs.vectors)
    probability = np.ones(len(distinct))
    other = np.flatnonzero(kept[codes] != np.arange(len(distinct)))
    probability[other] = pairs.probability(pairs.score(other, kept[codes[other]]))
    group = codes[place]
    size = np.bincount(group)
    several = np.flatnonzero(size > 1)
    summary = DedupeSummary(
        texts=len(texts),
        distinct=len(distinct),
        links=len(links),
        groups=len(several),
        grouped=int(size[several].sum()),
        largest=int(size.max()),
        rule=rule,
        threshold=least,
        probability=float(pairs.probability(np.array([least]))[0]),
        unfinished=unfinished,
        approximate=approximate,
        evidence=evidence,
        labelled_pairs=measured is None and labelled is None,
        warnings=warnings,
    )
    if labelled is not None:
        share = covered(links.left, links.right, links.similarity, nearest=labelled.nearest)
        summary = replace(summary, covered=share)
    if promised is not None and (known := measured or labelled) is not None:
        expected = known.expected_precision(promised, len(distinct))
        bound = measured is not None and not measured.complete
        summary = replace(summary, precision=promised, expected_precision=expected, lower_bound=bound)
    return Groups(
        group=group,
        representative=rows[kept[group]],
        probability=probability[place],
        exact=exact,
        links=TextLinks(rows[links.left], rows[links.right], links.similarity, pairs.probability(links.similarity)),
        table=GroupsOfTexts(
            several, size[several], table.size[several], table.density[several], table.weakest[several]
        ),
        summary=summary,
    )


def _unlike(model: "Model", texts: Sequence[str], vectors: Vectors) -> tuple[str, ...]:
    """Ways in which texts are unlike those that the model was trained on."""
    comparison = Comparison(model)
    comparison.add(texts)
    said = list(comparison.warnings())
    if (count := blank(vectors[1])) > BLANK * len(texts):
        said.append(
            f"{count:,} of {len(texts):,} texts ({count / len(texts):.0%}) have no term that the model knows, and "
            "are like no other text to it: train a model on texts like these, or take one that reads letters"
        )
    return tuple(said)


def first_equal(texts: Sequence[str]) -> Ints:
    """(n,) row of the first text that is equal but for case, white space and Unicode compatibility forms (NFKC).

    Raises:
        ValueError: if a text holds nothing but white space.
    """
    column = pc.utf8_lower(pc.utf8_normalize(pa.array(texts, pa.large_string()), form="NFKC"))
    column = pc.utf8_trim_whitespace(pc.replace_substring_regex(column, r"[\s\p{Z}]+", " "))
    blank = np.flatnonzero(pc.equal(column, "").to_numpy(zero_copy_only=False))
    if len(blank):
        raise ValueError(
            f"{len(blank)} of {len(texts)} texts are empty, the first is texts[{blank[0]}]: leave them out"
        )
    codes = column.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(np.unique(codes, return_index=True)[1][codes])


@dataclass(frozen=True)
class PairsByVectors:
    """Pairs whose score is the dot product of their search vectors, up to a constant.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        decision: calibration of the score.
        constant: score minus dot product.
    """

    vectors: Vectors
    decision: Decision
    constant: float

    def score(self, left: Ints, right: Ints) -> Floats:
        """Score of pairs of distinct texts."""
        return row_dots(self.vectors[0], left, self.vectors[1], right) + self.constant

    def probability(self, score: Floats) -> Floats:
        """That pairs with these scores say the same."""
        return sigmoid(self.decision.slope * score + self.decision.intercept)

    def group(self, links: Links, least: float, rule: Rule) -> tuple[Links, Ints]:
        """Links from a score on, and the group of each distinct text."""
        links = links.at_least(least)
        dots = replace(links, similarity=links.similarity - self.constant)
        floor = least - self.constant
        return links, merge(dots, rule=rule, threshold=floor, vectors=self.vectors).cut(floor)


@dataclass(frozen=True)
class PairsByModel:
    """Pairs that a model scores one by one.

    In average linkage, similarities are probabilities and a pair that was not scored has probability 0.

    Args:
        read: the distinct texts.
        decision: calibration of the score.
    """

    read: ReadTexts
    decision: Decision
    vectors: None = None

    def score(self, left: Ints, right: Ints) -> Floats:
        """Score of pairs of distinct texts."""
        scores = np.empty(len(left), np.float64)
        read = self.read
        if read.score_is_dot_product and len(left):  # each text is encoded once
            read = read.keeping(np.union1d(left, right))
        for start in range(0, len(left), PAIRS):
            part = slice(start, start + PAIRS)
            scores[part] = read.score(left[part], right[part])
        return scores

    def probability(self, score: Floats) -> Floats:
        """That pairs with these scores say the same."""
        return sigmoid(self.decision.slope * score + self.decision.intercept)

    def group(self, links: Links, least: float, rule: Rule) -> tuple[Links, Ints]:
        """Links from a score on, and the group of each distinct text."""
        by_probability = replace(links, similarity=self.probability(links.similarity))
        floor = float(self.probability(np.array([least]))[0])
        return links.at_least(least), merge(by_probability, rule=rule, threshold=floor).cut(floor)


Pairs: TypeAlias = PairsByVectors | PairsByModel


def _check(
    texts: Sequence[str], *, precision: float | None, threshold: float | None, rule: str, keep: str, neighbours: int
) -> None:
    if not texts:
        raise ValueError("there are no texts to group")
    if precision is not None and threshold is not None:
        raise ValueError("give a precision or a threshold, not both")
    for name, value in (("precision", precision), ("threshold", threshold)):
        if value is not None and not 0 < value < 1:
            raise ValueError(f"{name} is between 0 and 1, got {value:g}")
    if rule not in RULES:
        raise ValueError(f"expected one of the rules {RULES}, got {rule!r}")
    if keep not in KEEP:
        raise ValueError(f"expected one of {KEEP} to keep, got {keep!r}")
    if not 1 <= neighbours <= MOST_NEIGHBOURS:
        raise ValueError(f"neighbours is between 1 and {MOST_NEIGHBOURS}, got {neighbours}")


def _least(
    decision: Decision,
    measured: Chosen | None,
    labelled: LabelledLinks | None,
    *,
    precision: float | None,
    threshold: float | None,
    rule: Rule,
) -> tuple[float, float | None]:
    """The score from which a pair is a link, and the precision that was measured there, if it was."""
    if precision is not None and (known := measured or labelled) is not None:
        aimed = known.aimed_at(precision)
        assert aimed.threshold is not None
        return aimed.threshold, aimed.precision
    if threshold is not None:
        if decision.slope <= 0:
            raise ValueError("on validation, a higher score of this model is not more alike: no probability is usable")
        return (math.log(threshold / (1 - threshold)) - decision.intercept) / decision.slope, None
    if measured is not None:
        return measured.rule(rule).threshold, None
    return (decision.threshold if labelled is None else labelled.f1_threshold), None


def _of_rows(vectors: Vectors, rows: Ints) -> Vectors:
    """The vectors of the distinct texts among those of all."""
    queries, documents = vectors
    if len(rows) == queries.shape[0]:
        return vectors
    taken = queries[rows]
    return taken, taken if documents is queries else documents[rows]


def _near(
    vectors: tuple[Matrix, Matrix], floor: float | None, *, neighbours: int, approximate: bool
) -> tuple[Ints, Ints, NDArray[Any], int]:
    """Pairs of texts that are near each other, their similarity, and the number of texts that may have more links.

    Args:
        vectors: of the distinct texts, as queries and as documents.
        floor: similarity of a link: a text whose nearest ones are all linked is searched again for more; None: not.
        neighbours: of each text.
        approximate: whether to use an approximate index.
    """
    queries, documents = vectors
    if floor is not None and floor > 0 and _is_sparse(queries) and documents is queries:
        joined = pairs_above(queries, floor, most=MOST_PAIRS)
        if joined is not None:
            return *joined, 0
    index = Index(documents, approximate=approximate)
    todo, reach = np.arange(len(index)), neighbours
    found: list[tuple[Ints, Ints, NDArray[np.float32]]] = []
    while True:
        near = _search(index, queries if len(todo) == len(index) else queries[todo], reach + 1, approximate=approximate)
        there = (near.index != NOBODY) & (near.index != todo[:, None])
        if floor is not None:
            there &= near.similarity >= floor
        full = there.sum(axis=1) >= reach
        deeper = min(4 * reach, MOST_NEIGHBOURS)
        held = sum(len(pairs[0]) for pairs in found)
        last = floor is None or deeper == reach or not full.any() or held + full.sum() * deeper > MOST_PAIRS
        row, column = np.nonzero(there if last else there & ~full[:, None])
        found.append((todo[row], near.index[row, column], near.similarity[row, column]))
        if last:
            left, right, similarity = (np.concatenate(part) for part in zip(*found, strict=True))
            return *_once(len(index), left, right, similarity), 0 if floor is None else int(full.sum())
        todo, reach = todo[full], deeper


def _once(
    count: int, left: Ints, right: Ints, similarity: NDArray[np.float32]
) -> tuple[Ints, Ints, NDArray[np.float32]]:
    """Each pair once, whichever of its texts found the other."""
    keys, first = np.unique(np.minimum(left, right) * count + np.maximum(left, right), return_index=True)
    return keys // count, keys % count, similarity[first]


def _search(index: Index, queries: Matrix, k: int, *, approximate: bool) -> Neighbours:
    if not approximate:  # it has threads of its own
        return index.search(queries, k=k)
    blocks = math.ceil(queries.shape[0] / QUERIES)
    found = list(in_threads(lambda b: index.search(queries[b * QUERIES : (b + 1) * QUERIES], k=k), blocks))
    return Neighbours(
        np.concatenate([each.index for each in found]), np.concatenate([each.similarity for each in found])
    )


def _is_sparse(matrix: Any) -> bool:
    return not isinstance(matrix, np.ndarray)


def _representatives(codes: Ints, links: Links, keep: Keep, texts: Sequence[str], vectors: Vectors | None) -> Ints:
    """(groups,) the distinct text that stands for each group; of several as good the first one."""
    first = np.unique(codes, return_index=True)[1]
    if keep == "first":
        return first
    if keep == "longest":
        worth = np.array([len(text) for text in texts], np.float64)
    else:
        worth = _centrality(codes, links, vectors)
    order = np.lexsort((np.arange(len(codes)), -worth, codes))
    return order[np.searchsorted(codes[order], np.arange(len(first)))]


def _centrality(codes: Ints, links: Links, vectors: Vectors | None) -> Floats:
    """(m,) sum of the similarities of a text to the others of its group; without vectors, of its links in the group."""
    inside = codes[links.left] == codes[links.right]
    if vectors is None:
        ends = np.concatenate([links.left[inside], links.right[inside]])
        weights = np.tile(links.similarity[inside], 2)
        return np.bincount(ends, weights=weights, minlength=len(codes)).astype(np.float64)
    several = np.flatnonzero(np.bincount(codes)[codes] > 2)  # of two texts, both are as central
    worth = np.zeros(len(codes))
    if len(several):
        groups, place = np.unique(codes[several], return_inverse=True)
        shape = (len(groups), len(several))
        belongs = sparse.csr_matrix((np.ones(len(several), np.float32), (place, np.arange(len(several)))), shape=shape)
        mine, others = vectors[0][several], vectors[1][several]
        rows = np.arange(len(several))
        worth[several] = row_dots(mine, rows, belongs @ others, place) - row_dots(mine, rows, others, rows)
    return worth
