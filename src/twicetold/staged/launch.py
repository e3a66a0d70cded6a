"""Engines: what runs the tasks of a stage, in this process, in others of this machine, or on others.

A launcher takes the folder of the stages and tasks that do not depend on each other, does each by `stages.run`, in any
order, and yields it when it has ended. Only the folder's path and the tasks travel; all else is in files, so each
machine must see the folder, the parts and the model at the same paths, and have this package.

Each engine is a context, so that its workers live from stage to stage and end with the command. What it lends is a
function that has tasks attempted and yields how each ended. An error of a task comes back as a value, so an error that
an engine raises is its own: workers were lost, more often than the engine replaces them by itself.
"""

from twicetold.command_line import end_with_parent

import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from twicetold.packages import PackageMissing, require_package
from twicetold.staged.stages import run
from twicetold.staged.tasks import Launch, Task

Ended: TypeAlias = tuple[Task, Exception | None]
Attempts: TypeAlias = Callable[[Path, Sequence[Task]], Iterator[Ended]]

KINDS = (PackageMissing, MemoryError, FileNotFoundError, OSError, TypeError, ValueError, Exception)
LOST = 3  # times that a stage goes on after processes of this machine were lost; other engines count by themselves
LIMIT = 24 * 60  # minutes of a job of Slurm
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
ONE = Lock()  # a limit of threads is of the whole process: tasks in threads of one would lift each other's


@contextmanager
def launching(engine: str, workers: int) -> Iterator[Launch]:
    """Lend a launcher; its workers start with the first task and end after the block.

    Args:
        engine: one of `ENGINES`.
        workers: tasks at a time, where the engine starts its workers itself; with one, `processes` starts none.

    Raises:
        ValueError: if there is no such engine.
        PackageMissing: if a package is not installed that it needs.
    """
    if engine not in ENGINES:
        raise ValueError(f"expected one of the engines {', '.join(ENGINES)}, got {engine!r}")
    package, start = ENGINES[engine]
    require_package(package, f"the engine {engine}")
    if start is _processes and workers == 1:
        yield here
        return
    with ExitStack() as stack:
        attempts = cache(lambda: stack.enter_context(start(workers)))  # not if nothing is to be done
        yield lambda folder, tasks: _launch(attempts(), folder, tasks)


def here(folder: Path, tasks: Sequence[Task]) -> Iterator[Task]:
    """Run tasks one after another in this process."""
    for task in tasks:
        run(folder, task)
        yield task


def attempt(folder: Path, task: Task) -> Ended:
    """Do a task in a worker, and return it with the error that ended it; None if it was done."""
    try:
        with ONE:
            run(folder, task)
    except Exception as error:
        return task, _that_travels(error, traceback.format_exc())
    return task, None


def _that_travels(error: Exception, trace: str) -> Exception:
    """Return an error of a built-in kind, which any engine carries, with the traceback as a note."""
    kind = next(kind for kind in KINDS if isinstance(error, kind))
    same = kind(f"{error}")
    same.add_note(trace)
    return same


def _launch(attempts: Attempts, folder: Path, tasks: Sequence[Task]) -> Iterator[Task]:
    """Yield tasks as they end; those of lost processes are attempted again.

    Raises:
        OSError: if workers were lost too often, by a lack of memory perhaps.
    """
    pending, wrong = dict.fromkeys(tasks), None
    for lost in range(LOST + 1):
        try:
            for task, wrong in attempts(folder, list(pending)):
                if wrong is not None:
                    break
                del pending[task]
                yield task
            break
        except Exception as error:
            if lost == LOST or not isinstance(error, BrokenExecutor):
                raise OSError(
                    f"workers were lost in the stage {tasks[0].stage}, for a lack of memory perhaps: run the same "
                    f"command again, with fewer workers or less memory; what is done is kept\n{error!s:.300}"
                ) from error
    if wrong is not None:
        raise wrong.with_traceback(None)


@contextmanager
def _processes(workers: int) -> Iterator[Attempts]:
    from joblib import Parallel, delayed, parallel_config

    def attempts(folder: Path, tasks: Sequence[Task]) -> Iterator[Ended]:
        one_by_one = Parallel(return_as="generator_unordered", batch_size=1)
        yield from one_by_one(delayed(attempt)(folder, task) for task in tasks)

    with parallel_config("loky", n_jobs=workers, initializer=_begin), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="joblib")  # on tasks that an error has cancelled
        yield attempts


def _begin() -> None:
    """Have this process end with its parent, and compute on one thread."""
    end_with_parent()
    os.environ.update(dict.fromkeys(THREADS, "1"))


@contextmanager
def _dask(workers: int) -> Iterator[Attempts]:
    from dask import config
    from distributed import Client, as_completed

    def attempts(folder: Path, tasks: Sequence[Task]) -> Iterator[Ended]:
        for future in as_completed(client.map(partial(attempt, folder), tasks, pure=False)):
            yield future.result()

    local = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    with Client(**{} if config.get("scheduler-address", None) else local) as client:
        yield attempts


@contextmanager
def _ray(workers: int) -> Iterator[Attempts]:
    import ray

    def attempts(folder: Path, tasks: Sequence[Task]) -> Iterator[Ended]:
        pending = [remote.remote(folder, task) for task in tasks]
        while pending:
            ended, pending = ray.wait(pending)
            yield from ray.get(ended)

    local = {"address": "local", "num_cpus": workers, "include_dashboard": False}
    with ray.init(**{} if "RAY_ADDRESS" in os.environ else local, log_to_driver=False, logging_level="warning"):
        remote = ray.remote(attempt)
        yield attempts


@contextmanager
def _spark(workers: int) -> Iterator[Attempts]:
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    def attempts(folder: Path, tasks: Sequence[Task]) -> Iterator[Ended]:
        def ended(number: int) -> str | None:
            error = attempt(folder, tasks[number])[1]
            return None if error is None else json.dumps([KINDS.index(type(error)), f"{error}", *error.__notes__])

        numbers = spark.range(0, len(tasks), numPartitions=len(tasks))
        for number, said in numbers.select("id", udf(ended, "string", useArrow=False)("id")).collect():
            told = None if said is None else json.loads(said)
            yield tasks[number], told and _that_travels(KINDS[told[0]](told[1]), told[2])

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("MASTER", f"local[{workers},{LOST + 1}]")  # where no configuration of Spark names one
    spark = SparkSession.builder.appName("twicetold").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        yield attempts
    finally:
        spark.stop()


@contextmanager
def _slurm(workers: int) -> Iterator[Attempts]:
    from submitit import AutoExecutor
    from submitit.helpers import as_completed

    def attempts(folder: Path, tasks: Sequence[Task]) -> Iterator[Ended]:
        executor = AutoExecutor(folder / "jobs")
        executor.update_parameters(name="twicetold", timeout_min=LIMIT, slurm_array_parallelism=workers)
        jobs = executor.map_array(partial(attempt, folder), tasks)
        try:
            for job in as_completed(jobs, poll_frequency=1):
                yield job.result()
        finally:
            for job in jobs:
                if not job.done():
                    job.cancel()

    yield attempts


ENGINES: dict[str, tuple[str, Callable[[int], AbstractContextManager[Attempts]]]] = {
    "processes": ("joblib", _processes),
    "dask": ("distributed", _dask),
    "ray": ("ray", _ray),
    "spark": ("pyspark", _spark),
    "slurm": ("submitit", _slurm),
}
"""By name: the package that an engine needs, and what starts it with so many workers."""
