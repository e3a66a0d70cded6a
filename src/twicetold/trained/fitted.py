"""A model that needs no training: fitted to the texts that it is to compare, without labels.

The score of a pair is the weighted mean of cosines,

    s = Σᵢ wᵢ ⟨uᵢ, vᵢ⟩        Σᵢ wᵢ = 1

of the letter trigrams within words and of whole words, both by TF-IDF over these texts and both with the symbols of
texts. Where the extra `static` is installed, WordLlama's vectors are a third part; nothing is fetched. All of them read
texts in their normal form (`features.folded`). It is an ensemble, so a text has one search vector, and all that is done
with models can be done with it. What it cannot do is promise: its threshold and calibration are those by which the
score comes nearest to the generic matcher (`matching.matcher`), which was learnt on other files, and it gives no
verdict until it is calibrated on labelled pairs. Groups are made by the matcher itself (`matching.comparison`).

Shape letters: n texts, R sampled ones, D dimensions, S columns of search vectors.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.decision import Decision
from twicetold.evaluation.labels import Decisions, LabelDecision
from twicetold.neighbours.nearest import Matrix, row_dots, similarities
from twicetold.packages import folder_of_package
from twicetold.trained.building import construct
from twicetold.trained.ensemble import Ensemble, Weights
from twicetold.trained.scoring import Scorer, TrainedModel, search_vectors

VECTORS = "vectors"  # name of the member of vectors
MEANING = "meaning"  # the label: what duplicates share
SAMPLED, BESIDE = 400, 5  # texts by which the calibration is found, and the nearest of each
PRIOR = Decision(0.6, 10.0, -6.0)  # of files that are too small to find a calibration by
SURE = np.array([0.01, 0.01])  # how firm intercept and slope are
FEW = 50  # texts that say nothing of a calibration
METRIC = "none"  # nothing was measured
COSINE = Decision(0.0, 1.0, 0.0)  # of a member: its score stays a cosine
UNTRAINED = {"parameters": 0, "metric": METRIC, "epochs": 0, "best_epoch": 0, "best_value": 0.0, "precision": None}


@dataclass(frozen=True)
class Part:
    """A way of comparing texts.

    Args:
        features: configuration of the featuriser.
        encoder: configuration of the encoder.
        weight: of its cosine.
    """

    features: Mapping[str, Any]
    encoder: Mapping[str, Any]
    weight: float


Mixture: TypeAlias = Mapping[str, Part]
"""Ways of comparing texts, by name, with weights that add up to 1."""


# Weights: docs/explanation/experiments/default-dedupe.md. Trigrams group better than 4-grams.
_TERMS = "twicetold.features.folded.FoldedTerms"
_LETTERS = {"_target_": _TERMS, "letters": 3}
_WORDS = {"_target_": _TERMS, "letters": 0, "words": 1}
_COSINE = {"_target_": "twicetold.models.tfidf.TfIdfCosine"}
_VECTORS = {
    "_target_": "twicetold.features.folded.FoldedTokens",
    "model": "wordllama",
    "pretrained_on": "WordLlama: Quora duplicates, AllNLI, duplicates of StackExchange, MS MARCO and others",
    "seen": ["quora", "nli", "stsb"],
}
TABLE: dict[str, Any] = {
    "_target_": "twicetold.models.pretrained_static.PretrainedStatic",
    "embedding": 256,
    "init": "pretrained",
}
TABLE |= {"trained": "table", "rank": 1, "input_dropout": 0.0}
LEXICAL = {"letters": Part(_LETTERS, _COSINE, 0.7), "words": Part(_WORDS, _COSINE, 0.3)}
WITH_VECTORS = {
    "letters": Part(_LETTERS, _COSINE, 0.35),
    "words": Part(_WORDS, _COSINE, 0.15),
    VECTORS: Part(_VECTORS, TABLE, 0.5),
}
PACKAGE = "wordllama"
FILES = {  # in the package, as in conf/pretrained/wordllama.yaml
    "tokenizer.json": "tokenizers/l2_supercat_tokenizer_config.json",
    "model.safetensors": "weights/l2_supercat_256.safetensors",
}


def mixture() -> Mixture:
    """Return the mixture in use: with vectors, where they are installed."""
    return LEXICAL if _installed() is None else WITH_VECTORS


class Fitted(Ensemble):
    """An ensemble that is fitted to texts, each part of it when it is first used.

    A dedupe by the matcher reads the member of vectors alone. The others, and the threshold and calibration, which take
    a search among the texts, are for what goes by similarity.

    Args:
        texts: distinct ones.
        compared: ways of comparing them.

    Raises:
        ValueError: if there is no text, or neither word nor symbol in them.
    """

    def __init__(self, texts: Sequence[str], compared: Mixture) -> None:
        if not texts:
            raise ValueError("there are no texts to fit to")
        weights = Weights(tuple(part.weight for part in compared.values()))
        vars(self).update(texts=texts, compared=compared, as_documents=True, weights=weights)
        if not any(map(str.isalnum, chain.from_iterable(texts))):
            self.members  # noqa: B018 (raises here what it would raise later)

    texts: Sequence[str]
    compared: Mixture
    unlabelled = True

    @cached_property
    def members(self) -> Mapping[str, Scorer]:  # type: ignore[override]
        """By name."""
        vectors = {} if self.vectors is None else {VECTORS: self.vectors}
        others = {name: part for name, part in self.compared.items() if name not in vectors}
        return {name: _member(part, self.texts) for name, part in others.items()} | vectors

    @cached_property
    def vectors(self) -> Scorer | None:
        """The member of vectors; None without it."""
        part = self.compared.get(VECTORS)
        return None if part is None else _member(part, self.texts)

    @cached_property
    def by_label(self) -> Decisions:  # type: ignore[override]
        """The threshold and calibration by which the score comes nearest to the matcher."""
        plain = Ensemble(self.members, COSINE, as_documents=True, weights=self.weights)
        return unlabelled(plain, search_vectors(plain, self.texts)[0], self.texts)[1]

    @cached_property
    def decision(self) -> Decision:  # type: ignore[override]
        """The only one of `by_label`."""
        return self.by_label.selected


def save_fitted_to(folder: Path, fitted: Fitted, *, name: str) -> None:
    """Write it to `folder`, as any ensemble.

    Args:
        folder: the model folder.
        fitted: the model.
        name: of these texts, such as that of their file.
    """
    from twicetold.trained.model_folder import save_ensemble, save_scorer

    data = fitted_data(fitted.texts, name)
    with TemporaryDirectory() as temporary:
        places = {member: Path(temporary, member) for member in fitted.members}
        for member, scorer in fitted.members.items():
            part = fitted.compared[member]
            source = part.features.get("pretrained_on")
            save_scorer(
                places[member],
                scorer,
                features=part.features,
                settings=part.encoder,
                data=data,
                training=UNTRAINED,
                pretrained_on=[] if source is None else [source],
                seen=part.features.get("seen", []),
            )
        save_ensemble(folder, fitted, places, thresholds=None, metric=METRIC, value=0.0, data=data)


def unlabelled(model: TrainedModel | None, vectors: Matrix, texts: Sequence[str]) -> tuple[Decision, Decisions]:
    """Return the threshold and calibration of the similarity of texts that nobody has labelled, and they as a decision.

    They come nearest to the generic matcher, over pairs of some texts and their nearest ones.

    Args:
        model: that made the vectors; None if they were made elsewhere.
        vectors: (n, S) search vectors.
        texts: n of them; by their hashes some are sampled, so that their order changes nothing.
    """
    decision = _as_the_matcher(model, vectors, texts)
    return decision, Decisions({MEANING: LabelDecision(MEANING, decision, unlabelled=True)}, MEANING, MEANING)


def member_vectors(model: TrainedModel, texts: Sequence[str]) -> NDArray[np.float32] | None:
    """Return (n, D) vectors of texts, of length 1, by the member of vectors or a model of one encoder; None if none."""
    member: TrainedModel | None = model
    if isinstance(model, Ensemble):
        member = model.vectors if isinstance(model, Fitted) else model.members.get(VECTORS)
    if member is None or not texts:
        return None
    vectors: NDArray[np.float32] = search_vectors(member, texts)[0]
    return vectors


def dense_vectors(model: TrainedModel | None, searched: Matrix) -> NDArray[np.float32] | None:
    """Return (n, D) vectors of length 1 among the (n, S) search vectors of a fitted model; None if all are terms."""
    if isinstance(searched, np.ndarray):
        return searched
    if not isinstance(model, Ensemble) or VECTORS not in model.members:
        return None
    part = searched.tocsc()[:, -TABLE["embedding"] :].toarray()
    length = np.linalg.norm(part, axis=1, keepdims=True)
    return np.asarray(np.divide(part, length, out=np.zeros_like(part), where=length > 0), np.float32)


def _as_the_matcher(model: TrainedModel | None, vectors: Matrix, texts: Sequence[str]) -> Decision:
    from twicetold.matching.candidates import candidates  # with scikit-learn, which loading a model does not need
    from twicetold.matching.generic import generic_matcher
    from twicetold.matching.pair_features import pair_features
    from twicetold.matching.regression import fit_logistic
    from twicetold.matching.terms import Terms

    if len(texts) < FEW:
        return PRIOR
    rows = _some_with_nearest(vectors, texts)
    dense = dense_vectors(model, vectors[rows])
    terms = Terms.of([texts[row] for row in rows.tolist()])
    pairs = candidates(terms, dense)
    matcher = generic_matcher(vectors=dense is not None)
    similarity = row_dots(vectors, rows[pairs.left], vectors, rows[pairs.right])
    intercept, slope = fit_logistic(
        np.column_stack([np.ones(len(pairs)), similarity]),
        matcher.probability(pair_features(terms, pairs)),
        mean=np.array([PRIOR.intercept, PRIOR.slope]),
        precision=SURE,
    )
    if slope < 1 or not 0 < -intercept / slope < 1:
        return PRIOR
    return Decision(float(-intercept / slope), float(slope), float(intercept))


def _some_with_nearest(vectors: Matrix, texts: Sequence[str]) -> NDArray[np.int64]:
    """Return rows of the texts with the lowest hashes, and of their nearest ones."""
    some = lowest_hashes(texts, min(len(texts), SAMPLED))
    if len(some) == len(texts):
        return some
    similarity = similarities(vectors[some], vectors)(slice(None))
    nearest = np.argpartition(-similarity, BESIDE, axis=1)[:, : BESIDE + 1]
    return np.unique(np.append(some, nearest))


def fitted_data(texts: Sequence[str], name: str) -> dict[str, str]:
    """Return the record of the texts that a model was fitted to: their name and a hash of them."""
    return {"name": name, "train": hashlib.sha256("\0".join(texts).encode()).hexdigest()}


def _member(part: Part, texts: Sequence[str]) -> Scorer:
    featuriser = construct(part.features, "features")
    if part.features is _VECTORS:
        package = _installed()
        assert package is not None
        with TemporaryDirectory() as folder:
            for name, file in FILES.items():
                Path(folder, name).symlink_to(package / file)
            featuriser.model = folder
            featuriser.fit(texts)
        featuriser.model = _VECTORS["model"]
    else:
        featuriser.fit(texts)
    encoder = construct(part.encoder, "models", **featuriser.shape)
    return Scorer(featuriser, encoder, COSINE, as_documents=True)


def static_vectors(texts: Sequence[str]) -> NDArray[np.float32] | None:
    """Return (n, D) vectors of texts by the default's static model, of length 1; None where it is not installed."""
    return None if _installed() is None or not texts else member_vectors(Fitted(texts, WITH_VECTORS), texts)


def _installed() -> Path | None:
    """Return the folder of the package with the vectors, which is not imported; None if it is not there."""
    folder = folder_of_package(PACKAGE)
    return folder if folder and all((folder / file).is_file() for file in FILES.values()) else None


def lowest_hashes(texts: Sequence[str], count: int) -> NDArray[np.int64]:
    """Return (count,) rows of the texts with the lowest hashes, ascending: the same texts in any order of the file."""
    if count >= len(texts):
        return np.arange(len(texts))
    hashes = b"".join(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts)
    return np.sort(np.argpartition(np.frombuffer(hashes, "<u8"), count)[:count])
