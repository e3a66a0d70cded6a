"""The stages, what each task of them writes, and how a task is done by itself."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from threadpoolctl import threadpool_limits

from twicetold.files import write_json
from twicetold.staged.plan import Plan
from twicetold.staged.tasks import MARK, Done, Task

Functions: TypeAlias = dict[str, Callable[[Plan, str], dict[str, Any]]]
"""Functions of stages by name; each takes the plan and the name of a task."""


def _of_rows() -> Functions:
    from twicetold.staged.row_stages import distinct, exact, join, read

    return {"read": read, "exact": exact, "distinct": distinct, "join": join}


def _of_vectors() -> Functions:
    from twicetold.staged.vector_stages import encode, model, threshold

    return {"model": model, "threshold": threshold, "encode": encode}


def _of_links() -> Functions:
    from twicetold.staged.dense import centres, links, links_all, visits

    return {"centres": centres, "visits": visits, "links": links, "links_all": links_all}


def _of_groups() -> Functions:
    from twicetold.staged.group_stages import components, group, number

    return {"components": components, "group": group, "number": number}


def _of_comparison() -> Functions:
    from twicetold.staged.compare_stage import compare

    return {"compare": compare}


STAGES: dict[str, tuple[Callable[[], Functions], tuple[str, ...]]] = {
    "model": (_of_vectors, ()),
    "read": (_of_rows, ("arrow", "row", "high", "low")),
    "exact": (_of_rows, ("row", "first")),
    "distinct": (_of_rows, ("without",)),
    "compare": (_of_comparison, ("group", "row", "probability")),
    "threshold": (_of_vectors, ()),
    "encode": (_of_vectors, ("vectors", "length")),
    "centres": (_of_links, ("centre", "shard")),
    "visits": (_of_links, ("starts", "text", "cell", "own")),
    "links": (_of_links, ("links",)),
    "links_all": (_of_links, ("links",)),
    "components": (_of_groups, ("node", "bin")),
    "group": (_of_groups, ("node", "first", "representative", "probability")),
    "number": (_of_groups, ("without", "node", "group", "row", "probability")),
    "join": (_of_rows, ("parquet",)),
}
"""By stage: what imports its function, so that a task imports no more than it needs; and kinds of files it writes."""


def run(folder: str | Path, task: Task) -> None:
    """Do a task: what each process of a launcher does.

    Args:
        folder: of the stages, with their plan.
        task: of one stage.
    """
    plan = Plan.read(Path(folder))
    if task.stage not in STAGES:
        raise ValueError(f"expected one of the stages {', '.join(STAGES)}, got {task.stage!r}")
    functions, kinds = STAGES[task.stage]
    kinds += ("dropped",) if task.stage == "join" and plan.settings.drop else ()
    stage = functions()[task.stage]
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
