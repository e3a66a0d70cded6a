"""Blocks of a large computation on several threads; the result does not depend on their number."""

import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")


def in_threads(task: Callable[[int], Result], count: int) -> Iterator[Result]:
    """Compute `task(0)`, `task(1)`, … on several threads; results are in order.

    For NumPy and SciPy, whose loops release the interpreter's lock. There are as many threads as OMP_NUM_THREADS
    says, or as there are cores.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "")
    with ThreadPoolExecutor(int(asked) if asked.isdecimal() and int(asked) else _cores()) as pool:
        yield from pool.map(task, range(count))


def serial_products() -> Any:
    """A context in which NumPy multiplies each product on one thread, so that several can be made at a time."""
    return _libraries().limit(limits=1, user_api="blas")


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # it looks through all that is loaded, which takes some milliseconds


def in_parallel(task: Callable[[int], Result], count: int) -> Iterator[Result]:
    """Compute `task(0)`, `task(1)`, … on `torch.get_num_threads()` threads; results are in order.

    Each thread multiplies matrices serially, so results do not depend on the number of threads, and no thread waits
    for another when the machine is busy.
    """
    import torch  # takes a second, and mining does without

    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(task, range(count))
    finally:
        torch.set_num_threads(threads)  # later threads would inherit the setting of the workers


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
