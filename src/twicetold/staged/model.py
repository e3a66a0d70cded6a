"""`model`: whether a model can be used, and what its vectors are."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from twicetold.dedupe.options import DedupeOptions
from twicetold.dedupe.pairs import pairs_of
from twicetold.dedupe.pairs_by_vectors import PairsByVectors
from twicetold.dedupe.thresholds import Thresholds
from twicetold.fingerprint import folder_digest
from twicetold.neighbours.joining import require_sparse
from twicetold.staged.plan import Plan, Settings
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors import search_vectors
from twicetold.trained.vectors_identity import fingerprint

WORD = ["a"]  # texts that say which vectors a model gives
UNLIKE = ["morning coffee", "buy this"]  # share no word and no three letters, so that only dense vectors share columns


def loaded(folder: str) -> LoadedModel:
    """The model of a folder, read once in a process, and again if another one is there."""
    return _loaded(folder, folder_digest(Path(folder)))


@lru_cache(maxsize=1)
def _loaded(folder: str, digest: str) -> LoadedModel:
    return LoadedModel.from_folder(Path(folder))


def options_of(settings: Settings) -> DedupeOptions:
    """What is a link, as for one file."""
    return DedupeOptions(precision=settings.precision, threshold=settings.threshold, rule=settings.rule)


def scores_of(model: LoadedModel, settings: Settings) -> tuple[Thresholds, PairsByVectors]:
    """What is known of links, and how pairs are scored.

    Raises:
        TypeError: if the score of a pair is no dot product.
        ValueError: if no threshold is known for the precision.
    """
    thresholds = Thresholds.of(model, options_of(settings))
    pairs = pairs_of(model, WORD, (None, None), measured=thresholds.measured, rerank=None)
    if not isinstance(pairs, PairsByVectors):
        raise TypeError(f"{model.folder} scores pairs one by one: a folder needs a model with a vector for each text")
    return thresholds, pairs


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Look at the model.

    Returns:
        Whether vectors are sparse, their columns, and what they depend on.

    Raises:
        TypeError: if a text has no vector, or two of them, as a query and as a document.
        ValueError: if texts that share nothing share columns of sparse vectors.
    """
    model = loaded(plan.settings.model)
    read = model.trained.read(WORD)
    if not read.searchable:
        raise TypeError(
            f"{model.folder} scores pairs only: it has no vector per text. Give a model that has one, such as static "
            "or tfidf"
        )
    thresholds, pairs = scores_of(model, plan.settings)
    thresholds.link(pairs.decision, options_of(plan.settings), 2)
    queries, documents = read.search_matrices(np.arange(1))
    if queries is not documents:
        raise TypeError(
            f"{model.folder} has two vectors per text, as a query and as a document: a folder needs a model with one"
        )
    if sparse.issparse(queries):
        both, _ = search_vectors(model.trained, UNLIKE)
        require_sparse(np.bincount(both.tocsr().indices, minlength=both.shape[1]), len(UNLIKE))
    return {
        "sparse": bool(sparse.issparse(queries)),
        "width": int(queries.shape[1]),
        "fingerprint": fingerprint(model.folder),
        "evidence": thresholds.in_words,
    }
