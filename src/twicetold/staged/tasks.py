"""Tasks: each a function from files to files, with a mark that it is done.

A mark says what the files were made of, by a digest of inputs and settings. So a task is done again only if something
that it depends on has changed, or if a file is not there. Files and marks are written under temporary names, then
renamed, the mark last: whatever is killed, what is marked is whole.
"""

import hashlib
import json
import platform
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from twicetold.files import write_json
from twicetold.staged.plan import Plan
from twicetold.trained.memory import forget_peak, peak_resident

VERSION = 3  # of what the stages write: another one makes all of them anew
MARK = "done"  # suffix of marks
STAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "model": ("model", ()),
    "read": ("texts", ("parquet", "keys")),
    "exact": ("texts", ("copies",)),
    "distinct": ("texts", ("bits",)),
    "threshold": ("model", ()),
    "encode": ("model", ("vectors",)),
    "centres": ("dense", ("centres",)),
    "terms": ("sparse", ("terms",)),
    "scatter": ("dense", ("rows",)),
    "scatter_terms": ("sparse", ("rows",)),
    "links": ("dense", ("links",)),
    "links_terms": ("sparse", ("links",)),
    "links_all": ("dense", ("links",)),
    "recall": ("dense", ("links",)),
    "components": ("groups", ("nodes",)),
    "route": ("groups", ("links",)),
    "group": ("groups", ("groups",)),
    "number": ("groups", ("bits", "groups")),
    "recall_estimate": ("dense", ()),
    "join": ("join", ("parquet",)),
}
"""Of each stage: the module with its function, of the same name, and kinds of files that a task writes."""


class Task(NamedTuple):
    """A task.

    Attributes:
        stage: one of `STAGES`.
        name: within the stage.
        digest: of all that it depends on.
        plan: name of the plan to go by; known once it is to be done.
    """

    stage: str
    name: str
    digest: str
    plan: str = ""


@dataclass(frozen=True)
class Done:
    """What a mark says.

    Args:
        digest: of all that the files depend on.
        found: in numbers and words.
        sizes: bytes of each file that was written, by its kind.
        seconds: by the clock.
        cpu: seconds of processor time.
        peak: most bytes that were resident.
        host: name of the machine.
    """

    digest: str
    found: dict[str, Any]
    sizes: dict[str, int]
    seconds: float
    cpu: float
    peak: int
    host: str


def run(folder: str | Path, task: Task) -> None:
    """Do a task: what each process of a launcher does.

    Args:
        folder: of the stages, with their plan.
        task: of one stage.
    """
    plan = Plan.read(Path(folder), task.plan)
    forget_peak()
    began, cpu = time.monotonic(), time.process_time()
    if task.stage not in STAGES:
        raise ValueError(f"expected one of the stages {', '.join(STAGES)}, got {task.stage!r}")
    stage = getattr(import_module(f"twicetold.staged.{STAGES[task.stage][0]}"), task.stage)
    (plan.folder / task.stage).mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):  # sums of several threads have other last bits
        found = stage(plan, task.name)
    done = Done(
        digest=task.digest,
        found=found,
        sizes={kind: plan.file(task.stage, task.name, kind).stat().st_size for kind in kinds(plan, task.stage)},
        seconds=round(time.monotonic() - began, 3),
        cpu=round(time.process_time() - cpu, 3),
        peak=peak_resident(),
        host=platform.node(),
    )
    write_json(plan.file(task.stage, task.name, MARK), asdict(done))


def kinds(plan: Plan, stage: str) -> tuple[str, ...]:
    """Kinds of files that a task of a stage writes by this plan."""
    found = STAGES[stage][1]
    return (*found, "dropped") if stage == "join" and plan.settings.drop else found


def marked(plan: Plan, stage: str, name: str) -> Done:
    """What the mark of a task says.

    Raises:
        OSError: if there is none.
        ValueError or TypeError: if it is damaged.
    """
    return Done(**json.loads(plan.file(stage, name, MARK).read_text(encoding="utf-8")))


def done(plan: Plan, task: Task) -> Done | None:
    """What the mark of a task says; None if it is to be done."""
    with suppress(OSError, ValueError, TypeError):
        mark = marked(plan, task.stage, task.name)
        if mark.digest != task.digest:
            return None
        for kind, size in mark.sizes.items():
            if plan.file(task.stage, task.name, kind).stat().st_size != size:
                return None
        return mark
    return None


def digest(*parts: object) -> str:
    """Of what a task depends on: numbers, texts, lists of them, digests of other tasks."""
    text = json.dumps([VERSION, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def of_all(tasks: Iterable[Task]) -> str:
    """A digest of several tasks."""
    return digest([[task.stage, task.name, task.digest] for task in tasks])
