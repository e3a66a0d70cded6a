"""Why pairs of texts are alike, for many pairs at once, by models whose vectors have a column for each term.

The score of a lexical model is a sum over the terms that both texts have, s = Σ_c x_c y_c; that of an ensemble is a sum
of its members' scores times their weights. So the product of two rows has all contributions, and thousands of pairs
cost little more than their scores.

Shape letters: P pairs, V columns, K terms that are shown of a pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.neighbours.nearest import Matrix, row_dots
from twicetold.trained.ensemble import Ensemble
from twicetold.trained.reading import in_use
from twicetold.trained.scoring import Scorer, TrainedModel, search_vectors

TERMS = 5  # that are shown of a pair
BLOCK = 16_384  # pairs at a time
DECIMALS = 3
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Part:
    """Vectors that a part of a model compares.

    Args:
        name: of the member; empty of a model of one encoder.
        weight: of its dot products in the score.
        queries: (n, V) vectors.
        documents: (n, V) vectors.
        terms: (V,) of the columns; None where columns are no terms.
    """

    name: str
    weight: float
    queries: Matrix
    documents: Matrix
    terms: NDArray[np.object_] | None


def why(model: TrainedModel, texts: Sequence[str], left: Ints, right: Ints, *, terms: int = TERMS) -> list[str]:
    """(P,) for each pair what adds most to its score, such as `letters 0.31, words 0.2: words=router 0.12, …`.

    Of an ensemble, what each member adds comes first. Terms that add nothing are left out.

    Args:
        model: a lexical model, or an ensemble with a lexical member.
        texts: that pairs are of.
        left: (P,) places of texts.
        right: (P,) places of the others.
        terms: that are shown of a pair.

    Raises:
        TypeError: if no column of the model is a term.
    """
    needed, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    parts = _parts(model, [texts[row] for row in needed.tolist()] or [""])
    one, other = place[: len(left)], place[len(left) :]
    found: list[str] = []
    for start in range(0, len(left), BLOCK):
        block = slice(start, start + BLOCK)
        found += _described(parts, one[block], other[block], terms)
    return found


def _parts(model: TrainedModel, texts: Sequence[str]) -> list[_Part]:
    members = {"": (model, 1.0)}
    if isinstance(model, Ensemble):
        weights = zip(model.members.items(), model.stacked.members, strict=True)
        members = {name: (member, weight * member.decision.slope) for (name, member), weight in weights if weight}
    parts = [
        _Part(name, weight, *search_vectors(each, texts), _terms(each)) for name, (each, weight) in members.items()
    ]
    if all(part.terms is None for part in parts):
        raise TypeError(
            "expected a lexical model, such as tfidf, or an ensemble with one: of other models no part of a vector is "
            "a term"
        )
    return parts


def _terms(model: TrainedModel) -> NDArray[np.object_] | None:
    if not isinstance(model, Scorer) or not (encoder := in_use(model.encoder)).linear:
        return None
    columns, _ = encoder.linear_maps()
    if not sp.issparse(columns):
        return None
    featuriser: Any = model.featuriser
    if not hasattr(featuriser, "get_feature_names_out"):
        return np.array([f"column {column}" for column in range(featuriser.shape["width"])], object)
    return np.asarray(featuriser.get_feature_names_out(), object)


def _described(parts: Sequence[_Part], left: Ints, right: Ints, most: int) -> list[str]:
    """(P,) the members, and the terms that add most."""
    rows, names, values = [], [], []
    for part in parts:
        if part.terms is None:
            continue
        products: Any = part.queries[left].multiply(part.documents[right]).tocoo()
        rows.append(products.row)
        values.append(part.weight * products.data)
        terms = pa.array(part.terms, pa.string()).take(pa.array(products.col))
        names.append(pc.binary_join_element_wise(part.name, terms, "=") if part.name else terms)
    row, value = np.concatenate(rows).astype(np.int64), np.concatenate(values)
    order = np.lexsort((-value, row))
    order = order[value[order] > 0]
    starts = np.searchsorted(row[order], np.arange(len(left) + 1))
    order = order[np.arange(len(order)) - starts[row[order]] < most]
    name = pa.concat_arrays([_plain(each) for each in names]).take(pa.array(order))
    shown = _by_pair(name, value[order], row[order], len(left))
    if len(parts) == 1:
        return shown
    dots = (row_dots(part.queries, left, part.documents, right).astype(np.float32) for part in parts)
    totals = np.array([part.weight * each for part, each in zip(parts, dots, strict=True)]).T
    members = pa.array([part.name for part in parts] * len(left), pa.string())
    whole = _by_pair(members, totals.ravel(), np.repeat(np.arange(len(left)), len(parts)), len(left))
    return [f"{total}: {terms}" if terms else total for total, terms in zip(whole, shown, strict=True)]


def _by_pair(name: pa.Array, value: NDArray[Any], row: Ints, count: int) -> list[str]:
    """(P,) names with numbers, joined by commas."""
    number = pa.array(value.astype(np.float64).round(DECIMALS)).cast(pa.string())
    each = pc.binary_join_element_wise(name, number, " ")
    offsets = pa.array(np.searchsorted(row, np.arange(count + 1)).astype(np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(offsets, _plain(each)), ", ").to_pylist()  # type: ignore[no-any-return]


def _plain(values: Any) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
