"""Training by gradient descent or by the steps of a solver: what recipes without anything to train do not import."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from twicetold.models.protocol import Encoder
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.training.fit import fit
from twicetold_lab.training.learner import Learner
from twicetold_lab.training.schedule import Fitted, MakeOptimizer, OnEpoch, Runtime, Schedule, Validate
from twicetold_lab.training.solvers.protocol import Steps


def descend(
    encoder: Encoder,
    objective: Objective,
    loader: Iterable[Any],
    *,
    optimizer: MakeOptimizer | Steps,
    validate: Validate,
    schedule: Schedule,
    seed: int,
    runtime: Runtime,
    checkpoints: Path,
    on_epoch: OnEpoch,
) -> Fitted:
    """Train an encoder, which has the best weights in the end; see `Learner` and `fit` for arguments and errors."""
    learner = Learner(
        encoder,
        objective,
        make_optimizer=optimizer,
        validate=validate,
        seed=seed,
        micro_batch=schedule.micro_batch,
        lr_scheduler=schedule.lr_scheduler,
        lr_scheduler_interval=schedule.lr_scheduler_interval,
    )
    return fit(learner, loader, schedule=schedule, runtime=runtime, checkpoints=checkpoints, on_epoch=on_epoch)
