"""Settings and outcome of a training: plain values, without Lightning."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer

from twicetold.models.protocol import Encoder

OnEpoch = Callable[[dict[str, float], int], None]
"""Called with the metrics and the number of each finished epoch."""
Validate = Callable[[Encoder], tuple[str, float]]
"""From an encoder to the name and value of the primary metric on validation."""
STOPPED = "training was stopped; run the same command again to go on from the last epoch"
"""Message after Ctrl-C."""
MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]


def whole(value: object) -> bool:
    """Return true for an integer that is not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Schedule:
    """Length, batch size, precision and learning rate schedule of a training; these settings change the results.

    Args:
        epochs: at most this many.
        batch_size: examples per step.
        patience: stop after this many epochs without a better validation metric; None trains to the end.
        gradient_clip: largest gradient norm, or None.
        precision: Lightning's name: `32-true` or `bf16-mixed`; or `auto`, see `precision_on`.
        warmup_steps: steps in which the learning rate rises; None for none.
        decay: of the learning rate afterwards. None: constant; `inverse_sqrt`: inverse square root of the step
            (Vaswani et al. 2017, §5.3); `linear`: falls to 0 at the end of the last of all `epochs`.
        callbacks: of Lightning, by any names.

    Raises:
        ValueError: for a value of the wrong type or out of range, or an inverse square root without a
            warm-up.
    """

    epochs: int
    batch_size: int
    patience: int | None = None
    gradient_clip: float | None = None
    precision: Literal["32-true", "bf16-mixed", "auto"] = "32-true"
    warmup_steps: int | None = None
    decay: Literal["inverse_sqrt", "linear"] | None = None
    callbacks: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least, optional in (
            ("epochs", 1, False),
            ("batch_size", 1, False),
            ("patience", 0, True),
            ("warmup_steps", 0, True),
        ):
            value, or_null = getattr(self, name), " or null" * optional
            if not ((whole(value) and value >= least) or (optional and value is None)):
                raise ValueError(f"trainer.{name} must be a whole number from {least} on{or_null}; got {value!r}")
        clip = self.gradient_clip
        if clip is not None and not (isinstance(clip, int | float) and clip > 0):
            raise ValueError(f"trainer.gradient_clip must be a number above 0, or null; got {clip!r}")
        if self.precision not in ("32-true", "bf16-mixed", "auto"):
            raise ValueError(f"trainer.precision must be 32-true, bf16-mixed or auto; got {self.precision!r}")
        if self.decay not in (None, "inverse_sqrt", "linear"):
            raise ValueError(f"trainer.decay must be inverse_sqrt, linear or null; got {self.decay!r}")
        if self.decay == "inverse_sqrt" and self.warmup_steps is None:
            raise ValueError("trainer.decay=inverse_sqrt falls from the end of a warm-up: set trainer.warmup_steps")
        if not isinstance(self.callbacks, Mapping):
            raise ValueError(f"trainer.callbacks must be a mapping of names to callbacks; got {self.callbacks!r}")

    def precision_on(self, device: torch.device) -> Literal["32-true", "bf16-mixed"]:
        """Return the precision used on a device.

        `auto` is `bf16-mixed` on hardware with matrix units for bf16: GPUs since NVIDIA's Ampere and processors with
        Intel's AMX. Elsewhere it is slower: `re2` took 1.5 times as long in bf16 on a processor with AVX-512 only.
        """
        if self.precision != "auto":
            return self.precision
        if device.type == "cuda":
            has_units = torch.cuda.is_bf16_supported(including_emulation=False)
        else:
            known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # older versions of PyTorch lack it
            has_units = known.get("amx_bf16", False)
        return "bf16-mixed" if has_units else "32-true"

    def rate(self, step: int, *, steps: int) -> float:
        """Return learning rate of a step, relative to the largest.

        Args:
            step: the first is 1.
            steps: number of steps of all epochs.
        """
        top = (self.warmup_steps or 0) + 1  # trax's warmup_and_rsqrt_decay
        if step < top or self.decay is None:
            return min(step / top, 1.0)
        if self.decay == "inverse_sqrt":
            return float((top / step) ** 0.5)
        return (steps + 1 - step) / (steps + 1 - top)


@dataclass(frozen=True)
class Runtime:
    """Device and precision; does not change the results, up to rounding.

    Args:
        accelerator: `auto`, `cpu` or `gpu`.
        workers: processes that load batches; 0 loads in the training process.
        progress: show a progress bar; `auto`: if standard error is a terminal.

    Raises:
        ValueError: for a GPU on a machine without one.
    """

    accelerator: str
    workers: int
    progress: bool | Literal["auto"]

    def __post_init__(self) -> None:
        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise ValueError("runtime.accelerator=gpu, and PyTorch sees none on this machine: choose auto or cpu")

    @property
    def shows_progress(self) -> bool:
        """True if a progress bar is shown."""
        return sys.stderr.isatty() if self.progress == "auto" else bool(self.progress)

    @property
    def device(self) -> torch.device:
        """The device that `accelerator` selects on this machine."""
        return torch.device("cuda" if self.accelerator != "cpu" and torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Fitted:
    """Outcome of a training; the learner's encoder has the best weights."""

    epochs: int
    best_epoch: int
    best_value: float
    precision: str | None = None
    """Precision used, with `auto` resolved; None if nothing was trained."""
