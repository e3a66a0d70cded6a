"""Train one cell of the grid: one family on one corpus with one seed.

The steps are the same for every family: fit the featuriser on train texts, compute feature rows, train the encoder (if
it is trainable), save.
"""

import hashlib
import inspect
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from twicetold.features.rows import CsrRows, Featuriser
from twicetold.features.saved import write_matrix
from twicetold.files import make_once, write_file, write_folder
from twicetold.models.protocol import Encoder, OnFrozen, Settling
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.neural import BATCH
from twicetold.trained.reading import SAMPLE, EncodedTexts, score_pairs
from twicetold.trained.saving import write_trained
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import Again, EpochBatches, ExampleIndex, GatheredExamples, lengths_of, train_loader
from twicetold_lab.scoring.cache import feature_rows, inputs_of, with_extra_texts
from twicetold_lab.scoring.duplicates import evaluation_inputs, primary_value
from twicetold_lab.training.parts import Parts, Places
from twicetold_lab.training.schedule import Fitted, MakeOptimizer, OnEpoch, Runtime
from twicetold_lab.training.solvers.protocol import Solver, Steps, TrainingData

TEXTS = 4096  # read by a frozen network at once
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """A trained cell."""

    featuriser: Featuriser
    encoder: Encoder
    as_documents: bool
    metric: str
    fitted: Fitted
    seconds: float
    texts_per_second: float

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(p.numel() for p in self.encoder.parameters())

    def save(
        self,
        folder: Path,
        *,
        features: Mapping[str, Any],
        encoder: Mapping[str, Any],
        data: Mapping[str, str],
        pretrained_on: Sequence[str] = (),
        seen: Sequence[str] | None = (),
    ) -> None:
        """Write what was trained to `folder`, atomically. Arguments: `trained.saving.write_trained`."""
        with write_folder(folder) as target:
            write_trained(
                target,
                self.featuriser,
                self.encoder,
                as_documents=self.as_documents,
                features=features,
                settings=encoder,
                data=data,
                training={"parameters": self.parameters, "metric": self.metric, **asdict(self.fitted)},
                pretrained_on=pretrained_on,
                seen=seen,
            )


def train_cell(
    corpus: Corpus,
    parts: Parts,
    *,
    examples: ExampleIndex | None = None,
    seed: int,
    feature_key: str,
    places: Places,
    runtime: Runtime,
    on_epoch: OnEpoch,
) -> Trained:
    """Train. Validation is read for the primary metric, the test split is not read.

    Args:
        corpus: the data.
        parts: chosen by the recipe.
        examples: those of `parts`, if they are loaded already; None: load them.
        seed: of initialisation, order and noise.
        feature_key: identifies corpus and featuriser settings in the cache of feature rows.
        places: folders.
        runtime: where to compute.
        on_epoch: called with each epoch's metrics and number.

    Raises:
        ValueError: if the settings leave nothing to train or to compare, or training diverges.
    """
    started = time.perf_counter()
    if examples is None and parts.examples is not None:
        examples = parts.examples.index(corpus, places.triplets)
    if examples is not None:
        _check_batch_size(parts, examples)
    featuriser = parts.featuriser.fit(inputs_of(parts.featuriser, corpus, corpus.members["train"]))
    rows = feature_rows(featuriser, corpus, places.features, key=feature_key)
    if examples is not None:
        rows = with_extra_texts(featuriser, rows, examples.extra_texts)
    torch.manual_seed(seed)
    encoder = parts.encoder_of(featuriser.shape)
    _check_sizes(encoder)
    if examples is not None:
        _check_learns(encoder)
        parts.check_negatives_of(encoder)
    if isinstance(encoder, OnFrozen):
        rows = with_token_vectors(encoder, rows, places.features, device=runtime.device)
    fitted = None
    if examples is not None and parts.objective is not None:
        data = TrainingData(rows, corpus.members["train"], examples)
        fitted = _fit(encoder, data, corpus, parts, places, seed=seed, runtime=runtime, on_epoch=on_epoch)
    encoder.cpu()
    read = _read(encoder, rows, corpus).keeping(corpus.members["val"])
    inputs = evaluation_inputs(read, corpus, "val")
    metric, value = primary_value(read, corpus, parts.selection, inputs=inputs)
    seconds = time.perf_counter() - started
    if fitted is None:  # nothing was trained
        fitted = Fitted(0, 0, value)
        on_epoch({f"val/{metric}": value}, 0)
    elif parts.selection.over_all_pairs(corpus.kind) and len(corpus.members["val"]) > SAMPLE:
        fitted = replace(fitted, best_value=value)  # of the best weights on all texts
    return Trained(
        featuriser=featuriser,
        encoder=encoder,
        as_documents=corpus.kind == "documents",
        metric=metric,
        fitted=fitted,
        seconds=seconds,
        texts_per_second=_speed(featuriser, encoder, corpus),
    )


def _check_batch_size(parts: Parts, examples: ExampleIndex) -> None:
    """Refuse batches of one example for an objective that takes its negatives from the other examples of a batch."""
    in_batch = parts.objective is not None and parts.objective.in_batch
    if parts.schedule.batch_size == 1 and examples.negative is None and in_batch:
        raise ValueError(
            f"trainer.batch_size=1 leaves {type(parts.objective).__name__} nothing to compare an example with, because "
            "it takes negatives from the rest of the batch: choose trainer.batch_size=2 or more, or examples=triplets"
        )


def _check_sizes(encoder: Encoder) -> None:
    """Refuse an encoder with an empty parameter, which has nothing to compute with."""
    for parameter in encoder.parameters():
        if not parameter.numel():
            raise ValueError(
                f"weights of {type(encoder).__name__} would have the shape {tuple(parameter.shape)}: a size in "
                "encoder.* is 0, or the train texts have no features. Choose sizes of at least 1"
            )


def _check_learns(encoder: Encoder) -> None:
    """Refuse to train an encoder without weights."""
    if not any(parameter.requires_grad for parameter in encoder.parameters()):
        raise ValueError(
            f"{type(encoder).__name__} has no weights to learn, so objective and examples would change nothing: leave "
            "them out, or set objective=none examples=none"
        )


def _fit(
    encoder: Encoder,
    data: TrainingData,
    corpus: Corpus,
    parts: Parts,
    places: Places,
    *,
    seed: int,
    runtime: Runtime,
    on_epoch: OnEpoch,
) -> Fitted:
    """Train on examples, by gradient descent or by a solver."""

    def validate(encoder: Encoder) -> tuple[str, float]:
        return primary_value(_read(encoder, data.rows, corpus), corpus, parts.selection, at_most=SAMPLE)

    objective: Any = parts.objective
    lengths = lengths_of(data.examples, data.rows) if parts.featuriser.ordered else None
    batches = EpochBatches(data.examples, batch_size=parts.schedule.batch_size, seed=seed, lengths=lengths)
    optimizer: MakeOptimizer | Steps
    loader: Iterable[Any]
    if isinstance(parts.make_optimizer, Solver):
        optimizer = parts.make_optimizer.prepare(encoder, objective, data, seed=seed)
        loader = Again(batches, optimizer.per_epoch)
    else:
        optimizer = parts.make_optimizer
        loader = train_loader(data.examples, data.rows, batches, workers=runtime.workers)
        if parts.negatives is not None:

            def vectors(texts: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
                return _read(encoder, data.rows, corpus).search_matrices(texts)

            gathered = cast("GatheredExamples", loader.dataset)
            batches.renew = parts.negatives.renewing(gathered, corpus, vectors, seed=seed)
    assert parts.descend is not None
    return parts.descend(
        encoder,
        objective,
        loader,
        optimizer=optimizer,
        validate=validate,
        schedule=parts.schedule,
        seed=seed,
        runtime=runtime,
        checkpoints=places.checkpoints,
        on_epoch=on_epoch,
    )


def _read(encoder: Encoder, rows: CsrRows, corpus: Corpus) -> EncodedTexts:
    """Return the texts in front of the encoder, after fitting its parts that have a closed form."""
    if isinstance(encoder, Settling):
        train = corpus.members["train"]
        with torch.no_grad():
            encoder.settle(rows.gather(train[start : start + BATCH]) for start in range(0, len(train), BATCH))
    return EncodedTexts(encoder, rows)


def _speed(featuriser: Featuriser, encoder: Encoder, corpus: Corpus) -> float:
    texts = inputs_of(featuriser, corpus, corpus.members["val"][:2000])
    started = time.perf_counter()
    rows = featuriser.transform(texts)
    numbers = np.arange(len(rows))
    score_pairs(encoder, rows, numbers, numbers[::-1])
    return len(rows) / (time.perf_counter() - started)


def with_token_vectors(encoder: OnFrozen, rows: CsrRows, folder: Path, *, device: torch.device) -> CsrRows:
    """Return the same sequences with a memory-mapped vector for each token as `values`; computed on first use.

    They are one float16 file, named by a hash of the frozen network and of the sequences.

    Args:
        encoder: provides `token_vectors`; it is moved to the CPU afterwards.
        rows: the corpus's sequences.
        folder: of the cache.
        device: where to compute them.
    """
    file = folder / f"vectors-{_key(encoder.frozen, rows)}.npy"

    def make() -> None:
        log.info("computing token vectors of %s texts, once, in %s", f"{len(rows):,}", file)
        encoder.frozen.to(device)
        with write_file(file) as temporary, torch.inference_mode():
            size = encoder.token_vectors(rows.gather(np.arange(1)).to(device)).shape[1]
            shape = (len(rows.indices), size)
            with write_matrix(temporary, dtype=np.float16, shape=shape) as write:
                for start in range(0, len(rows), TEXTS):
                    texts = np.arange(start, min(start + TEXTS, len(rows)))
                    write(encoder.token_vectors(rows.gather(texts).to(device)).cpu().numpy())
        encoder.frozen.cpu()

    make_once(file, make)
    return replace(rows, values=np.load(file, mmap_mode="r", allow_pickle=False))


def _key(frozen: nn.Module, rows: CsrRows) -> str:
    total = hashlib.sha256(Path(inspect.getfile(type(frozen))).read_bytes())
    for name, tensor in sorted(frozen.state_dict().items()):
        total.update(name.encode() + np.ascontiguousarray(tensor.cpu().numpy()).data)
    for array in (rows.indptr, rows.indices):
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()[:16]
