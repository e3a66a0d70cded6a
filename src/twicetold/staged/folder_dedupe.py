"""A dedupe of a folder of parts in stages: the order of the stages, and what each depends on.

    read → exact → distinct → sort → order → long → often → terms → vocabulary → rows → forms, postings
    rows → centres → visits → near,  near and postings → candidates → pairs → standing → score → compare → join
    read → compare → join

The first way is that of many rows without a model, by their texts alone; where there are few, or a model, columns or
topics, `compare` has all rows in memory. Each stage is a function from files to files, which `stages` names. What comes
out is what one file gives, and does not depend on how rows come in parts, on how many tasks run at a time, or on what
runs them:

1. Blocks are of the texts in alphabetical order, never of parts, and what a block gives follows from its texts and from
   what is known of all: how frequent terms are, where cells are, and how the pairs of a text stand.
2. Texts have their numbers of the whole everywhere: ties are broken by position.
3. Cells follow from a sample by a hash, in one process; what is near in a cell, from its members and visitors.
4. Groups are made by one task, which holds some 100 bytes a pair, and of texts and terms what it looks at.
"""

import math
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from twicetold.dedupe.options import OF_FOLDERS
from twicetold.dedupe.results import DedupeSummary, summary_from_json
from twicetold.evaluation.stored import json_object
from twicetold.files import only_process, write_json
from twicetold.fingerprint import folder_digest
from twicetold.matching.candidates import PROBES
from twicetold.neighbours.cells import cells_for
from twicetold.staged.parts import STAGES, SUMMARY, parts_of, remove_parts_gone, require_own
from twicetold.staged.plan import BAD, DROPPED, FOLDERS, Plan, Settings, numbered, written
from twicetold.staged.tasks import Launch, Progress, Task, Work, digest, done, tidy
from twicetold.staged.term_stages import posted
from twicetold.trained.fitted import mixture

HELD = 0.5  # share of a task's memory for the vectors of a shard


@dataclass(frozen=True)
class FolderGroups:
    """Result of a dedupe of a folder.

    Args:
        summary: in numbers.
        parts: bytes of each part that was written, by its name.
        dropped_parts: the same of the rows that were dropped, in the folder `DROPPED`; empty if none were to be.
        bad_parts: the same of bad rows, in the folder `BAD`, of the parts that have some.
        bad: number of bad rows, which were left out.
        groups: number of all groups, those of a single row among them.
    """

    summary: DedupeSummary
    parts: dict[str, int]
    dropped_parts: dict[str, int]
    bad_parts: dict[str, int]
    bad: int
    groups: int

    def to_json(self) -> dict[str, Any]:
        """Return the summary as it is printed and written."""
        return {**vars(self), "summary": self.summary.to_json()}


def dedupe_folder(
    folder: Path, settings: Settings, launch: Launch, *, progress: Progress = lambda _: None
) -> FolderGroups:
    """Group the rows of all parts of a folder; the same call resumes after an interruption.

    Args:
        folder: of the parts.
        settings: what is asked for.
        launch: does tasks.
        progress: is called with a line on progress.

    Raises:
        BlockingIOError: if another process writes to the same folder.
        FileExistsError: if there is something else in the folder that is written.
        ValueError: if a part is damaged, has no texts or bad rows, or the model cannot be used.
        DiskFullError: if there is no room.
    """
    out = Path(settings.out)
    stages = out / STAGES
    parts = parts_of(folder, progress)
    require_own(folder, out, parts)
    model = folder_digest(Path(settings.model)) if settings.model else digest(version("twicetold"), [*mixture()])
    state = digest(parts, asdict(settings), model)
    with only_process(stages / "lock", f"a dedupe that writes to {out}"):
        if (result := _earlier_result(out, state)) is not None:
            progress(f"{out} has the groups of these parts already: nothing is to be done")
        else:
            tidy(out, stages)
            if not (out / SUMMARY).exists():
                remove_parts_gone(out, parts)
            result = Stages(Work(launch, progress), Plan(stages, settings, parts)).run(model)
            write_json(out / SUMMARY, {"state": state, **result.to_json()})
        shutil.rmtree(stages, ignore_errors=True)
    return result


def _earlier_result(out: Path, state: str) -> FolderGroups | None:
    """Return the result of an earlier call for the same; None if a part is not as it left it."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        content = json_object(out / SUMMARY, SUMMARY)
        if content.pop("state") == state:
            result = FolderGroups(**{**content, "summary": summary_from_json(content["summary"])})
            written_parts = zip(FOLDERS.values(), (result.parts, result.dropped_parts, result.bad_parts), strict=True)
            sizes = [(out / folder / name, size) for folder, parts in written_parts for name, size in parts.items()]
            if all(path.stat().st_size == size for path, size in sizes):
                return result
    return None


class Stages:
    """The stages in order; `plan` grows with what they establish, and `bad` is the number of bad rows."""

    def __init__(self, work: Work, plan: Plan) -> None:
        self.work, self.plan = work, plan

    def run(self, model: str) -> FolderGroups:
        """Do what is to be done.

        Args:
            model: digest of its folder, or of what is compared without one.
        """
        settings = self.plan.settings
        if settings.model:
            self.work.progress(self.one("model", digest(model, settings.precision, settings.threshold))["evidence"])
        state = digest(self.compared(model), [getattr(settings, name) for name in sorted(OF_FOLDERS)])
        found = self.one("compare", state)
        parts = self._join(digest(state, settings.drop))
        return FolderGroups(summary_from_json(found["summary"]), *parts, self.bad, found["groups"])

    def compared(self, model: str) -> str:
        """Read the rows, and compare many in blocks unless one task is to do it; a digest of what is known of them."""
        state, settings = digest(self._read(), model), self.plan.settings
        alone = settings.model or settings.columns or settings.sense == "topic" or self.plan.rows <= settings.block
        return state if alone else self._blocks(state)

    def _blocks(self, state: str) -> str:
        """Compare the texts in blocks, unless all but a few are copies; a digest of what they were compared by."""
        self.all("exact", numbered(self.plan.buckets), state)
        distinct, block = self.one("distinct", state)["distinct"], self.plan.settings.block
        if distinct <= block:  # a file compares so few without cells
            return state
        state = digest(state, block)
        self.plan = replace(self.plan, distinct=distinct, divided=True)
        blocks = self.plan.blocks
        for stage in ("sort", "order"):
            self.all(stage, blocks, state)
        shortened = sum(each["texts"] for each in self.all("long", blocks, state).values())
        if shortened:
            self.one("often", state)
        self.plan = replace(self.plan, shortened=shortened)
        self.all("terms", blocks, state)
        self.one("vocabulary", state)
        rows = [*self.all("rows", blocks, state).values()]
        width, unfinished = rows[0]["width"], sum(each["unfinished"] for each in rows)
        crowded = self.one("forms", state)["crowded"]
        self.plan = replace(self.plan, width=width, unfinished=unfinished, crowded=crowded)
        self.all("postings", posted(self.plan), state)
        if width:
            self.plan = with_shards(self.plan)
            state = digest(state, self.plan.shards)
            self.one("centres", state)
            self.all("visits", blocks, state)
            self.all("near", numbered(self.plan.shards), state)
        for stage in ("candidates", "pairs"):
            self.all(stage, blocks, state)
        self.plan = replace(self.plan, middle=self.one("standing", state)["middle"])
        state = digest(state, self.plan.settings.sense)
        self.all("score", blocks, state)
        return state

    def one(self, stage: str, state: str) -> dict[str, Any]:
        """Do a stage of one task, which depends on a state."""
        return self.all(stage, ["all"], state)["all"]

    def all(self, stage: str, names: Sequence[str], state: str) -> dict[str, dict[str, Any]]:
        """Do a stage of several tasks, each of which depends on a state: the digest of all that they depend on."""
        return self.work.run(self.plan, [Task(stage, name, digest(stage, state)) for name in names])

    def _read(self) -> str:
        """Read the rows; a digest of them."""
        settings = self.plan.settings
        about = (settings.text, settings.skip_bad, settings.delimiter, settings.columns)
        read = [Task("read", part.name, digest(part.size, part.changed, *about)) for part in self.plan.parts]
        rows = self.work.run(self.plan, read)
        self.bad = sum(each["bad"] for each in rows.values())
        offsets = [0]
        for part in self.plan.parts:
            offsets.append(offsets[-1] + rows[part.name]["rows"])
            if bad := rows[part.name]["bad"]:
                self.work.progress(f"{part.name}: bad rows left out: {bad:,}\n" + "\n".join(rows[part.name]["listed"]))
        if not offsets[-1]:
            raise ValueError("there are no rows to group")
        first = {rows[part.name]["text"]: part.name for part in reversed(self.plan.parts)}
        if len(first) > 1:
            chosen = ", ".join(f"{column!r} ({name})" for column, name in first.items())
            self.work.progress(f"warning: the texts of parts are in different columns, {chosen}: name one with --text")
        self.plan = replace(self.plan, offsets=tuple(offsets))
        return digest([task[:3] for task in read], offsets)

    def _join(self, state: str) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """Write parts; bytes of each, of those with dropped rows, and of those with bad rows."""
        out, drop = Path(self.plan.settings.out), self.plan.settings.drop
        tasks = [Task("join", name, digest(state)) for name in self.plan.names]
        if not all(done(self.plan, task) for task in tasks):
            remove_parts_gone(out, self.plan.parts)
            (out / SUMMARY).unlink(missing_ok=True)
        self.work.run(self.plan, tasks)
        for folder, wanted in ((DROPPED, drop), (BAD, drop and self.plan.settings.skip_bad)):
            if not wanted:
                shutil.rmtree(out / folder, ignore_errors=True)
        names = [written(name) for name in self.plan.names]
        kept, dropped, bad = (
            {name: (out / folder / name).stat().st_size for name in names if (out / folder / name).exists()}
            for folder in FOLDERS.values()
        )
        return kept, dropped, bad


def with_shards(plan: Plan) -> Plan:
    """Return the plan with a number of shards."""
    once = (4 * plan.width + 16 * PROBES) * plan.distinct
    of_task, shards = max(1.0, HELD * plan.settings.memory), 1
    while (more := math.ceil(copies(shards) * once / of_task)) > shards:
        shards = more
    return replace(plan, shards=min(shards, cells_for(plan.distinct)))  # a shard has at least one cell


def copies(shards: int) -> float:
    """Estimate to how many shards a vector goes.

    It visits `PROBES` cells: of 16 cells, they were in 1.9 of 2 shards, in 2.6 of 3, in 6.3 of 16 and in 7.7 of 32.
    """
    return min(float(shards), 1 + 1.95 * math.log(shards), float(PROBES))
