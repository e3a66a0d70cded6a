"""The one LightningModule: any encoder, any objective, any optimizer or solver."""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.models.protocol import Encoder
from twicetold_lab.examples.batches import Batch
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.training.schedule import MakeOptimizer, Schedule, Validate
from twicetold_lab.training.solvers.protocol import Steps


@runtime_checkable
class Lazy(Protocol):
    """An optimizer that updates a row of a table when it is read."""

    def catch_up(self) -> None:
        """Apply the missed updates of all rows."""
        ...

    def release(self) -> None:
        """Catch up, and from then on update all rows in every step."""
        ...


def clip_gradients(parameters: Iterable[nn.Parameter], most: float) -> None:
    """Clip the total norm of all gradients like `torch.nn.utils.clip_grad_norm_`, but also with sparse gradients.

    Args:
        parameters: whose gradients are clipped in place.
        most: the largest norm.
    """
    gradients: list[Tensor] = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
        gradients.append(parameter.grad.values() if parameter.grad.is_sparse else parameter.grad)
    share = (most / (nn.utils.get_total_norm(gradients) + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(share)


class Diverged(ValueError):
    """The loss, the weights or the validation metric are not finite."""


class Learner(pl.LightningModule):
    """Composes the parts of training; it is not a base class.

    Args:
        encoder: the family's module.
        objective: named losses of an encoded batch.
        make_optimizer: from parameters to optimizer; or the steps of a solver, which sets the weights itself and gets
            numbers of examples instead of batches of rows.
        validate: from the encoder to the name and value of the primary metric on validation.
        seed: of the run; each epoch's random state depends only on it and on the epoch's number, so that a resumed
            training gives the same result as an uninterrupted one.
        schedule: learning rate, and how many texts are encoded at a time.
    """

    def __init__(
        self,
        encoder: Encoder,
        objective: Objective,
        *,
        make_optimizer: MakeOptimizer | Steps,
        validate: Validate,
        seed: int,
        schedule: Schedule,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.objective = objective
        self.make_optimizer = make_optimizer
        self.automatic_optimization = not isinstance(make_optimizer, Steps)
        self.validate = validate
        self.seed = seed
        self.schedule = schedule
        self.curves: dict[str, float] = {}
        """Metrics of the last finished epoch: `train/<loss>` (means over steps) and `val/<primary>`."""
        self.primary = float("nan")
        """Primary metric after the last finished epoch."""

    def configure_optimizers(self) -> Any:
        """Return the optimizer over all parameters of encoder and objective, with its schedule; None with a solver."""
        if isinstance(self.make_optimizer, Steps):
            return None
        optimizer = self.make_optimizer(p for p in self.parameters() if p.requires_grad)
        schedule = self.schedule
        if schedule.warmup_steps is None and schedule.decay is None:
            return optimizer
        steps = int(self.trainer.estimated_stepping_batches)
        scheduler = LambdaLR(optimizer, lambda step: schedule.rate(min(step + 1, steps), steps=steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def training_step(self, batch: Batch | NDArray[np.int64], batch_idx: int) -> Tensor | None:
        """Return the total loss of one batch; with a solver, take a step."""
        if batch_idx == 0:
            self._start_epoch()
        if isinstance(batch, Batch):
            losses = self.objective(self.encoded(batch))
        else:
            assert isinstance(self.make_optimizer, Steps)
            losses = self.make_optimizer.step(self.encoder, batch)
        for name, value in losses.items():
            self._sums[name] += value.detach()
        self._steps += 1
        return losses["loss"] if self.automatic_optimization else None

    def encoded(self, batch: Batch) -> EncodedBatch:
        """Return the input of the objective.

        Raises:
            ValueError: if the objective compares vectors of single texts, and the encoder has none that are trained.
        """
        sides = (batch.anchor, batch.positive, batch.negative)
        anchor, positive, negative = (None if side is None else self.encoder.encode(side) for side in sides)
        assert anchor is not None
        if not self.objective.needs_score:
            self._check_vectors(anchor)
        score = None
        if self.objective.needs_score and positive is not None:
            score = self.encoder.score(anchor, positive)
        return EncodedBatch(
            anchor=anchor,
            positive=positive,
            negative=negative,
            label=batch.label,
            group=batch.group,
            positive_group=batch.positive_group,
            negative_group=batch.negative_group,
            score=score,
        )

    def _check_vectors(self, encoding: Encoding) -> None:
        vectors = encoding.embedding
        if torch.is_grad_enabled() and not (isinstance(vectors, Tensor) and vectors.requires_grad):
            objective, encoder = type(self.objective).__name__, type(self.encoder).__name__
            raise ValueError(
                f"{objective} needs trainable vectors of single texts, and {encoder} has none: choose "
                "an objective on the scores of pairs, objective=pair_bce examples=labelled_pairs"
            )

    def _start_epoch(self) -> None:
        # Not in on_train_epoch_start: Lightning skips that hook in the first epoch after a resume.
        torch.manual_seed(self.seed + 1_000_003 * self.current_epoch)
        self._sums: dict[str, Tensor] = defaultdict(lambda: torch.zeros((), device=self.device))
        self._steps = 0

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the norm of the gradient. Lightning's own method does not support fused optimizers in bf16."""
        if gradient_clip_val is not None:
            clip_gradients(self.parameters(), gradient_clip_val)

    def on_train_epoch_end(self) -> None:
        """Validate; log the epoch's mean losses and the primary metric.

        Raises:
            Diverged: if one of them is not a finite number.
        """
        for optimizer in self.trainer.optimizers:
            if isinstance(optimizer, Lazy):
                optimizer.catch_up()
        self.curves = {f"train/{n}": float(s) / self._steps for n, s in self._sums.items()}
        self._check_finite("train/loss", self.curves["train/loss"])
        trained = [parameter.detach() for parameter in self.encoder.parameters() if parameter.requires_grad]
        length = float(nn.utils.get_total_norm(trained))  # infinite if squares overflow, so that no product holds
        self._check_finite("the length of the weights", length)
        callbacks: list[pl.Callback] = self.trainer.callbacks  # type: ignore[attr-defined]
        for callback in callbacks:  # those that average weights put them in place here
            callback.on_validation_epoch_start(self.trainer, self)
        name, self.primary = self.validate(self.encoder)
        self._check_finite(f"val/{name}", self.primary)
        self.curves[f"val/{name}"] = self.primary
        self.log("val/primary", self.primary, prog_bar=True, batch_size=1)
        for callback in reversed(callbacks):  # `Checkpoints`, the last, keeps the weights that were validated
            callback.on_validation_epoch_end(self.trainer, self)

    def _check_finite(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            raise Diverged(
                f"training diverged: {what} is {value} in epoch {self.current_epoch}. Lower optimizer.lr, or clip the "
                "gradient (trainer.gradient_clip)"
            )
