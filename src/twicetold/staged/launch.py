"""Launchers of tasks: here, in processes of this machine, or by joblib, submitit (Slurm) or Ray.

A launcher takes the folder of the stages and tasks that do not depend on each other, does each by `tasks.run`, in any
order, and yields it when it has ended. Only the folder's path and the tasks travel; all else is in files, so each
machine must see the folder, the parts and the model at the same paths. To use another engine, give such a function.
"""

from twicetold.command_line import end_with_parent

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from twicetold.packages import require_package
from twicetold.staged.tasks import Launch, Task, run

On: TypeAlias = Literal["joblib", "submitit", "ray"]
ON: tuple[On, ...] = get_args(On)
WITH_OPTIONS = ("submitit", "ray")
LOST = 3  # processes that may be lost before a stage is given up
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def launcher(on: On | None, workers: int, options: Mapping[str, Any] | None = None) -> Launch:
    """The launcher of a name.

    Args:
        on: None: this process, or as many processes as there are workers.
        workers: tasks at a time.
        options: of submitit's executor, such as `slurm_partition`, or of `ray.init`, such as `address`.

    Raises:
        PackageMissing: if a package is missing.
        ValueError: if options are given where there are none.
    """
    if options and on not in WITH_OPTIONS:
        raise ValueError(f"expected options of a launcher with submitit or ray alone, got {', '.join(options)}")
    if on is None:
        return here if workers == 1 else Processes(workers)
    require_package(on, f"--folder on={on}")
    return partial({"joblib": by_joblib, "submitit": by_submitit, "ray": by_ray}[on], workers, **(options or {}))


def here(folder: Path, tasks: Sequence[Task]) -> Iterator[Task]:
    """One after another in this process."""
    for task in tasks:
        run(folder, task)
        yield task


class Processes:
    """A launcher: in processes of this machine, which end with this one.

    Args:
        workers: tasks at a time.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, folder: Path, tasks: Sequence[Task]) -> Iterator[Task]:
        """Do the tasks, in the processes of the stage before.

        Raises:
            OSError: if several of them are lost, by a lack of memory perhaps.
        """
        pending = dict.fromkeys(tasks)
        for lost in range(LOST + 1):
            with one_thread_each():
                pool = self._pool = self._pool or ProcessPoolExecutor(
                    self._workers, get_context("spawn"), initializer=end_with_parent
                )
                try:
                    futures = {pool.submit(run, folder, task): task for task in pending}
                    for future in as_completed(futures):
                        future.result()
                        del pending[futures[future]]
                        yield futures[future]
                    return
                except BrokenProcessPool as error:
                    self._pool = None
                    if lost == LOST:
                        raise _lost(tasks) from error
                except BaseException:
                    self._pool = None
                    pool.shutdown(cancel_futures=True)
                    raise


def by_joblib(workers: int, folder: Path, tasks: Sequence[Task]) -> Iterator[Task]:
    """By joblib, whose backend may be another one than its processes (`joblib.parallel_config`)."""
    from joblib import Parallel, delayed

    with one_thread_each():
        work = Parallel(workers, return_as="generator_unordered")
        try:
            yield from work(delayed(_returned)(folder, task) for task in tasks)
        except BrokenProcessPool as error:
            raise _lost(tasks) from error


def by_submitit(workers: int, folder: Path, tasks: Sequence[Task], **options: Any) -> Iterator[Task]:
    """Run tasks as jobs of Slurm where there is one, else as processes of this machine; each job does several tasks.

    Args:
        workers: jobs at a time.
        folder: of the stages.
        tasks: of one stage.
        options: of submitit's executor; `cluster` is `slurm`, `local` or `debug`.
    """
    import submitit

    settings = {"timeout_min": 24 * 60, "slurm_array_parallelism": workers, **options}
    executor = submitit.AutoExecutor(folder / "jobs", cluster=settings.pop("cluster", None))
    if executor.cluster != "slurm":
        settings = {name: value for name, value in settings.items() if not name.startswith("slurm_")}
    executor.update_parameters(**settings)
    shares = [list(tasks[first::workers]) for first in range(min(workers, len(tasks)))]
    with one_thread_each():
        jobs = executor.map_array(partial(_several, folder), shares)
    try:
        for job in submitit.helpers.as_completed(jobs):
            if (error := job.exception()) is not None:
                reason = str(error).strip().splitlines()[-1]
                raise OSError(f"the job {job.job_id} failed, its log is {job.paths.stderr}: {reason}") from error
            yield from job.result()
    except BaseException:
        for job in jobs:
            job.cancel()
        raise


def by_ray(workers: int, folder: Path, tasks: Sequence[Task], **options: Any) -> Iterator[Task]:
    """Run tasks of Ray, here or on the cluster of `address`; a task whose worker is lost is tried again."""
    import ray

    if not ray.is_initialized():
        local = {"num_cpus": workers, "include_dashboard": False} if "address" not in options else {}
        with one_thread_each():
            ray.init(**{"log_to_driver": False, **local, **options})
    work = ray.remote(_returned).options(num_cpus=1, max_retries=LOST)
    pending = [work.remote(folder, task) for task in tasks]
    while pending:
        ended, pending = ray.wait(pending)
        try:
            yield from ray.get(ended)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise _lost(tasks) from error


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Have processes that are started compute on one thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _lost(tasks: Sequence[Task]) -> OSError:
    return OSError(
        f"processes were lost in the stage {tasks[0].stage}, for a lack of memory perhaps: run the same command again, "
        "with fewer workers or less memory; what is done is kept"
    )


def _returned(folder: Path, task: Task) -> Task:
    run(folder, task)
    return task


def _several(folder: Path, tasks: Sequence[Task]) -> Sequence[Task]:
    for task in tasks:
        run(folder, task)
    return tasks
