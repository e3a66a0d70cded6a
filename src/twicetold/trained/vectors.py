"""Search vectors of texts, and what scores have beyond their dot products.

Shape letters: N texts, D columns.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from twicetold.neighbours.nearest import Matrix
from twicetold.trained.ensemble import Ensemble
from twicetold.trained.reading import several
from twicetold.trained.scoring import TrainedModel

ENCODED = 1 << 16  # texts that are encoded at once


def search_vectors(model: TrainedModel, texts: Sequence[str]) -> tuple[Matrix, Matrix]:
    """(N, D) vectors of texts as queries and as documents; one object twice where the roles do not differ.

    Raises:
        TypeError: if the family scores pairs only, or one text is given in place of several.
    """
    blocks = [several(texts)[at : at + ENCODED] for at in range(0, len(texts), ENCODED)]
    pairs = [model.read(block).search_matrices(np.arange(len(block))) for block in blocks]
    if len(pairs) == 1:
        return pairs[0]
    queries, documents = zip(*pairs, strict=True)
    stack = sparse.vstack if sparse.issparse(queries[0]) else np.concatenate
    whole = stack(queries)
    return whole, whole if all(q is d for q, d in pairs) else stack(documents)


def constant(model: TrainedModel) -> float:
    """What the score of a pair has beyond the dot product of its vectors, where it is one; see `ensemble`."""
    if not isinstance(model, Ensemble):
        return 0.0
    members, stacked = list(model.members.values()), model.stacked
    dots = members[0].as_documents
    each = [m.decision.slope * constant(m) + (0 if dots else m.decision.intercept) for m in members]
    weighted = sum(weight * value for weight, value in zip(stacked.members, each, strict=True))
    return weighted + (0 if dots else stacked.intercept)
