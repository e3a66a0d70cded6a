"""`dvc repro` with stages side by side, then the report: `run_grid.py --jobs 2`; a part: `run_grid.py "train@stsb-*"`.

DVC decides which stages are stale and records what ran; this runs the stale ones in several processes, prints one line
each, and continues with the others if one fails. What a command prints goes to `build/logs/<stage>.log`. Each stage
computes with one thread (OMP_NUM_THREADS=1), so that results do not depend on how many run at once. With `--record`,
seconds, commit, processor and versions are kept in `runs/last_run.json` for the next estimate and for RESULTS.md.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import difflib
import fnmatch
import json
import logging
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from dvc.config import Config
from dvc.dvcfile import LOCK_FILE, Lockfile
from dvc.lock import make_lock
from dvc.repo import Repo
from dvc.rwlock import RWLOCK_FILE, RWLOCK_LOCK
from dvc.utils.serialize import YAMLFileCorruptedError
from dvc.utils.strictyaml import YAMLValidationError
from networkx import descendants, topological_sort

from twicetold import layout
from twicetold.files import write_file, write_text
from twicetold_lab import tracking
from twicetold_lab.grid.lock import changes, settings_file
from twicetold_lab.grid.processes import CTRL_C, Processes
from twicetold_lab.grid.rows import CELLS, read_grid
from twicetold_lab.runs.environment import observed, processor
from twicetold_lab.tracking.repository import commit_now

LOGS = Path("build/logs")
RENDERED = Path("build/conf")
RAN_WITH = Path("build/ran")  # settings of each stage's last run here
DVC_TMP = Path(".dvc/tmp")
LAST_RUN = Path("runs", layout.LAST_RUN)
RAN = "Running stage"  # what DVC says before it runs a command, not where its run cache has the result
TRACKED = ("train@", "evaluate@", "ensemble@")  # stages that write to MLflow's store
UNKNOWN = 20.0  # seconds guessed of a stage of a kind that never ran
DUMP_EVERY = 60.0  # seconds between writes of dvc.lock by a process, as each write takes seconds

Result = tuple[str, bool, float, str]
"""Of a stage: its name, whether its command ran, the seconds, and why it failed ("": it did not)."""


@dataclass
class Plan:
    """The stale stages and how they depend on each other."""

    after: dict[str, set[str]]
    """Stage -> the stale stages that it waits for."""
    seconds: dict[str, float]
    """Stage -> how long it is expected to take."""
    started: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    """Stage -> why."""
    took: dict[str, float] = field(default_factory=dict)
    """Stage -> seconds, of those whose command ran."""

    def next(self) -> str | None:
        """The longest of the stages that can start now."""
        ready = [name for name in self.after if name not in self.started and self.after[name] <= self.done]
        return max(ready, key=lambda name: self.seconds[name], default=None)

    def left(self, jobs: int) -> float:
        """Expected seconds until the end."""
        expected = sum(self.seconds[name] for name in self.took)
        speed = sum(self.took.values()) / expected if expected > 60 else 1.0
        return speed * sum(self.seconds[name] for name in set(self.after) - self.done - set(self.failed)) / jobs


def main() -> None:
    """Compose, find the stale stages, run them and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", help="names, with * for any: these and what they need; default: all")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes; default: the cores")
    parser.add_argument("--record", action="store_true", help=f"write {LAST_RUN}")
    chosen = parser.parse_args()
    if chosen.jobs < 1:
        parser.error(f"--jobs must be at least 1; got {chosen.jobs}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    if do_without_git():
        print("this folder is in no Git repository: core.no_scm=true, in .dvc/config.local, has DVC work without one")
    mend_lock()
    mend_dvc_lock()
    compose()
    last = json.loads(LAST_RUN.read_text(encoding="utf-8")) if LAST_RUN.exists() else {"stages": {}}
    plan, names = plan_of(last["stages"], chosen.stages)
    for line in changes(plan.after, RENDERED, RAN_WITH):
        print(line)
    if plan.after:
        print(
            f"{len(plan.after)} of {len(names)} stages to check or run, {chosen.jobs} at a time on {processor()}: "
            f"{in_words(plan.left(chosen.jobs))} or less",
            flush=True,
        )
        try:
            run(plan, jobs=chosen.jobs)
        finally:  # a run that was stopped and goes on later took the seconds of both
            if chosen.record and plan.took:
                stages = {name: took for name, took in (last["stages"] | plan.took).items() if name in names}
                record(stages, ran_on(last.get("environments", []), observed(), plan.took, names), jobs=chosen.jobs)
    print(f"{len(plan.took)} stages ran in {in_words(time.monotonic() - began)}, {len(plan.failed)} failed")
    for name, why in plan.failed.items():
        print(f"failed: {name}: {why}; see {log_of(name)}")
    if waiting := sorted(set(plan.after) - plan.started):
        print(f"not run, as they need what failed: {', '.join(waiting)}")
    if not chosen.stages and not plan.failed:
        report()
    if any(name.startswith(TRACKED) for name in plan.took):
        show_pages()
    sys.exit(bool(plan.failed))


def compose() -> None:
    """Render the settings; once more where the rows of params.yaml have changed, which DVC reads as it starts."""
    for rows in (CELLS.read_bytes() if CELLS.is_file() else b"", None):
        done = subprocess.run(["dvc", "repro", "compose"], capture_output=True, text=True, check=False)
        if done.returncode and (rows is None or not CELLS.is_file() or CELLS.read_bytes() == rows):
            sys.exit(f"{done.stdout}{done.stderr}".rstrip())
        if not done.returncode:
            return


def report() -> None:
    """Make the report; ends the program if that fails."""
    with log_of("report").open("wb") as log:
        command = [sys.executable, "pipelines/report.py"]
        code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    print(f"failed: the report; see {log_of('report')}" if code else f"report: {Path('reports', layout.REPORT)}")
    if code:
        sys.exit(1)


def show_pages() -> None:
    """Print where MLflow shows the runs of each dataset, if they are tracked."""
    settings = tracking.Settings(enabled=True, uri=None, root=Path.cwd(), origin="dvc")
    if pages := tracking.addresses(settings, read_grid(Path())["data"]):
        print("The runs in MLflow, with `make ui`:")
        for name, page in pages.items():
            print(f"  {name:<{max(map(len, pages))}}  {page}")


def mend_lock() -> None:
    """Remove DVC's list of paths in use if a kill cut it off while DVC wrote it; DVC would refuse every command."""
    file = DVC_TMP / RWLOCK_FILE
    if not file.exists():
        return
    with make_lock(f"{DVC_TMP / RWLOCK_LOCK}", tmp_dir=f"{DVC_TMP}", wait=True):
        try:
            json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            file.unlink()


def mend_dvc_lock() -> None:
    """Restore the committed dvc.lock if a kill cut it off while DVC wrote it; DVC could not read it.

    What has run since the commit is in DVC's run cache. Ends the program if git does not give the committed one.
    """
    file = Path(LOCK_FILE)
    if not file.exists():
        return
    with repository() as repo, repo.lock:  # DVC holds it while it writes the file
        try:
            Lockfile(repo, f"{file.resolve()}").load()
            return
        except (YAMLFileCorruptedError, YAMLValidationError):
            committed = subprocess.run(["git", "show", f"HEAD:./{file}"], capture_output=True, check=False)
        refused = " ".join(committed.stderr.decode(errors="replace").split())
        if "safe.directory" in refused:  # the checkout is another user's, and Git may have the file
            sys.exit(f"error: {file} was cut off, and git does not give the committed one: {refused}")
        if committed.returncode == 0:
            with write_file(file) as whole:
                whole.write_bytes(committed.stdout)
        else:
            file.unlink()
    instead = "removed, as Git has none" if committed.returncode else "the committed one is restored"
    print(f"{file} was cut off: {instead}; what has run since comes from DVC's run cache", flush=True)


def plan_of(known: dict[str, float], chosen: Sequence[str]) -> tuple[Plan, set[str]]:
    """The stale stages, by what DVC says of each, and the names of all.

    Args:
        known: stage -> seconds.
        chosen: patterns of the stages that are wanted with all that they wait for; none: every stage.
    """
    before, stale = graph()
    if chosen:
        wanted = {name for pattern in chosen for name in matching(pattern, before)}
        stale &= wanted.union(*(before[name] for name in wanted))
    after = {name: before[name] & stale for name in before if name in stale}
    kinds: dict[str, list[float]] = {}
    for name, took in known.items():
        kinds.setdefault(name.partition("@")[0], []).append(took)
    mean = {kind: sum(every) / len(every) for kind, every in kinds.items()}
    return Plan(after, {n: known.get(n, mean.get(n.partition("@")[0], UNKNOWN)) for n in after}), set(before)


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that fit a pattern; ends the program if there are none."""
    found = fnmatch.filter(names, pattern)
    if not found:
        close = difflib.get_close_matches(pattern, list(names), n=1)
        sys.exit(f"error: there is no stage {pattern}" + (f": did you mean {close[0]}?" if close else ""))
    return found


def run(plan: Plan, *, jobs: int) -> None:
    """Run the plan's stages in several processes, and print the result of each."""
    with closing(Processes(min(jobs, len(plan.after)), work)) as workers:
        # after Ctrl-C as well, which ends the commands that run: what is finished is recorded in dvc.lock
        while True:
            while not workers.full and (name := plan.next()):
                plan.started.add(name)
                workers.start(name)
            if not workers.busy:
                return
            for name, result, lost in workers.results():
                take(plan, result or (name, True, 0.0, lost), jobs=jobs)


def take(plan: Plan, result: Result, *, jobs: int) -> None:
    """Note a stage's result in the plan, and print it if its command ran."""
    name, ran, took, why = result
    if why:
        plan.failed[name] = why
    else:
        plan.done.add(name)
    if ran and not why:
        plan.took[name] = round(took, 1)
        if (settings := settings_file(name, RENDERED)).is_file():
            RAN_WITH.mkdir(parents=True, exist_ok=True)
            shutil.copy(settings, RAN_WITH / f"{name}.yaml")
    if ran or why:
        share = f"{len(plan.done) + len(plan.failed)}/{len(plan.after)}"
        end = f"FAILED, see {log_of(name)}" if why else f"{in_words(plan.left(jobs))} left"
        print(f"{time.strftime('%H:%M:%S')}  {share:>9}  {name:<50} {took:6.0f} s   {end}", flush=True)


def work(connection: Connection) -> None:
    """Reproduce stages whose names come by the connection; DVC's lock is not held while a command runs."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the commands, which inherit no handler, and for main
    signal.pthread_sigmask(signal.SIG_UNBLOCK, CTRL_C)
    with repository() as repo:
        stages = {stage.addressing: stage for stage in repo.index.stages}
        ran: list[Any] = []
        dumped = time.monotonic()
        with suppress(EOFError, ConnectionError):
            while True:
                name = connection.recv()
                began, why, log = time.monotonic(), "", log_of(name)
                with output_to(log), repo.lock:
                    try:
                        if stages[name].reproduce():
                            ran.append(stages[name])
                    except Exception as error:  # whatever it is, the other stages go on
                        why = f"{error}"
                        print(why, flush=True)
                connection.send((name, RAN in log.read_text(errors="replace"), time.monotonic() - began, why))
                if time.monotonic() - dumped > DUMP_EVERY:
                    ran, dumped = dump(repo, ran), time.monotonic()
        dump(repo, ran)


def dump(repo: Repo, ran: list[Any]) -> list[Any]:
    """Record stages in dvc.lock; if the process is killed before that, DVC finds them in its run cache."""
    if ran:
        with output_to(Path(os.devnull)), repo.lock:
            ran[0].dvcfile.dump_stages(ran, update_pipeline=False)
    return []


@contextmanager
def output_to(log: Path) -> Iterator[None]:
    """Send what this process and its children print to a file."""
    saved = [os.dup(descriptor) for descriptor in (1, 2)]
    with log.open("wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        sys.stdout.flush()
        for descriptor, old in zip((1, 2), saved, strict=True):
            os.dup2(old, descriptor)
            os.close(old)


def log_of(name: str) -> Path:
    """The log file of a stage."""
    return LOGS / f"{name}.log"


def ran_on(
    known: list[dict[str, Any]], now: dict[str, Any], took: Iterable[str], names: set[str]
) -> list[dict[str, Any]]:
    """Which stages ran with which versions and processor: those that ran now, and of the former ones the others.

    Args:
        known: of the last call.
        now: what is observed now.
        took: the stages that ran now.
        names: of all stages; others are no longer in the grid.
    """
    last = next((each for each in known if each["environment"] == now), {"environment": now, "stages": []})
    every = [{**each, "stages": sorted(set(each["stages"]) & names - set(took))} for each in known if each is not last]
    every.append({**last, "stages": sorted({*last["stages"], *took} & names)})
    return [each for each in every if each["stages"]]


def record(stages: dict[str, float], environments: list[dict[str, Any]], *, jobs: int) -> None:
    """Keep the seconds of each stage and what it ran with, and the commit, marked where files were changed since."""
    head, changed = commit_now("--short=12")
    commit = f"{head or 'unknown'}{' with changes' if changed else ''}"
    made = {"commit": commit, "jobs": jobs, "processor": processor(), "stages": stages, "environments": environments}
    write_text(LAST_RUN, json.dumps(made, indent=1, sort_keys=True) + "\n")


def in_words(seconds: float) -> str:
    """A duration for people."""
    minutes = seconds / 60
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


@contextmanager
def repository() -> Iterator[Repo]:
    """Provide the DVC project of this folder, which waits for its lock and logs to the standard error stream."""
    logger = logging.getLogger("dvc")
    logger.handlers = [logging.StreamHandler()]
    logger.setLevel(logging.INFO)
    with Repo(_wait_for_lock=True) as repo:
        yield repo


def do_without_git() -> bool:
    """Have DVC work in a folder that is in no Git repository, as an archive of a release is; it would refuse.

    Returns:
        Whether that had to be set, in `.dvc/config.local`.
    """
    here = Path.cwd()
    if any((folder / ".git").exists() for folder in (here, *here.parents)):
        return False
    config = Config(f"{here / '.dvc'}")
    if config["core"].get("no_scm"):
        return False
    with config.edit("local") as local:
        local.setdefault("core", {})["no_scm"] = True
    return True


def graph() -> tuple[dict[str, set[str]], set[str]]:
    """Every stage of the grid, with all that it waits for, directly or not; and those that are stale, as DVC says.

    A stage that always runs counts as current: whoever asks has just run `compose`, and its output says what changed.
    """
    before: dict[str, set[str]] = {}
    stale: set[str] = set()
    with repository() as repo, repo.lock:
        waits = repo.index.graph  # an edge leads to what a stage waits for
        for stage in reversed(list(topological_sort(waits))):
            name = stage.addressing
            if ":" in name:  # pipelines/matcher/dvc.yaml:learn_matcher
                continue
            before[name] = {other.addressing for other in descendants(waits, stage)}
            if before[name] & stale or (not stage.always_changed and stage.changed()):
                stale.add(name)
    return before, stale


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped. What is finished is kept; run the same command again to go on")
