"""Contributions of pairs of terms, one from each text, to a score.

If embeddings are linear in the feature rows, x A for queries and y B for documents, a score is a sum over pairs of
columns:

    score = s t (x A) · (y B) = Σ_i Σ_j  s t x_i y_j ⟨A_i, B_j⟩     s, t: 1 / length for a cosine, 1 for a dot product

A contribution describes the model, not the texts.

Shape letters: P left and Q right terms, K entries of a text, V feature columns, E dimensions.
"""

import importlib
import pkgutil
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twicetold.features.rows import CsrRows, Featuriser
from twicetold.trained.ensemble import Ensemble, constant
from twicetold.trained.reading import AnyEncoder, EncoderInUse, in_use
from twicetold.trained.scoring import Scorer, TrainedModel

CONSTANT = "(constant)"  # of an ensemble: what its score has beyond products of terms


@dataclass(frozen=True)
class Explanation:
    """A score and the contributions that add up to it."""

    left: tuple[str, ...]
    """(P,) terms of the left text."""
    right: tuple[str, ...]
    """(Q,) terms of the right text."""
    contribution: NDArray[np.float64]
    """(P, Q) of each pair of terms; they add up to the score."""
    score: float
    """Score that the model returns."""

    def largest(self, count: int) -> list[tuple[str, str, float]]:
        """The pairs of terms with the largest contributions by absolute value, without those of 0."""
        flat = self.contribution.ravel()
        order = np.argsort(-np.abs(flat), kind="stable")[:count]
        rows, columns = np.divmod(order[flat[order] != 0], max(len(self.right), 1))
        values = self.contribution[rows, columns].tolist()
        return [(self.left[i], self.right[j], v) for i, j, v in zip(rows, columns, values, strict=True)]


def explain(model: TrainedModel, left: str, right: str) -> Explanation:
    """Contributions of the terms of two texts to their score.

    The contributions of a term that occurs several times, or has several columns, are added up. Of an ensemble, the
    terms are those of its members, each named after its member, and a term of one adds nothing with a term of another.

    Args:
        model: a trained model.
        left: a text.
        right: the other text.

    Raises:
        TypeError: if the family, or that of a member, is not linear.
        ValueError: if a text is empty, or has no term that the model knows.
    """
    for side, text in (("left", left), ("right", right)):
        if not text.strip():
            raise ValueError(f"the {side} text is empty: there is nothing to explain")
    found = _explained(model, left, right)
    for side, terms in (("left", found.left), ("right", found.right)):
        if not set(terms) - {CONSTANT}:
            raise ValueError(f"no term of the {side} text is known to the model, so its score with every text is 0")
    return replace(found, score=float(model.score([left], [right])[0]))


def _explained(model: TrainedModel, left: str, right: str) -> Explanation:
    """The terms that the model knows and their contributions, without the score."""
    if isinstance(model, Ensemble):
        return _of_members(model, left, right)
    if not isinstance(model, Scorer):
        raise TypeError(f"expected a model of one encoder or an ensemble, got {type(model).__name__}")
    encoder = linear(model.encoder)
    rows = model.featuriser.transform([left, right])
    names = names_of(model.featuriser)
    query_map, document_map = encoder.linear_maps()
    queries, documents = encoder.search_matrices(rows, np.arange(2))
    left_terms, left_vectors = _terms(rows, 0, names, query_map, queries[[0]])
    right_terms, right_vectors = _terms(rows, 1, names, document_map, documents[[1]])
    sides = ((left_terms, left_vectors), (right_terms, right_vectors))
    products = left_vectors @ right_vectors.T
    contribution = products.toarray() if sp.issparse(products) else np.asarray(products)
    rows_known, columns_known = (len(terms) * bool(_length(vectors)) for terms, vectors in sides)
    return Explanation(
        left_terms[:rows_known], right_terms[:columns_known], contribution[:rows_known, :columns_known], 0.0
    )


def _of_members(model: Ensemble, left: str, right: str) -> Explanation:
    """The members' contributions, side by side, each times its weight and slope; then the constant, if any."""
    parts = []
    for (name, member), weight in zip(model.members.items(), model.stacked.members, strict=True):
        if weight:
            part = _explained(member, left, right)
            sides = (tuple(f"{name}: {term}" for term in terms) for terms in (part.left, part.right))
            parts.append((*sides, weight * member.decision.slope * part.contribution))
    if beyond := constant(model):
        parts.append(((CONSTANT,), (CONSTANT,), np.array([[beyond]])))
    lefts, rights, blocks = zip(*parts, strict=True)
    joined = sp.block_diag(blocks, format="csr").toarray()
    return Explanation(tuple(chain.from_iterable(lefts)), tuple(chain.from_iterable(rights)), joined, 0.0)


def linear(encoder: AnyEncoder) -> EncoderInUse:
    """The encoder, if it is linear.

    Raises:
        TypeError: if its family is not linear; the message lists the linear families.
    """
    if (used := in_use(encoder)).linear:
        return used
    raise TypeError(
        f"the scores of {type(encoder).__name__} are not sums over terms, as the family is not linear; "
        f"linear families: {', '.join(linear_families())}"
    )


def linear_families() -> list[str]:
    """Names of the families whose scores can be explained."""
    from torch import nn

    from twicetold import models

    modules = (importlib.import_module(f"{models.__name__}.{m.name}") for m in pkgutil.iter_modules(models.__path__))
    return sorted(
        module.__name__.rpartition(".")[2]
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and issubclass(value, nn.Module)
        and hasattr(value, "linear_maps")
    )


def names_of(featuriser: Featuriser) -> NDArray[np.object_]:
    """(V,) name of each feature column; its number, if the featuriser has no names."""
    if hasattr(featuriser, "get_feature_names_out"):
        names: NDArray[np.object_] = featuriser.get_feature_names_out()
        return names
    return np.array([f"column {i}" for i in range(featuriser.shape["width"])], object)


def _terms(
    rows: CsrRows, row: int, names: NDArray[np.object_], column_map: Any, vector: Any
) -> tuple[tuple[str, ...], Any]:
    """The P terms of a text in order of appearance, and their (P, E) parts of the text's search vector (1, E)."""
    entries = slice(rows.indptr[row], rows.indptr[row + 1])
    columns = np.asarray(rows.indices[entries])
    values = np.ones(len(columns)) if rows.values is None else np.asarray(rows.values[entries], np.float64)
    found = names[columns].tolist()
    terms = {term: place for place, term in enumerate(dict.fromkeys(found))}
    place = [terms[term] for term in found]
    gather = sp.csr_matrix((values, (place, np.arange(len(columns)))), shape=(len(terms), len(columns)))
    vectors = gather @ column_map[columns].astype(np.float64)
    whole, length = _length(vectors.sum(axis=0)), _length(vector)
    return tuple(terms), vectors * (length / whole if whole else 0.0)


def _length(vector: Any) -> float:
    return float(np.linalg.norm(vector.toarray() if sp.issparse(vector) else np.asarray(vector)))


def explanation_text(explanation: Explanation, *, most: int) -> str:
    """The pairs of terms with the largest contributions, one per line, then the sum of the others, then the score.

    Args:
        explanation: of one pair of texts.
        most: pairs to show.
    """
    shown = explanation.largest(most)
    others = explanation.contribution.size - len(shown)
    total = float(explanation.contribution.sum())
    lines = [(f"{value:+.4f}", left, right) for left, right, value in shown]
    if others:
        rest = total - sum(value for *_, value in shown)
        lines.append((f"{rest:+.4f}", f"({others} other pairs)", ""))
    lines = [("contribution", "left", "right"), *lines, (f"{total:+.4f}", "score", "")]
    first, second = (max(len(line[i]) for line in lines) for i in (0, 1))
    return "\n".join(f"{a.rjust(first)}  {b.ljust(second)}  {c}".rstrip() for a, b, c in lines) + "\n"
