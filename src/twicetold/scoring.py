"""From texts to scores with a given encoder: what validation, evaluation and a served model share.

A family whose scores are dot products (`Searchable`) embeds each text once; any other family scores batches of pairs.
Documents are compared each with each, so by dot products whatever the family: a family with another score ranks them by
its embeddings (`Rankable`), and a model that was trained on documents scores pairs in the same way.

Shape letters: N texts of the corpus, P pairs, M documents of a split, D columns of the search vectors.
"""

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.encoding import Encoding, SparseRows
from twicetold.evaluation.decision import Decision, Verdict
from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs
from twicetold.features.rows import CsrRows, Featuriser
from twicetold.features.saved import load_fitted
from twicetold.layers.committee import committee_of
from twicetold.models.protocol import Encoder, Rankable, Searchable

BATCH = 1024  # texts or pairs encoded at once
Matrix: TypeAlias = Any
"""A dense (n, d) float32 array, or a SciPy CSR matrix of that shape."""


def search_matrices(encoder: Encoder, rows: CsrRows, texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
    """Search vectors of the given texts, as queries and as documents.

    Args:
        encoder: a `Searchable` or `Rankable` family.
        rows: feature rows of the whole corpus.
        texts: (M,) row numbers.

    Returns:
        Two (M, D) matrices, dense or CSR; the same object twice where the two roles do not differ.

    Raises:
        TypeError: if the family cannot embed a text alone.
    """
    if isinstance(encoder, Searchable):
        vectors_of: Callable[[Encoding], tuple[Any, Any]] = encoder.search_vectors
    elif isinstance(encoder, Rankable):
        vectors_of = encoder.ranking_vectors
    else:
        raise TypeError(
            f"{type(encoder).__name__} scores pairs only, it has no vector per text: "
            "use it on labelled or graded pairs, or choose a family with search_vectors"
        )
    queries, documents = [], []
    with _evaluating(encoder) as device:
        for start in range(0, len(texts), BATCH):
            batch = rows.gather(texts[start : start + BATCH]).to(device)
            query, document = vectors_of(encoder.encode(batch))
            queries.append(query)
            documents.append(query if document is query else document)
    same = all(q is d for q, d in zip(queries, documents, strict=True))
    left = _stack(queries)
    return left, left if same else _stack(documents)


def score_pairs(
    encoder: Encoder, rows: CsrRows, left: NDArray[np.int64], right: NDArray[np.int64], *, as_documents: bool = False
) -> NDArray[np.float32]:
    """(P,) score of each pair of texts; higher means more alike.

    Args:
        encoder: any family.
        rows: feature rows of the whole corpus.
        left: (P,) row numbers.
        right: (P,) row numbers.
        as_documents: score as `search_matrices` ranks documents, which for a `Rankable` family is not its own score.
    """
    if as_documents or isinstance(encoder, Searchable):
        texts, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
        queries, documents = search_matrices(encoder, rows, texts)
        return _row_dots(queries, ends[: len(left)], documents, ends[len(left) :])
    scores = []
    with _evaluating(encoder) as device:
        for start in range(0, len(left), BATCH):
            sides = (rows.gather(side[start : start + BATCH]).to(device) for side in (left, right))
            scores.append(encoder.score(*(encoder.encode(side) for side in sides)).float().cpu())
    return torch.cat(scores).numpy()


def evaluation_inputs(encoder: Encoder, rows: CsrRows, corpus: Corpus, split: str) -> ScoredPairs | DocumentVectors:
    """What the evaluator needs of one split: scored pairs, or the vectors of all documents."""
    if corpus.kind == "documents":
        members = corpus.members[split]
        left, right = search_matrices(encoder, rows, members)
        return DocumentVectors(left, right, {name: codes[members] for name, codes in corpus.groups.items()})
    pairs = corpus.pairs[split]
    return ScoredPairs(score_pairs(encoder, rows, pairs.left, pairs.right), pairs.label)


@dataclass(frozen=True)
class Scorer:
    """A trained model for new texts."""

    featuriser: Featuriser
    encoder: Encoder
    decision: Decision
    """Threshold and calibration, both chosen on validation."""
    as_documents: bool = False
    """Whether the decision was chosen on documents, and so on dot products of their vectors."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """(n, D) vectors whose dot products are scores; CSR for the lexical families.

        Raises:
            TypeError: if the family cannot embed a text alone, or one text is given in place of several.
        """
        rows = self.featuriser.transform(_several(texts))
        return search_matrices(self.encoder, rows, np.arange(len(rows)))[0]

    def score(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """(n,) score of each pair; higher means more alike.

        Raises:
            ValueError: if the two sides differ in length.
            TypeError: if one text is given in place of several.
        """
        left, right = _several(left), _several(right)
        if len(left) != len(right):
            raise ValueError(f"expected as many left texts as right ones, got {len(left)} and {len(right)}")
        if not left:
            return np.empty(0, np.float32)
        rows = self.featuriser.transform([*left, *right])
        numbers = np.arange(len(rows))
        return score_pairs(
            self.encoder, rows, numbers[: len(left)], numbers[len(left) :], as_documents=self.as_documents
        )

    def verdicts(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """Score, probability and decision of each pair of texts."""
        if not pairs:
            return []
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        score = self.score(left, right)
        found = zip(left, right, score, self.decision.probability(score), self.decision.duplicate(score), strict=True)
        return [Verdict(a, b, float(s), float(p), bool(d)) for a, b, s, p, d in found]


def _several(texts: Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str):
        raise TypeError(f"expected a list of texts, got one text: put it in a list, [{texts!r}]")
    return texts


def load_scorer(folder: str | Path) -> Scorer:
    """Read the model that training wrote to `folder`.

    Raises:
        FileNotFoundError: if there is no trained model.
    """
    folder = Path(folder)
    recipe = _recipe(folder)
    featuriser = load_fitted(construct(recipe["features"]), folder)
    judges = recipe.get("committee", 1)  # older models have no committee
    encoder = committee_of([construct(recipe["encoder"], **featuriser.shape) for _ in range(judges)])
    encoder.load_state_dict(load_file(folder / layout.WEIGHTS))
    decision = Decision.from_json(json.loads((folder / layout.DECISION).read_text(encoding="utf-8")))
    return Scorer(featuriser, encoder.eval(), decision, recipe["as_documents"])


def other_parts(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """Which of `features` and `encoder` the model in `folder` was trained with other settings of than `config` has."""
    recipe = _recipe(folder)
    return [part for part in ("features", "encoder") if recipe[part] != config[part]]


def trained_on(folder: Path) -> dict[str, str]:
    """Name of the dataset, and digest of its train texts, that the model was trained on; empty for older models."""
    found: dict[str, str] = _recipe(folder).get("data", {})
    return found


def _recipe(folder: Path) -> dict[str, Any]:
    """What the model in `folder` was built from.

    Raises:
        FileNotFoundError: if there is no trained model.
    """
    if not (folder / layout.RECIPE).exists():
        raise FileNotFoundError(f"no trained model in {folder}: expected {layout.RECIPE} there; train it first")
    recipe: dict[str, Any] = json.loads((folder / layout.RECIPE).read_text(encoding="utf-8"))
    return recipe


def construct(config: Mapping[str, Any], **further: Any) -> Any:
    """Build the object that a configuration with `_target_` describes, with its parts, from this library alone.

    Raises:
        ValueError: if a target lies outside the library: a model folder must not run foreign code.
    """
    settings = {name: _constructed(value) for name, value in {**config, **further}.items() if name != "_convert_"}
    target, later = settings.pop("_target_"), settings.pop("_partial_", False)
    module, _, name = target.rpartition(".")
    if not module.startswith("twicetold."):
        raise ValueError(f"expected a _target_ within twicetold, got {target!r}: this model folder is not one of ours")
    made = getattr(importlib.import_module(module), name)
    return partial(made, **settings) if later else made(**settings)


def _constructed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return construct(value) if "_target_" in value else {n: _constructed(v) for n, v in value.items()}
    return [_constructed(v) for v in value] if isinstance(value, list) else value


@contextmanager
def _evaluating(encoder: Encoder) -> Iterator[torch.device]:
    """Evaluation mode without gradients, and back; yields the encoder's device."""
    training = encoder.training
    encoder.eval()
    try:
        with torch.inference_mode():
            yield next((p.device for p in encoder.parameters()), torch.device("cpu"))
    finally:
        encoder.train(training)


def _stack(parts: Sequence[Tensor | SparseRows]) -> Matrix:
    return (
        sp.vstack([matrix_of(p) for p in parts], format="csr")
        if isinstance(parts[0], SparseRows)
        else np.concatenate([matrix_of(p) for p in parts])
    )


def matrix_of(vectors: Tensor | SparseRows) -> Matrix:
    """The same as an array or a SciPy matrix."""
    if isinstance(vectors, Tensor):
        return vectors.detach().float().cpu().numpy()
    parts = (vectors.values_or_ones().cpu().numpy(), vectors.indices.cpu().numpy(), vectors.offsets.cpu().numpy())
    return sp.csr_matrix(parts, shape=(len(vectors), vectors.width))


def _row_dots(
    left: Matrix, left_rows: NDArray[np.int64], right: Matrix, right_rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    if isinstance(left, np.ndarray):
        dots: NDArray[np.float32] = np.einsum("pd,pd->p", left[left_rows], right[right_rows])
        return dots
    return np.asarray(left[left_rows].multiply(right[right_rows]).sum(axis=1), np.float32).ravel()
