"""A training as a job of a sweep: what it knows of the sweep, how it is named, and what it leaves there."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from twicetold.errors import shown
from twicetold.files import write_json
from twicetold.layout import MODEL
from twicetold.printable import print
from twicetold_lab.grid.code_identity import code_now, learnt_from
from twicetold_lab.grid.settings import without_hydra
from twicetold_lab.grid.study import CODE, EPOCHS, ERROR, METRIC, RESULT, Sweep, read_result
from twicetold_lab.runs.identity import Identity, with_versions
from twicetold_lab.training.schedule import OnEpoch


class Result(NamedTuple):
    """Name and best value of the primary metric on validation, the epochs that the training took, and its code."""

    metric: str
    value: float
    epochs: int
    code: str


@dataclass(frozen=True)
class Job:
    """A training within a sweep.

    Args:
        sweep: it belongs to.
        differs: what differs from the other trainings, `alpha=100`.
        on_epoch: called with the metrics and the number of each epoch.
    """

    sweep: Sweep
    differs: str
    on_epoch: OnEpoch = lambda metrics, epoch: None

    def name(self, who: Identity) -> str:
        """Name of its run: `alpha=100 dae`. What differs comes first, as MLflow's charts show the first letters."""
        parts, family = self.differs.split(" "), f"model={who.model}"
        return " ".join(who.model if part == family else part for part in parts + [who.model] * (family not in parts))

    @classmethod
    def current(cls) -> "Job | None":
        """Return the job of a grid that this process runs; None outside a multirun."""
        hydra = HydraConfig.get()
        if hydra.mode != RunMode.MULTIRUN:
            return None
        sweep = Sweep.read(Path(hydra.sweep.dir))
        return cls(sweep, sweep.name(sweep.values(hydra.overrides.task)))


def as_job(out: Path, train: Callable[[], Result]) -> float:
    """Run a training as a job of a grid: one that fails is recorded and leaves the others."""
    try:
        return train().value
    except Exception as error:
        write_json(out / RESULT, {ERROR: in_a_line(error)})
        print(f"failed: {in_a_line(error)}", file=sys.stderr)
        return float("nan")


def earlier(out: Path, outcome: str) -> Result | None:
    """Return the result of a job that an earlier call of the sweep finished; None if it has to run."""
    result = read_result(out)
    if result.get("outcome") == outcome and (out / MODEL).is_dir():
        return Result(result[METRIC], result["value"], result[EPOCHS], result[CODE])
    return None


def record(out: Path, outcome: str, result: Result) -> None:
    """Write the result of a job."""
    write_json(out / RESULT, {"outcome": outcome, **result._asdict()})


def code_of(cfg: DictConfig) -> str:
    """Hash of the code and the library versions that a composed training would run with now."""
    config = OmegaConf.to_container(without_hydra(cfg), resolve=True)
    return with_versions(code_now("train", config, learnt_from(config)))


def in_a_line(error: Exception) -> str:
    """Return the kind of an error and the first line of what it says."""
    return f"{type(error).__name__}: {shown(error).strip().partition(chr(10))[0]}"
