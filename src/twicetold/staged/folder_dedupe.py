"""A dedupe of a folder of parts in stages: the order of the stages, and what each depends on.

    read → compare → join
    read → exact → distinct → threshold → encode → centres → visits → links → components → group → number → join

Where pairs are compared by a matcher, as without a model, `compare` groups all rows in memory. Models of documents,
whose thresholds are over all pairs, have the longer way, out of core; few texts, or with `exact` all, go by `links_all`
in place of cells. Each stage is a function from files to files, in the module that `stages` names. What comes out does
not depend on how rows come in parts, on how many tasks run at a time, or on what runs them:

1. Blocks, cells and ranges are of distinct texts, never of parts.
2. Texts have their numbers of the whole everywhere: ties are broken by position.
3. Cells follow from a sample by a hash, in one process.
4. Links are all pairs above the threshold in a cell; their scores are computed from the two rows by themselves.
5. A component is grouped by one task, however large it is.
"""

import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from twicetold.dedupe.caution import Chains, chained, codes_alone, evenly, many_grouped, unknown_texts
from twicetold.dedupe.options import EXACT_UP_TO, OF_FOLDERS, of_stage
from twicetold.dedupe.results import DedupeSummary, summary_from_json
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.stored import json_object
from twicetold.files import only_process, write_json
from twicetold.fingerprint import folder_digest
from twicetold.neighbours.cells import PROBES, cells_for
from twicetold.staged.group_stages import LOOKED_AT, tasks_of_links
from twicetold.staged.parts import STAGES, SUMMARY, parts_of, remove_parts_gone, require_own
from twicetold.staged.plan import BAD, DROPPED, FOLDERS, Plan, Settings, numbered, written
from twicetold.staged.row_stages import firsts_of, texts_of_rows
from twicetold.staged.tasks import Launch, Progress, Task, Work, digest, done, tidy
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
        cells: that were compared within; 0: all texts were compared; None: the candidates of each, as of a file.
    """

    summary: DedupeSummary
    parts: dict[str, int]
    dropped_parts: dict[str, int]
    bad_parts: dict[str, int]
    bad: int
    groups: int
    cells: int | None

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
            result = _Stages(Work(launch, progress), Plan(stages, settings, parts)).run(model)
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


class _Stages:
    """The stages in order; `plan` grows with what they establish, and `bad` is the number of bad rows."""

    def __init__(self, work: Work, plan: Plan) -> None:
        self.work, self.plan = work, plan

    def run(self, model: str) -> FolderGroups:
        """Do what is to be done.

        Args:
            model: digest of its folder, or of what is compared without one.
        """
        settings = self.plan.settings
        if not settings.model:
            return self._compare(model)
        model = digest(model, *of_stage(settings, "model"))
        vectors = self.one("model", model)
        self.work.progress(vectors["evidence"])
        if vectors["compared"]:
            return self._compare(model)
        self.plan = replace(self.plan, width=vectors["width"])
        state = self._read()
        self.all("exact", numbered(self.plan.buckets), state)
        self.plan = replace(self.plan, distinct=self.one("distinct", state)["distinct"])
        known = self.one("threshold", digest(model, self.plan.distinct, self.plan.rows))
        decision, constant = known["decision"], known["constant"]
        self.plan = with_shards(replace(self.plan, decision=Decision(**decision), constant=constant))
        state = digest(state, vectors["fingerprint"])
        encoded = self.all("encode", self.plan.blocks, state)
        state = digest(self._links(digest(state, decision, constant)), settings.memory)
        self.plan = replace(self.plan, bins=self.one("components", state)["bins"])
        state = digest(state, *of_stage(settings, "group"))
        grouped = list(self.all("group", numbered(self.plan.bins), state).values())
        sizes = self.one("number", state)
        parts = self._join(digest(state, settings.drop))
        summary = self._summary(summary_from_json(known["summary"]), sizes, encoded, grouped)
        return FolderGroups(summary, *parts, self.bad, sizes["all"], self.plan.cells)

    def _compare(self, model: str) -> FolderGroups:
        """Do the stages of texts whose pairs are compared by a matcher."""
        asked = [getattr(self.plan.settings, name) for name in sorted(OF_FOLDERS)]
        state = digest(self._read(), model, asked)
        self.plan = replace(self.plan, compared=True)
        found = self.one("compare", state)
        parts = self._join(digest(state, self.plan.settings.drop))
        return FolderGroups(summary_from_json(found["summary"]), *parts, self.bad, found["groups"], None)

    def _summary(
        self,
        known: DedupeSummary,
        sizes: dict[str, Any],
        encoded: dict[str, dict[str, Any]],
        grouped: Sequence[dict[str, Any]],
    ) -> DedupeSummary:
        """Return the dedupe in numbers, from what is known of the threshold and what tasks found."""
        plan = self.plan
        counts = replace(
            known.counts,
            links=sum(bin["links"] for bin in grouped),
            approximate=bool(plan.cells),
            **{name: sizes[name] for name in ("groups", "grouped", "largest")},
        )
        unknown = unknown_texts(sum(each["blank"] for each in encoded.values()), plan.distinct)
        many = many_grouped(counts.grouped, plan.rows, plan.rows - sizes["all"], equal=plan.rows - plan.distinct)
        drift = list(dict.fromkeys(warning for each in encoded.values() for warning in each["drift"]))[:3]
        warnings = [*drift, unknown, *known.warnings, many, *_cautions(plan, grouped)]
        return replace(known, counts=counts, warnings=tuple(filter(None, warnings)))

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

    def _links(self, state: str) -> str:
        """Find links; a digest of what they were found by."""
        plan = self.plan
        state = digest(state, plan.cells, plan.shards)
        if plan.cells:
            self.one("centres", state)
            self.all("visits", plan.blocks, state)
        self.all(*tasks_of_links(plan), state)
        return state

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
    """Return the plan with numbers of cells and of shards."""
    if plan.settings.exact or plan.distinct <= EXACT_UP_TO:
        return plan
    once = (4 * plan.width + 16 * PROBES) * plan.distinct
    of_task, shards = max(1.0, HELD * plan.settings.memory), 1
    while (more := math.ceil(copies(shards) * once / of_task)) > shards:
        shards = more
    cells = cells_for(plan.distinct)
    return replace(plan, cells=cells, shards=min(shards, cells))  # a shard has at least one cell


def copies(shards: int) -> float:
    """Estimate to how many shards a vector goes.

    It visits `PROBES` cells: they were in 1.9 of 2 shards, in 2.6 of 3, in 6.3 of 16 and in 7.7 of 32.
    """
    return min(float(shards), 1 + 1.95 * math.log(shards), float(PROBES))


def _cautions(plan: Plan, grouped: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield warnings of links and groups, as of one file, from what each bin says."""
    total = sum(bin["links"] for bin in grouped)
    some = [
        np.array(bin["some"])[:, evenly(len(bin["some"][0]), math.ceil(LOOKED_AT * bin["links"] / total))]
        for bin in grouped
        if bin["links"]
    ]
    chains = [Chains(*bin["chains"]) for bin in grouped if bin["chains"] is not None]
    links = np.concatenate(some, axis=1) if some else np.empty((3, 0))
    worst = min(chains, key=lambda each: each.score, default=None)
    ends = np.empty(0) if worst is None else np.array(worst[1:3])
    numbers = np.unique(np.concatenate([links[:2].ravel(), ends]).astype(np.int64))
    texts = dict(zip(numbers.tolist(), texts_of_rows(plan, firsts_of(plan).numbers(numbers)), strict=True))
    sides = [[texts[number] for number in side.astype(np.int64).tolist()] for side in links[:2]]
    if (warning := codes_alone(sides[0], sides[1], links[2])) is not None:
        yield warning
    if worst is not None:
        groups = sum(each.groups for each in chains)
        yield chained(worst._replace(groups=groups), (texts[worst.left], texts[worst.right]))
