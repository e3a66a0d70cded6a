"""The stages, what each task of them writes, and how a task is done by itself."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from twicetold.files import write_json
from twicetold.staged.compare_stage import compare
from twicetold.staged.dense import centres, links, links_all, visits
from twicetold.staged.group_stages import components, group, number
from twicetold.staged.plan import Plan
from twicetold.staged.row_stages import distinct, exact, join, read
from twicetold.staged.tasks import MARK, Done, Task
from twicetold.staged.vector_stages import encode, model, threshold

STAGES: dict[str, tuple[Callable[[Plan, str], dict[str, Any]], tuple[str, ...]]] = {
    "model": (model, ()),
    "read": (read, ("arrow", "row", "high", "low")),
    "exact": (exact, ("row", "first")),
    "distinct": (distinct, ("without",)),
    "compare": (compare, ("group", "row", "probability")),
    "threshold": (threshold, ()),
    "encode": (encode, ("vectors", "length")),
    "centres": (centres, ("centre", "shard")),
    "visits": (visits, ("starts", "text", "cell", "own")),
    "links": (links, ("links",)),
    "links_all": (links_all, ("links",)),
    "components": (components, ("node", "bin")),
    "group": (group, ("node", "first", "representative", "probability")),
    "number": (number, ("without", "node", "group", "row", "probability")),
    "join": (join, ("parquet",)),
}
"""By stage: its function, which takes the plan and the name of a task; and kinds of files that a task writes."""


def run(folder: str | Path, task: Task) -> None:
    """Do a task: what each process of a launcher does.

    Args:
        folder: of the stages, with their plan.
        task: of one stage.
    """
    plan = Plan.read(Path(folder))
    if task.stage not in STAGES:
        raise ValueError(f"expected one of the stages {', '.join(STAGES)}, got {task.stage!r}")
    stage, kinds = STAGES[task.stage]
    kinds += ("dropped",) if task.stage == "join" and plan.settings.drop else ()
    (plan.folder / task.stage).mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):  # sums of several threads have other last bits
        result = stage(plan, task.name)
    kinds += ("bad",) if task.stage == "join" and plan.file("join", task.name, "bad").exists() else ()
    done = Done(
        digest=task.digest,
        result=result,
        sizes={kind: plan.file(task.stage, task.name, kind).stat().st_size for kind in kinds},
    )
    write_json(plan.file(task.stage, task.name, MARK), asdict(done))
