"""Fitting a learner: learning rate, early stopping, the best weights, and a checkpoint to resume from after a kill."""

import ctypes
import logging
import shutil
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint, EarlyStopping, WeightAveraging
from safetensors.torch import load_file, save_file

from twicetold.files import write_file
from twicetold.models.protocol import Encoder
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.training.learner import Diverged, Lazy, Learner
from twicetold_lab.training.schedule import STOPPED, Fitted, MakeOptimizer, OnEpoch, Runtime, Schedule, Validate
from twicetold_lab.training.solvers.protocol import Steps

for package in ("pytorch_lightning", "lightning_fabric"):
    logging.getLogger(package).setLevel(logging.WARNING)  # tips at every start
warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # Lightning 2.6 with torch 2.13
warnings.filterwarnings("ignore", message=".*will run with no optimizer.*")  # with a solver
warnings.filterwarnings("ignore", message=".*in eval mode at the start.*")  # frozen parts

BEST = "best.safetensors"
LAST = "last.ckpt"
# glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST = 2**31 - 1


def keep_freed_memory() -> None:
    """Make glibc keep freed memory instead of returning it to the system; without glibc, do nothing.

    By default glibc requests large blocks, such as the gradient of a table of vectors, from the system in every step,
    and the system zeroes each page: more than half of the time of a step with a large table. From here on the process
    never returns memory.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, MOST)


class Checkpoints(Checkpoint):
    """After each epoch: the best weights so far, and everything needed to resume.

    A Lightning `Checkpoint`, so that it runs last, after early stopping. Files are written atomically, so that a killed
    run leaves the previous one.
    """

    def __init__(self, folder: Path, on_epoch: OnEpoch) -> None:
        self.folder = folder
        self.on_epoch = on_epoch
        self.best_value = -float("inf")
        self.best_epoch = -1
        self.begun = False
        """The checkpoint to resume from, if any, has been read."""

    def on_train_start(self, trainer: pl.Trainer, learner: pl.LightningModule) -> None:
        """Check, in a resumed training, that the best weights so far are there and are those of this encoder."""
        assert isinstance(learner, Learner)
        if self.best_epoch >= 0:
            best = {name: tensor.shape for name, tensor in load_file(self.folder / BEST).items()}
            if best != {name: tensor.shape for name, tensor in learner.encoder.state_dict().items()}:
                raise ValueError(f"{BEST} holds the weights of another encoder")
        self.begun = True

    def on_validation_epoch_end(self, trainer: pl.Trainer, learner: pl.LightningModule) -> None:
        """Write the weights that were validated, if they are the best ones."""
        assert isinstance(learner, Learner)
        if learner.primary > self.best_value:
            self.best_value, self.best_epoch = learner.primary, trainer.current_epoch
            with write_file(self.folder / BEST) as path:
                save_file({n: t.detach().cpu().contiguous() for n, t in learner.encoder.state_dict().items()}, path)

    def on_train_epoch_end(self, trainer: pl.Trainer, learner: pl.LightningModule) -> None:
        """Write what there is to resume from, and call `on_epoch`."""
        assert isinstance(learner, Learner)
        with write_file(self.folder / LAST) as path:
            trainer.save_checkpoint(path, weights_only=False)
        self.on_epoch(learner.curves, trainer.current_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the best value so far, for a resumed run."""
        return {"best_value": self.best_value, "best_epoch": self.best_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore it."""
        self.best_value, self.best_epoch = state_dict["best_value"], state_dict["best_epoch"]


class StopEarly(EarlyStopping):
    """Early stopping that stops a resumed training which had already been stopped."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop if the loaded state is already beyond the patience."""
        if self.wait_count >= self.patience:
            trainer.should_stop = True


def fit(
    learner: Learner,
    loader: Iterable[Any],
    *,
    runtime: Runtime,
    checkpoints: Path,
    on_epoch: OnEpoch,
) -> Fitted:
    """Train, resuming where an earlier attempt with the same `checkpoints` folder was cut off.

    Args:
        learner: whose encoder gets the best weights in the end.
        loader: of training batches; for a solver, of numbers of examples.
        runtime: device and progress bar.
        checkpoints: folder of this training; the caller removes it when the model is saved.
        on_epoch: called with the epoch's metrics and number.

    Raises:
        KeyboardInterrupt: if the user stopped it; the checkpoints are kept, and the next call resumes.
        Diverged: if the loss, the weights or the validation metric are not finite; the checkpoints are removed.
        ValueError: if the checkpoints cannot be read.
    """
    keep_freed_memory()
    # With deterministic algorithms, PyTorch would fill every new tensor before it is written.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    checkpoints.mkdir(parents=True, exist_ok=True)
    saved, schedule = Checkpoints(checkpoints, on_epoch), learner.schedule
    callbacks: list[pl.Callback] = [saved]
    if schedule.patience is not None:
        callbacks.append(StopEarly("val/primary", mode="max", patience=schedule.patience, min_delta=0.0))
    callbacks += _own_callbacks(learner)
    solver = learner.make_optimizer if isinstance(learner.make_optimizer, Steps) else None
    last = checkpoints / LAST
    try:
        precision = schedule.precision_on(runtime.device)
        trainer = pl.Trainer(
            max_epochs=schedule.epochs,
            accelerator=runtime.accelerator,
            devices=1,
            precision=precision,
            limit_train_batches=None if solver is None else solver.per_epoch,
            gradient_clip_val=schedule.gradient_clip if solver is None else None,
            deterministic="warn",
            logger=False,
            enable_checkpointing=True,
            callbacks=callbacks,
            enable_progress_bar=runtime.shows_progress,
            enable_model_summary=False,
            default_root_dir=checkpoints,
        )
        trainer.fit(learner, loader, ckpt_path=_checked(last) if last.exists() else None, weights_only=True)
    except SystemExit as stop:  # raised by Lightning on Ctrl-C and SIGTERM
        raise KeyboardInterrupt(STOPPED) from stop
    except Diverged:
        shutil.rmtree(checkpoints)  # from there, the same command would go on to the same end
        raise
    except Exception as error:
        if saved.begun or not last.exists():
            raise
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"cannot resume from the checkpoint {last}: {type(error).__name__}: {reason}. It is damaged, or not from "
            f"this training: delete the folder {checkpoints} to train from the start"
        ) from error
    for optimizer in trainer.optimizers:
        if isinstance(optimizer, Lazy):
            optimizer.release()
    learner.encoder.load_state_dict(load_file(checkpoints / BEST))
    return Fitted(trainer.current_epoch, saved.best_epoch, saved.best_value, precision)


def _checked(archive: Path) -> Path:
    """Return the path of an archive of PyTorch, whose loader does not read the checksums.

    Raises:
        zipfile.BadZipFile: if a part differs from its checksum, or it is no archive.
    """
    with zipfile.ZipFile(archive) as parts:
        damaged = parts.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"{damaged} differs from its checksum")
    return archive


def _own_callbacks(learner: Learner) -> list[pl.Callback]:
    """Return the callbacks that the settings name.

    Raises:
        ValueError: if one is no callback of Lightning, or averages weights that are not all there after each step.
    """
    for name, callback in learner.schedule.callbacks.items():
        if not isinstance(callback, pl.Callback):
            raise ValueError(
                f"trainer.callbacks.{name} must name a callback of Lightning by `_target_`; got "
                f"{type(callback).__name__}"
            )
        optimizer = getattr(learner.make_optimizer, "func", learner.make_optimizer)
        lazy = isinstance(optimizer, type) and issubclass(optimizer, Lazy)
        if isinstance(callback, WeightAveraging) and (lazy or isinstance(optimizer, Steps)):
            raise ValueError(
                f"trainer.callbacks.{name} averages weights after each step, and this optimizer does not keep all of "
                "them up to date: choose optimizer=adam"
            )
    return list(learner.schedule.callbacks.values())


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
    learner = Learner(encoder, objective, make_optimizer=optimizer, validate=validate, seed=seed, schedule=schedule)
    return fit(learner, loader, runtime=runtime, checkpoints=checkpoints, on_epoch=on_epoch)
