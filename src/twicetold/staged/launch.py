"""Launchers of tasks: in this process, or in processes of this machine.

A launcher takes the folder of the stages and tasks that do not depend on each other, does each by `tasks.run`, in any
order, and yields it when it has ended. Only the folder's path and the tasks travel; all else is in files, so each
machine must see the folder, the parts and the model at the same paths. To use another engine, give such a function.
"""

from twicetold.command_line import end_with_parent

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from twicetold.staged.stages import run
from twicetold.staged.tasks import Launch, Task

LOST = 3  # processes that may be lost before a stage is given up
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def launcher(workers: int) -> Launch:
    """Return a launcher for this process, or for as many processes as there are workers."""
    return here if workers == 1 else Processes(workers)


def here(folder: Path, tasks: Sequence[Task]) -> Iterator[Task]:
    """Run tasks one after another in this process."""
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
            pool = self._pool = self._pool or ProcessPoolExecutor(
                self._workers, get_context("spawn"), initializer=_begin
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
                    raise OSError(
                        f"processes were lost in the stage {tasks[0].stage}, for a lack of memory perhaps: run the "
                        "same command again, with fewer workers or less memory; what is done is kept"
                    ) from error
            except BaseException:
                self._pool = None
                pool.shutdown(cancel_futures=True)
                raise


def _begin() -> None:
    """Have this process end with its parent, and compute on one thread."""
    end_with_parent()
    os.environ.update(dict.fromkeys(THREADS, "1"))
