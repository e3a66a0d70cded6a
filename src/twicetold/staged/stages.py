"""The stages, what each task of them writes, and how a task is done by itself."""

from collections.abc import Callable
from dataclasses import asdict
from glob import escape
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from twicetold.files import write_json
from twicetold.staged.compare_stage import compare, model
from twicetold.staged.near_stages import candidates, centres, near, visits
from twicetold.staged.order_stages import order, sort
from twicetold.staged.pair_stages import pairs, score, standing
from twicetold.staged.plan import FOLDERS, Plan
from twicetold.staged.row_stages import distinct, exact, join, read
from twicetold.staged.tasks import MARK, Done, Task
from twicetold.staged.term_stages import forms, long, often, postings, rows, terms, vocabulary

STAGES: dict[str, Callable[[Plan, str], dict[str, Any]]] = {
    each.__name__: each
    for each in (
        *(model, read, exact, distinct, sort, order, long, often, terms, vocabulary, rows, forms, postings),
        *(centres, visits, near, candidates, pairs, standing, score, compare, join),
    )
}
"""By name, functions of the plan and the name of a task."""


def run(folder: str | Path, task: Task) -> None:
    """Do a task: what each process of a launcher does.

    Args:
        folder: of the stages, with their plan.
        task: of one stage.
    """
    plan = Plan.read(Path(folder))
    if task.stage not in STAGES:
        raise ValueError(f"expected one of the stages {', '.join(STAGES)}, got {task.stage!r}")
    folder = plan.folder / task.stage
    folder.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):  # sums of several threads have other last bits
        result = STAGES[task.stage](plan, task.name)
    kinds = {path.suffix[1:] for path in folder.glob(f"{escape(task.name)}.*")} - {MARK}
    if task.stage == "join":
        some = FOLDERS if plan.settings.drop else ["parquet"]
        kinds = {kind for kind in some if plan.file("join", task.name, kind).exists()}
    sizes = {kind: plan.file(task.stage, task.name, kind).stat().st_size for kind in sorted(kinds)}
    done = Done(digest=task.digest, result=result, sizes=sizes)
    write_json(plan.file(task.stage, task.name, MARK), asdict(done))
