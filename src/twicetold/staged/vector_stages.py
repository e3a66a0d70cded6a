"""Stages that load the model: `model`, whether it can be used; the `threshold` of a link; `encode`, vectors of texts.

Blocks are of the numbers of distinct texts, not of parts, and as large as those that `search_vectors` encodes at once:
vectors of other blocks may have other last bits.
"""

from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from twicetold.dedupe.pairs import PairsByVectors, pairs_of
from twicetold.dedupe.results import DedupeCounts, DedupeSummary
from twicetold.dedupe.thresholds import Thresholds, threshold_warnings
from twicetold.evaluation.decision import Decision
from twicetold.fingerprint import folder_digest
from twicetold.staged.arrays import write_arrays
from twicetold.staged.plan import Plan, Settings, bounds
from twicetold.staged.row_stages import firsts_of, texts_of_rows
from twicetold.trained.drift import Drift, blank
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors
from twicetold.trained.vectors_identity import fingerprint

WORD = ["a"]  # texts that say which vectors a model gives


def loaded(folder: str) -> LoadedModel:
    """Return the model of a folder, read once in a process, and again if another one is there."""
    return _loaded(folder, folder_digest(Path(folder)))


@lru_cache(maxsize=1)
def _loaded(folder: str, digest: str) -> LoadedModel:
    return LoadedModel.from_folder(Path(folder))


def scores_of(model: LoadedModel, settings: Settings) -> tuple[Thresholds, PairsByVectors]:
    """Return evidence about links, and scores of pairs.

    Raises:
        TypeError: if the score of a pair is no dot product.
        ValueError: if no threshold is known for the precision.
    """
    thresholds = Thresholds.of(model, settings)
    pairs = pairs_of(model, WORD, (None, None), measured=thresholds.measured)
    if not isinstance(pairs, PairsByVectors):
        raise TypeError(f"{model.folder} scores pairs one by one: a folder needs a model with a vector for each text")
    return thresholds, pairs


def model(plan: Plan, name: str) -> dict[str, Any]:
    """Check that a model can be used, and describe its vectors.

    Returns:
        Whether pairs are compared by a matcher; if not, columns of the vectors, and what they depend on.

    Raises:
        TypeError: if texts are compared by their vectors, and a text has none, a sparse one, or two of them, as a
            query and as a document, or options name columns.
    """
    model = loaded(plan.settings.model)
    matched = Thresholds.of(model, plan.settings, by_matcher=True)
    if matched.by_matcher:
        return {"compared": True, "evidence": matched.in_words}
    if plan.settings.columns:
        raise TypeError(
            f"{model.folder} compares the texts of a folder by their vectors, and options name the columns "
            f"{', '.join(plan.settings.columns)}: leave these out, or MODEL, or dedupe a file"
        )
    read = model.trained.read(WORD)
    if not read.searchable:
        raise TypeError(
            f"{model.folder} scores pairs only: it has no vector per text. Give a model that has a dense one, such "
            "as static"
        )
    thresholds, pairs = scores_of(model, plan.settings)
    thresholds.link(pairs, plan.settings, 2)
    queries, documents = read.search_matrices(np.arange(1))
    if queries is not documents:
        raise TypeError(
            f"{model.folder} has two vectors per text, as a query and as a document: a folder needs a model with one"
        )
    if sparse.issparse(queries):
        raise TypeError(
            f"{model.folder} has a number for each letter and word of a text: a folder needs a model with dense "
            "vectors alone, such as static. By this one, dedupe a file"
        )
    return {
        "compared": False,
        "width": int(queries.shape[1]),
        "fingerprint": fingerprint(model.folder),
        "evidence": thresholds.in_words,
    }


def threshold(plan: Plan, name: str) -> dict[str, Any]:
    """Return the score from which a pair is a link among so many texts, and what is known of links.

    Returns:
        `decision` and `constant` as a plan has them, and a `DedupeSummary` of threshold and warnings in JSON.
    """
    model, settings = loaded(plan.settings.model), plan.settings
    thresholds, pairs = scores_of(model, settings)
    link = thresholds.link(pairs, settings, plan.distinct)
    summary = DedupeSummary(DedupeCounts(plan.rows, plan.distinct), link, tuple(threshold_warnings(model)))
    decision = Decision(float(link.score), float(pairs.decision.slope), float(pairs.decision.intercept))
    return {"decision": asdict(decision), "constant": float(pairs.constant), "summary": summary.to_json()}


def encode(plan: Plan, name: str) -> dict[str, Any]:
    """Encode a block of distinct texts.

    Returns:
        Number of texts without a term that the model knows, and sentences on how texts are unlike the model's.
    """
    texts = texts_of_rows(plan, firsts_of(plan).numbers(np.arange(*bounds(name, plan.distinct))))
    model = loaded(plan.settings.model)
    with threadpool_limits(1):  # of torch as well, if the model has just brought it
        vectors, _ = search_vectors(model.trained, texts)
    lengths = np.array([len(text) for text in texts], np.int32)
    write_arrays(plan, "encode", name, vectors=np.ascontiguousarray(vectors, np.float32), length=lengths)
    likeness = Drift(model)
    likeness.add(texts)
    return {"blank": blank(vectors), "drift": list(likeness.warnings())}
