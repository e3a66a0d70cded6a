"""A dedupe of a folder of parts in stages, out of core: the order of the stages, and what each depends on.

    read → exact → distinct → threshold → encode → centres → scatter → links → components → route → group → number → join

Sparse vectors go by `terms`, `scatter_terms` and `links_terms` in place of cells; few texts, or with `exact` all, by
`links_all`. Each stage is a module with a function from files to files. What comes out does not depend on how rows come
in parts, on how many tasks run at a time, or on what runs them:

1. Blocks, cells and ranges are of distinct texts, never of parts.
2. Texts have their numbers of the whole everywhere: ties are broken by position.
3. Cells follow from a sample by a hash, in one process.
4. Links are all pairs above the threshold in a cell; their scores are computed from the two rows by themselves.
5. A component is grouped by one task, however large it is.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twicetold.dedupe.near import EXACT_UP_TO
from twicetold.files import only_process, write_json
from twicetold.fingerprint import folder_digest
from twicetold.staged.cells import PROBES, cells_for
from twicetold.staged.launch import Launch
from twicetold.staged.plan import Link, Part, Plan, Settings, numbered, require_names, written
from twicetold.staged.tasks import Task, digest, of_all
from twicetold.staged.work import Tell, Work, remove, tidy
from twicetold.tables.streams import COMPRESSIONS, SUFFIXES

STAGES = ".stages"  # in the folder that is written, while it is
SUMMARY = "summary.json"  # the same: it is there only once all parts are
COPIES = 3  # of a vector, in as many shards, about
HELD = 0.4  # share of a task's memory for the vectors of a shard


@dataclass(frozen=True)
class Found:
    """What a staged dedupe found.

    Args:
        plan: with all that stages established.
        summary: a `DedupeSummary` by its fields, without what only one file knows.
        counts: of the stages `number`, `components` and `missed`.
        groups: the loosest ones.
        component: the largest component, and what holds it together; None if there are no links.
        warnings: on texts unlike those of the model.
        used: by stage, see `Work.used`.
    """

    plan: Plan
    summary: dict[str, Any]
    counts: dict[str, dict[str, Any]]
    groups: list[dict[str, Any]]
    component: dict[str, Any] | None
    warnings: list[str]
    used: dict[str, dict[str, float]]


def parts_of(folder: Path) -> tuple[Part, ...]:
    """The parts of a folder, in the order of their names; names that begin with a dot or `_` are no parts.

    Raises:
        ValueError: if there are none, or two would be written under one name.
    """
    found = []
    for path in sorted(folder.iterdir()):
        suffixes = [suffix for suffix in path.suffixes[-2:] if suffix not in COMPRESSIONS]
        if path.name.startswith((".", "_")) or not suffixes or suffixes[-1].lower() not in SUFFIXES:
            continue
        about = path.stat()
        found.append(Part(path.name, str(path.resolve()), about.st_size, about.st_mtime_ns))
    if not found:
        raise ValueError(f"{folder}: expected parts that end in {', '.join(SUFFIXES)}, found none")
    require_names(found)
    return tuple(found)


def _require_own(folder: Path, out: Path, parts: Sequence[Part]) -> None:
    """Check that the folder that is written is one of ours, or new.

    Raises:
        FileExistsError: if something else is in it.
        ValueError: if it is the folder of the parts, or in it or around it.
    """
    read, made = folder.resolve(), out.resolve()
    if read.is_relative_to(made) or made.is_relative_to(read):
        raise ValueError(f"expected a folder apart from {folder}, whose parts are read, got {out}")
    if not out.exists():
        return
    ours = {written(part.name) for part in parts} if any((out / name).exists() for name in (STAGES, SUMMARY)) else set()
    if other := sorted(path.name for path in out.iterdir() if path.name not in {*ours, STAGES, SUMMARY}):
        raise FileExistsError(
            f"{out}: expected nothing but what this command wrote for the parts of {folder}, found {', '.join(other[:5])}: "
            "delete it, or choose another folder"
        )


def dedupe_folder(
    folder: Path, settings: Settings, launch: Launch, *, keep_stages: bool = False, tell: Tell = lambda _: None
) -> Found:
    """Group the rows of all parts of a folder; the same call goes on after whatever ended it.

    Args:
        folder: of the parts.
        settings: what is asked for.
        launch: does tasks.
        keep_stages: keep what stages wrote, so that parts that are added later cost less.
        tell: is called with a line on progress.

    Raises:
        BlockingIOError: if another process writes to the same folder.
        ValueError: if a part is damaged, has no texts or bad rows, or the model cannot be used.
        DiskFullError: if there is no room.
    """
    out = Path(settings.out)
    stages = out / STAGES
    parts = parts_of(folder)
    _require_own(folder, out, parts)
    with only_process(stages / "lock", f"a dedupe that writes to {out}"):
        tidy(stages)
        plan = Plan(stages, settings, parts)
        _tell_changes(plan, tell)
        found = _Stages(Work(launch, tell), plan).run()
    if not keep_stages:
        _remove_stages(found.plan)
    return found


class _Stages:
    """The stages in order; `plan` grows with what they establish."""

    def __init__(self, work: Work, plan: Plan) -> None:
        self.work, self.plan = work, plan

    def run(self) -> Found:
        settings = self.plan.settings
        model = digest(folder_digest(Path(settings.model)), settings.precision, settings.threshold, settings.rule)
        vectors = self.one("model", model)
        if vectors["evidence"] is not None:
            self.work.tell(f"threshold and probabilities rest on {vectors['evidence']}")
        self.plan = replace(self.plan, sparse=vectors["sparse"], width=vectors["width"])
        read, blocks = self._texts()
        known = self.one("threshold", digest(model, self.plan.distinct, self.plan.rows))
        link = known["link"]
        self._choose_shards(link)
        model = vectors["fingerprint"]
        encode = [Task("encode", *block) for block in zip(self.plan.blocks, _of_blocks(model, blocks, read, self.plan), strict=True)]
        encoded = self.work.run(self.plan, encode)
        links, missed = self._links(digest(of_all(encode), link))
        state = digest(of_all(links), settings.memory)
        components = self.one("components", state)
        self.plan = replace(self.plan, bins=components["bins"])
        state = digest(state, settings.rule, settings.keep)
        group = [Task("group", name, state) for name in numbered(self.plan.bins)]
        if not self.work.finished(self.plan, group):
            self.all("route", [task.name for task in links], state)
        grouped = self.work.run(self.plan, group)
        sizes = self.one("number", state)
        remove(self.plan, "route")
        self._join(digest(state, of_all(read), settings.drop))
        loosest = sorted((each for bin in grouped.values() for each in bin["loosest"]), key=_looseness)
        whole = [bin["component"] for bin in grouped.values()]
        return Found(
            plan=self.plan,
            summary={**known["summary"], "links": sum(bin["links"] for bin in grouped.values())},
            counts={"number": sizes, "components": components, "missed": missed},
            groups=loosest[:5],
            component=max(whole, key=lambda each: each["size"], default=None),
            warnings=_warnings(encoded, self.plan),
            used=self.work.used,
        )

    def one(self, stage: str, state: str) -> dict[str, Any]:
        """Do a stage of one task, which depends on a state."""
        return self.all(stage, ["all"], state)["all"]

    def all(self, stage: str, names: Sequence[str], state: str) -> dict[str, dict[str, Any]]:
        """Do a stage of several tasks, each of which depends on a state."""
        tasks = [Task(stage, name, digest(stage, state)) for name in names]
        return self.work.run(self.plan, tasks)

    def _texts(self) -> tuple[list[Task], list[list[Any]]]:
        """Read and number distinct texts; the tasks that read, and rows and digest of each block."""
        settings = self.plan.settings
        about = (settings.text, settings.skip_bad)
        read = [Task("read", part.name, digest(part.size, part.changed, *about)) for part in self.plan.parts]
        rows = self.work.run(self.plan, read)
        offsets = [0]
        for part in self.plan.parts:
            offsets.append(offsets[-1] + rows[part.name]["rows"])
            if bad := rows[part.name]["bad"]:
                self.work.tell(f"{part.name}: bad rows left out: {bad:,}\n" + "\n".join(rows[part.name]["listed"]))
        if not offsets[-1]:
            raise ValueError("there are no rows to group")
        self.plan = replace(self.plan, offsets=tuple(offsets))
        state = digest(of_all(read), offsets)
        self.all("exact", numbered(self.plan.buckets), state)
        numbers = self.one("distinct", state)
        self.plan = replace(self.plan, distinct=numbers["distinct"])
        return read, numbers["blocks"]

    def _choose_shards(self, link: dict[str, Any]) -> None:
        plan, settings = self.plan, self.plan.settings
        exact = plan.sparse or settings.exact or plan.distinct <= EXACT_UP_TO
        held = COPIES * (400 if plan.sparse else 4 * plan.width + 16 * PROBES) * plan.distinct
        self.plan = replace(
            plan,
            link=Link(**link),
            cells=0 if exact else cells_for(plan.distinct),
            shards=max(1, -(-held // max(1, int(HELD * settings.memory)))),
        )

    def _links(self, state: str) -> tuple[list[Task], dict[str, Any]]:
        """Find links; the tasks, and what a sample says of those that were missed."""
        plan = self.plan
        state = digest(state, plan.cells, plan.shards)
        if not plan.sparse and not plan.cells:
            links = [Task("links_all", name, state) for name in plan.blocks]
            self.work.run(plan, links)
            return links, {}
        stages = ("terms", "scatter_terms", "links_terms") if plan.sparse else ("centres", "scatter", "links")
        state = digest(state, 0 if plan.sparse else plan.settings.sampled)
        links = [Task(stages[2], name, state) for name in numbered(plan.shards)]
        self.one(stages[0], state)
        if not self.work.finished(plan, links):
            self.all(stages[1], plan.blocks, state)
        self.work.run(plan, links)
        remove(plan, stages[1])
        if plan.sparse or not plan.settings.sampled:
            return links, {}
        self.all("recall", plan.blocks, state)
        return links, self.one("missed", state)

    def _join(self, state: str) -> None:
        out = Path(self.plan.settings.out)
        tasks = [Task("join", name, digest(state)) for name in self.plan.names]
        if not self.work.finished(self.plan, tasks):
            (out / SUMMARY).unlink(missing_ok=True)
        self.work.run(self.plan, tasks)


def _of_blocks(model: str, blocks: list[list[Any]], read: list[Task], plan: Plan) -> Iterator[str]:
    """A digest of each block of texts: of the parts that it is of, where it begins in the first, and which rows it has."""
    for start, stop, rows in blocks:
        first = bisect_right(plan.offsets, start) - 1
        last = bisect_right(plan.offsets, stop - 1)
        yield digest(model, of_all(read[first:last]), start - plan.offsets[first], rows)


def _tell_changes(plan: Plan, tell: Tell) -> None:
    """Say which parts are not as they were when an earlier call began."""
    try:
        before = {part.name: part for part in Plan.read(plan.folder).parts}
    except (OSError, ValueError):
        return
    now = {part.name: part for part in plan.parts}
    for what, names in (
        ("added", now.keys() - before.keys()),
        ("gone", before.keys() - now.keys()),
        ("changed", {name for name in now.keys() & before.keys() if now[name] != before[name]}),
    ):
        if names:
            some = ", ".join(sorted(names)[:5])
            tell(f"{len(names)} parts {what} since the last call: {some}; what depends on them is done anew")


def _warnings(encoded: dict[str, dict[str, Any]], plan: Plan) -> list[str]:
    blank = sum(found["blank"] for found in encoded.values())
    said = list(dict.fromkeys(each for found in encoded.values() for each in found["unlike"]))[:3]
    if blank > 0.01 * plan.distinct:
        said.append(
            f"{blank:,} of {plan.distinct:,} texts ({blank / plan.distinct:.0%}) have no term that the model knows, "
            "and are like no other text to it"
        )
    return said


def _looseness(group: dict[str, Any]) -> tuple[float, int]:
    return group["density"], -group["size"]


def _remove_stages(plan: Plan) -> None:
    import shutil

    shutil.rmtree(plan.folder, ignore_errors=True)


def write_summary(out: Path, content: dict[str, Any]) -> None:
    """Say that all parts are there."""
    write_json(out / SUMMARY, content)
