"""Train one cell of the grid: one family on one corpus with one seed.

The road is the same for every family: fit the featuriser on train texts, make feature rows, fit the encoder (unless
nothing in it is learnt), choose the decision on validation, save.
"""

import copy
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from twicetold import layout
from twicetold.augmentation.augment import Augmentation
from twicetold.data.corpus import Corpus
from twicetold.evaluation.evaluators import Standard
from twicetold.examples.batches import Again, EpochBatches, Examples, lengths_of, train_loader
from twicetold.features.cache import feature_rows, fields_like, inputs_of, with_extra_texts
from twicetold.features.rows import CsrRows, Featuriser
from twicetold.features.saved import same_fitted, save_fitted
from twicetold.files import write_folder, write_text
from twicetold.layers.committee import committee_of, judges_of, members_of
from twicetold.models.protocol import Encoder, OnFrozen, Settling
from twicetold.objectives.protocol import Objective
from twicetold.scoring import BATCH, Scorer, evaluation_inputs, score_pairs
from twicetold.training.frozen import with_token_vectors
from twicetold.training.members import train_each
from twicetold.training.schedule import Fitted, MakeOptimizer, OnEpoch, Runtime, Schedule, whole
from twicetold.training.solvers.protocol import Solver, Steps, TrainingData

BETWEEN_MEMBERS = 7_919
"""From the seed of one member of a committee to that of the next: a prime, so that seeds of cells stay apart."""


OF_GRADIENTS = ("warmup_steps", "decay", "gradient_clip", "micro_batch")
"""Settings of the schedule that only gradient descent has a use for."""


@dataclass(frozen=True)
class Parts:
    """What a recipe chose, ready to be put together.

    Raises:
        ValueError: if there is augmentation, a committee of several or a schedule of gradient descent, and nothing is
            learnt by gradient descent; or a committee of nobody.
    """

    featuriser: Featuriser
    encoder_of: Callable[[Mapping[str, Any]], Encoder]
    """From the shape of the features to the encoder."""
    examples: Examples | None
    objective: Objective | None
    """None, as `examples` is then, where nothing is learnt."""
    make_optimizer: MakeOptimizer | Solver
    schedule: Schedule
    evaluator: Standard
    augmentation: Augmentation | None = None
    """Altered copies of texts, for augmentation or consistency; None: the examples as they are."""
    committee: int = 1
    """So many encoders, each trained by itself."""
    joined: Scorer | None = None
    """An earlier generation, whose encoders judge as well. Nothing about them changes."""

    def __post_init__(self) -> None:
        if not whole(self.committee) or self.committee < 1:
            raise ValueError(f"committee must be at least 1, the family as it is; got {self.committee!r}")
        if self.committee > 1 and (self.objective is None or isinstance(self.make_optimizer, Solver)):
            raise ValueError(
                f"committee={self.committee}: encoders that are not trained by gradient descent would all be the same; "
                "choose committee=1"
            )
        if isinstance(self.make_optimizer, Solver):
            idle = [name for name in OF_GRADIENTS if getattr(self.schedule, name) is not None]
            if idle:
                named, solver = " and ".join(f"trainer.{name}" for name in idle), type(self.make_optimizer).__name__
                raise ValueError(
                    f"{named}: the solver {solver} sets the weights by itself and has no use for it: set it to null"
                )
        if self.augmentation is None:
            return
        if self.objective is None or self.examples is None:
            raise ValueError(
                "augmentation and consistency need a training, and nothing is trained here (objective=none): choose an "
                "objective and examples, or set augmentation.share=0 and consistency.weight=0"
            )
        if isinstance(self.make_optimizer, Solver):
            raise ValueError(
                "augmentation and consistency are for gradient descent, and the solver "
                f"{type(self.make_optimizer).__name__} does without: set augmentation.share=0 and consistency.weight=0"
            )


@dataclass(frozen=True)
class Places:
    """Folders that training reads from and keeps its scratch in."""

    triplets: Path
    features: Path
    checkpoints: Path


@dataclass(frozen=True)
class Trained:
    """A trained cell."""

    scorer: Scorer
    metric: str
    fitted: Fitted
    parameters: int
    seconds: float
    texts_per_second: float

    def save(
        self,
        folder: Path,
        *,
        features: Mapping[str, Any],
        encoder: Mapping[str, Any],
        data: Mapping[str, str],
        pretrained_on: Sequence[str] = (),
    ) -> None:
        """Write everything that scoring needs to `folder`, all of it or nothing.

        Args:
            folder: the model folder.
            features: configuration that the featuriser was built from.
            encoder: configuration that the encoder, or each of a committee, was built from.
            data: `name` of the corpus and digest of its `train` texts.
            pretrained_on: what it had seen before, in words, as `provenance.pretrained_on` finds it.
        """
        training = {"parameters": self.parameters, "metric": self.metric, **asdict(self.fitted)}
        weights = self.scorer.encoder.state_dict()
        with write_folder(folder) as target:
            save_fitted(self.scorer.featuriser, target)
            save_file({name: t.contiguous() for name, t in weights.items()}, target / layout.WEIGHTS)
            for file, content in {
                layout.RECIPE: {
                    "features": features,
                    "encoder": encoder,
                    "committee": len(judges_of(self.scorer.encoder)),
                    "as_documents": self.scorer.as_documents,
                    "data": dict(data),
                    "pretrained_on": list(pretrained_on),
                },
                layout.DECISION: asdict(self.scorer.decision),
                layout.TRAINING: training,
            }.items():
                write_text(target / file, json.dumps(content, indent=2, sort_keys=True) + "\n")


def train_cell(
    corpus: Corpus, parts: Parts, *, seed: int, feature_key: str, places: Places, runtime: Runtime, on_epoch: OnEpoch
) -> Trained:
    """Train, and choose the decision on validation. The test split is not read.

    Args:
        corpus: the data.
        parts: what the recipe chose.
        seed: of initialisation, order and noise.
        feature_key: names corpus and featuriser settings, for the cache of feature rows.
        places: folders.
        runtime: where to compute.
        on_epoch: called with each epoch's metrics and number.
    """
    started = time.perf_counter()
    featuriser = parts.featuriser.fit(inputs_of(parts.featuriser, corpus, corpus.members["train"]))
    rows = feature_rows(featuriser, corpus, places.features, key=feature_key)
    index = None if parts.examples is None else parts.examples.index(corpus, places.triplets)
    if index is not None:
        if parts.augmentation is not None:
            index = parts.augmentation.examples(index, corpus, seed=seed)
        fields = fields_like(featuriser, corpus, index.extra_sources)
        rows = with_extra_texts(featuriser, rows, index.extra_texts, fields)
    torch.manual_seed(seed)
    judges = [parts.encoder_of(featuriser.shape) for _ in range(parts.committee)]
    encoder: Encoder = committee_of(judges)
    earlier = [] if parts.joined is None else _earlier(parts.joined, judges[0], featuriser)
    if isinstance(encoder, OnFrozen):
        rows = with_token_vectors(encoder, rows, places.features, device=runtime.device)

    fitted = None
    if parts.objective is not None and index is not None:
        data = TrainingData(rows, corpus.members["train"], index)
        fitted = _fit(
            encoder, data, corpus, parts, seed=seed, checkpoints=places.checkpoints, runtime=runtime, on_epoch=on_epoch
        )
    encoder.cpu()
    settle(encoder, rows, corpus)
    encoder = committee_of([*judges, *earlier])
    inputs = evaluation_inputs(encoder, rows, corpus, "val")
    metric, value = parts.evaluator.primary_value(corpus.kind, inputs)
    seconds = time.perf_counter() - started
    if fitted is None or len(members_of(encoder)) > 1:  # never seen in training: a baseline, or a committee as a whole
        fitted = Fitted(0, 0, value) if fitted is None else replace(fitted, best_value=value)
        on_epoch({f"val/{metric}": value}, fitted.best_epoch)
    decision = parts.evaluator.decide(corpus.kind, inputs, positive_grade=corpus.card.get("positive_grade"))
    return Trained(
        scorer=Scorer(featuriser, encoder, decision, as_documents=corpus.kind == "documents"),
        metric=metric,
        fitted=fitted,
        parameters=sum(p.numel() for p in encoder.parameters()),
        seconds=seconds,
        texts_per_second=_speed(featuriser, encoder, corpus),
    )


def _fit(
    encoder: Encoder,
    data: TrainingData,
    corpus: Corpus,
    parts: Parts,
    *,
    seed: int,
    checkpoints: Path,
    runtime: Runtime,
    on_epoch: OnEpoch,
) -> Fitted:
    """Train by examples: each member of a committee by itself, on batches of its own. The first is as it were alone."""
    # Lightning costs seconds of import, which the baselines need not pay.
    from twicetold.training.fit import BEST, fit
    from twicetold.training.learner import Learner

    lengths = lengths_of(data.examples, data.rows) if getattr(parts.featuriser, "ordered", False) else None

    def train(member: Encoder, number: int, runtime: Runtime, checkpoints: Path, on_epoch: OnEpoch) -> Fitted:
        def validate(encoder: Encoder) -> tuple[str, float]:
            settle(encoder, data.rows, corpus)
            return parts.evaluator.primary_value(corpus.kind, evaluation_inputs(encoder, data.rows, corpus, "val"))

        objective: Any = copy.deepcopy(parts.objective)
        own = seed + number * BETWEEN_MEMBERS
        batches = EpochBatches(data.examples, batch_size=parts.schedule.batch_size, seed=own, lengths=lengths)
        loader: Iterable[Any]
        if isinstance(parts.make_optimizer, Solver):
            steps = parts.make_optimizer.prepare(member, objective, data, seed=own)
            optimizer: MakeOptimizer | Steps = steps
            loader = Again(batches, steps.per_epoch)
        else:
            optimizer = parts.make_optimizer
            loader = train_loader(data.examples, data.rows, batches, workers=runtime.workers)
        learner = Learner(
            member,
            objective if parts.augmentation is None else parts.augmentation.objective(objective, member),
            make_optimizer=optimizer,
            validate=validate,
            seed=own,
            micro_batch=parts.schedule.micro_batch,
        )
        return fit(
            learner, loader, schedule=parts.schedule, runtime=runtime, checkpoints=checkpoints, on_epoch=on_epoch
        )

    members = members_of(encoder)
    if len(members) == 1:
        return train(members[0], 0, runtime, checkpoints, on_epoch)
    # Bars would mix; and members that are trained side by side may have no processes of their own.
    silent = replace(runtime, progress=False, workers=0 if runtime.device.type == "cpu" else runtime.workers)
    tasks = [partial(train, member, number, silent) for number, member in enumerate(members)]
    each = train_each(tasks, checkpoints=checkpoints, runtime=runtime, on_epoch=on_epoch)
    for number, member in enumerate(members):
        member.load_state_dict(load_file(checkpoints / str(number) / BEST))
    return max(each, key=lambda fitted: fitted.best_epoch)


def _earlier(joined: Scorer, judge: Encoder, featuriser: Featuriser) -> list[Encoder]:
    """The encoders of an earlier generation.

    Raises:
        ValueError: if they are of another kind, or read other features.
    """
    judges = judges_of(joined.encoder)
    shapes, theirs = ({n: t.shape for n, t in e.state_dict().items()} for e in (judge, judges[0]))
    if type(judges[0]) is not type(judge) or theirs != shapes:
        raise ValueError("joined has encoders of another recipe, or of another dataset: train it as this run is")
    if not same_fitted(featuriser, joined.featuriser):
        raise ValueError("joined reads texts in another way: it must have been trained on the same dataset")
    return judges


def settle(encoder: Encoder, rows: CsrRows, corpus: Corpus) -> None:
    """Fit on train what a family fits in closed form, if it is of that kind."""
    train = corpus.members["train"]
    for member in members_of(encoder):
        if isinstance(member, Settling):
            with torch.no_grad():
                member.settle(rows.gather(train[start : start + BATCH]) for start in range(0, len(train), BATCH))


def _speed(featuriser: Featuriser, encoder: Encoder, corpus: Corpus) -> float:
    texts = inputs_of(featuriser, corpus, corpus.members["val"][:2000])
    started = time.perf_counter()
    rows = featuriser.transform(texts)
    numbers = np.arange(len(rows))
    score_pairs(encoder, rows, numbers, numbers[::-1])
    return len(rows) / (time.perf_counter() - started)
